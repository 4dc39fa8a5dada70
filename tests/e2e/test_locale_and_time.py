"""Odd locales, time zones and clocks change nothing that is said or kept (B175)."""

import datetime
import os
import subprocess
import unittest

from tests.lab import TargetCase, evidence
from tests.lab.worlds import world

_LOCALES = ("tr_TR.UTF-8", "de_DE.UTF-8")
# A clock that goes back an hour each time it is asked.
_BACKWARD_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  static int calls;
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec -= 3600L * __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  return result;
}
"""


def _time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class LocaleTest(TargetCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.locales = cls.lab.new_directory("l")
        for name in _LOCALES:
            subprocess.run(
                ["localedef", "-i", name.split(".", maxsplit=1)[0], "-f", "UTF-8", os.path.join(cls.locales, name)],
                check=True, capture_output=True,
            )  # fmt: skip

    def environments(self):
        """The usual one first."""
        yield {}
        for name in _LOCALES:
            yield {"LOCPATH": self.locales, "LC_ALL": name, "LANG": name, "LANGUAGE": name.split("_", maxsplit=1)[0]}
        yield {"LC_ALL": "nonexistent", "LANG": "C"}
        yield {"LC_ALL": "C", "LANG": None}

    def test_the_locales_are_really_there(self):
        # What another program makes of them: a comma, and a small i without its dot.
        program = 'import locale; locale.setlocale(locale.LC_ALL, ""); print(locale.localeconv()["decimal_point"])'
        for name in _LOCALES:
            environment = {"PATH": "/usr/bin:/bin", "LOCPATH": self.locales, "LC_ALL": name}
            done = subprocess.run(["python3", "-c", program], env=environment, check=True, capture_output=True)
            self.assertEqual(done.stdout, b",\n", name)

    def test_the_same_plan_and_the_same_numbers(self):
        words = ("run", "--target", "target", "--timeout", "1.5s", "--connect-timeout", "2.25s", "--dry-run")
        plans = []
        for environment in self.environments():
            document = self.sshx.json(*words, "--", "true", code=0, environment=environment)
            self.assert_fields(document["plan"]["limits"], connect_timeout_ms=2250, timeout_ms=1500)
            plans.append(document["plan"])
            text = self.sshx.ok(*words, "--", "true", environment=environment).text
            self.assert_mentions(text, "connect 2.25s, command 1.5s")
        for plan in plans[1:]:
            self.assertEqual(plan, plans[0])

    def test_names_are_compared_by_ascii_rules(self):
        # In Turkish, the small letter of I is not i.
        line = self.server.known_hosts_line().replace(self.server.known_hosts_name, "TITIK.EXAMPLE")
        self.sshx.trust(line)
        for environment in self.environments():
            with self.subTest(environment):
                document = self.sshx.json(
                    "run", "--address", "me@Titik.Example", "--dry-run", "--", "true", code=0, environment=environment
                )
                (target,) = document["plan"]["targets"]
                self.assertEqual(len(target["host_key"]["trusted"]), 1, target)

    def test_a_run_and_its_evidence(self):
        for environment in self.environments():
            with self.subTest(environment):
                document = self.run_json("printf 'İıIi %s' 1,5; exit 2", code=2, environment=environment)
                self.assert_fields(document, stdout="İıIi 1,5", stdout_encoding="utf-8", audit_status="written")
                table = self.sshx.ok("audit", "query", "--limit", "1", environment=environment).text
                self.assert_mentions(table, "İıIi", document["execution_id"])

    def test_messages_are_the_same(self):
        texts = set()
        for environment in self.environments():
            done = self.sshx.expect(255, "host", "show", "TARGIT", environment=environment)
            texts.add(done.error_text)
            done = self.sshx.expect(255, "run", "--address", "127.0.0.1:1", "--known-hosts", "/dev/full", "--audit", "off",
                                    "--", "true", environment=environment)  # fmt: skip
            texts.add(done.error_text)
        self.assertEqual(len(texts), 2, texts)


class TimeZoneTest(TargetCase):
    def test_times_are_utc(self):
        for zone in ("Pacific/Apia", "America/New_York", "XYZ-25:30", ":/nonexistent", "", "\N{SNOWMAN}", "A" * 4000):
            with self.subTest(zone[:20]):
                before = datetime.datetime.now(datetime.timezone.utc)
                document = self.run_json("true", code=0, environment={"TZ": zone})
                after = datetime.datetime.now(datetime.timezone.utc)
                self.assertTrue(document["started_at"].endswith("Z"), document["started_at"])
                slack = datetime.timedelta(milliseconds=1)  # documents have whole milliseconds
                self.assertLessEqual(before - slack, _time(document["started_at"]))
                self.assertLessEqual(_time(document["started_at"]), after)

    def test_a_query_for_times_does_not_depend_on_the_zone(self):
        started = self.run_json("true", code=0)["started_at"]
        for zone in ("Pacific/Apia", "America/New_York", "UTC"):
            with self.subTest(zone):
                for option, count in (("--since", 1), ("--until", 0)):
                    document = self.sshx.json("audit", "query", option, started, code=0, environment={"TZ": zone})
                    self.assertEqual(document["count"], count, option)
                document = self.sshx.json("audit", "query", "--since", started[:10], code=0, environment={"TZ": zone})
                self.assertEqual(document["count"], 1)


class ClockTest(TargetCase):
    def test_durations_come_from_a_clock_that_does_not_jump(self):
        library = self.compiled(_BACKWARD_CLOCK)
        options = self.sshx.environment["ASAN_OPTIONS"] + ":verify_asan_link_order=0"
        document = self.run_json("echo ok", code=0, environment={"LD_PRELOAD": library, "ASAN_OPTIONS": options})
        self.assertEqual(document["stdout"], "ok\n")
        for duration in (document["duration_ms"], *document["timings"].values()):
            self.assertGreaterEqual(duration, 0)
            self.assertLess(duration, 3_000_000, "the jumps of an hour are not in it")
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 2)
        started, finished = evidence.records(self.sshx.audit_path)
        self.assertGreater(started["recorded_at"], finished["recorded_at"], "the clock went backward")
        (event,) = self.sshx.json("audit", "query", code=0)["events"]
        self.assert_fields(event, outcome="succeeded", duration_ms=document["duration_ms"])

    def test_a_machine_that_has_been_up_for_very_long(self):
        # 30 years: whole nanoseconds since the start no longer fit where a double would hold them.
        prefix = world()[:1] + ("--map-root-user", "--time", "--monotonic", str(30 * 365 * 86400), "--")
        document = self.run_json("exit 3", options=("--timeout", "30s"), code=3, prefix=prefix)
        self.assertLess(document["duration_ms"], 60_000_000)

    def compiled(self, source):
        path = os.path.join(self.lab.new_directory("c"), "clock")
        with open(path + ".c", "w", encoding="ascii") as file:
            file.write(source)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", path + ".so", path + ".c", "-ldl"], check=True)
        return path + ".so"


if __name__ == "__main__":
    unittest.main()
