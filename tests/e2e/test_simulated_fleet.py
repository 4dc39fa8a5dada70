"""Thousands of hosts that are slow, dead, silent, resetting or flooding: each is accounted for, and costs little."""

import json
import os
import time
import unittest

from tests.lab import LabCase, eventually, measure
from tests.lab.simulated_hosts import BEHAVIOURS, SimulatedHosts

_TICKS = os.sysconf("SC_CLK_TCK")
_KINDS = (*BEHAVIOURS, "dead")
# What sshx may say of each; on a busy machine a reset may come after the time for it.
_CODES = {
    "silent": {"timeout"},
    "slow": {"timeout", "not_ssh"},
    "resetting": {"banner_closed", "timeout"},
    "flooding": {"timeout", "not_ssh"},
    "dead": {"refused"},
}


class SimulatedCase(LabCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hosts = SimulatedHosts()
        cls.lab.adopt(cls.hosts.stop)

    def add_fleet(self, count, kinds=_KINDS):
        """Names of many numbers (B112), each an address of its own."""
        key = self.lab.key().path
        hosts = {}
        for number in range(count):
            kind = kinds[number % len(kinds)]
            hosts[f"{kind}-{number}-b-{number % 7}-c"] = {
                "address": f"127.1.{number // 250}.{number % 250 + 1}", "port": self.hosts.ports[kind],
                "user": "nobody", "identity": key,
            }  # fmt: skip
        with open(self.sshx.hosts_path, "w", encoding="utf-8") as file:
            json.dump({"schema_version": "sshx.hosts_file.v1", "hosts": hosts}, file)
        os.chmod(self.sshx.hosts_path, 0o600)
        return hosts

    def run_fleet(self, form, prefix=()):
        words = ("run", "--all-hosts", "--concurrency", "512", "--connect-timeout", "2s", form, "--", "true")
        return self.sshx.run(*words, prefix=prefix, timeout=300)


class AccountTest(SimulatedCase):
    # B112: every target has exactly one terminal event, which parse_stream's laws say.
    def test_each_of_two_thousand_has_one_end(self):
        hosts = self.add_fleet(2000)
        events = self.sshx.events(self.run_fleet("--jsonl"))
        results = [event["result"] for event in events if event["event"] == "target_finished"]
        self.assertEqual(sorted(result["target"]["alias"] for result in results), sorted(hosts))
        self.assert_fields(events[-1], counts__selected=2000, counts__started=2000, counts__failed=2000, exit_code=1)
        for result in results:
            self.assert_fields(result, error_kind="connect", executed=False)
            kind = result["target"]["alias"].split("-")[0]
            self.assertIn(result["error"]["code"], _CODES[kind], result["error"])


class CostTest(SimulatedCase):
    def peak_kib(self, count):
        # Without those that are tried again, which takes long and no memory.
        self.add_fleet(count, [kind for kind in _KINDS if kind != "resetting"])
        peak = measure.PeakMemory(self.lab.new_directory("p"))
        self.assertEqual(self.run_fleet("--jsonl", prefix=peak.prefix).code, 1)
        return peak.kib()

    def test_memory_is_small_and_grows_with_the_targets_alone(self):
        small, large = self.peak_kib(1200), self.peak_kib(2400)
        if measure.is_instrumented():
            return
        self.assertLess((large - small) / 1200, 32, (small, large))
        self.assertLess(large, 128 << 10)

    # CPU time, not wall time: a loop that spins takes all it can get.
    def test_waiting_costs_nothing(self):
        self.add_fleet(200, ("silent", "slow"))
        words = ("run", "--all-hosts", "--concurrency", "512", "--connect-timeout", "60s", "--jsonl", "--", "true")
        running = self.sshx.start(*words)
        eventually(lambda: running.so_far().count(b'"target_started"') == 200, "all are being waited for")
        time.sleep(3)
        before = self.cpu_seconds(running.pid)
        time.sleep(3)
        self.assertLess(self.cpu_seconds(running.pid) - before, 1)
        running.kill9()

    @staticmethod
    def cpu_seconds(pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    unittest.main()
