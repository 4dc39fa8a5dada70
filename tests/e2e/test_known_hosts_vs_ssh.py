"""B063, B065: our verdicts against those of the real ssh with StrictHostKeyChecking=yes, over generated files."""

import concurrent.futures
import os
import random
import re
import subprocess
import unittest

from tests.lab import LabCase

_KINDS = ("ed25519", "ecdsa256", "rsa")
_GENERATED = 40
_SEED = 20260301


class KnownHostsVersusSshTest(LabCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.lab.server(host_key_kinds=_KINDS)
        cls.port = cls.server.port
        cls.right = {kind: cls.server.host_keys[kind].public_line for kind in _KINDS}
        cls.wrong = {kind: cls.lab.key(kind, name="other").public_line for kind in _KINDS}

    def hashed(self, name, key):
        path = os.path.join(self.lab.new_directory("h"), "file")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{name} {key}\n")
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", path], check=True, capture_output=True)
        with open(path, encoding="ascii") as file:
            return file.read().strip()

    def named_cases(self):
        """Title -> (host, lines): one subtlety each."""
        ed, rsa, ecdsa = self.right["ed25519"], self.right["rsa"], self.right["ecdsa256"]
        bad_ed, bad_rsa = self.wrong["ed25519"], self.wrong["rsa"]
        ip, port = "127.0.0.1", self.port
        here = f"[{ip}]:{port}"
        return {
            "empty": (ip, []),
            "exact": (ip, [f"{here} {ed}"]),
            "exact wrong": (ip, [f"{here} {bad_ed}"]),
            "only rsa": (ip, [f"{here} {rsa}"]),
            "only ecdsa": (ip, [f"{here} {ecdsa}"]),
            "plain name for another port": (ip, [f"{ip} {ed}"]),
            "plain wrong name for another port": (ip, [f"{ip} {bad_ed}"]),
            "plain right, port wrong": (ip, [f"{ip} {ed}", f"{here} {bad_ed}"]),
            "plain wrong, port right": (ip, [f"{ip} {bad_ed}", f"{here} {ed}"]),
            "port of another server": (ip, [f"[{ip}]:{port + 1} {ed}"]),
            "default port in brackets": (ip, [f"[{ip}]:22 {ed}"]),
            "wildcard all": (ip, [f"* {ed}"]),
            "wildcard wrong": (ip, [f"* {bad_ed}"]),
            "wildcard ip": (ip, [f"127.0.0.* {ed}"]),
            "wildcard bracketed": (ip, [f"[127.0.0.*]:{port} {ed}"]),
            "wildcard port": (ip, [f"[{ip}]:* {ed}"]),
            "question mark": (ip, [f"[127.0.0.?]:{port} {ed}"]),
            "question mark eats nothing": (ip, [f"[127.0.0.1?]:{port} {ed}"]),
            "negated itself": (ip, [f"*,!{here} {ed}"]),
            "negated plain": (ip, [f"*,!{ip} {ed}"]),
            "negated other": (ip, [f"*,!host-b {ed}"]),
            "negated only": (ip, [f"!host-b {ed}"]),
            "negated first": (ip, [f"!{here},* {ed}"]),
            "list": (ip, [f"host-a,{here},host-b {ed}"]),
            "list with empty part": (ip, [f"host-a,,{here} {ed}"]),
            "list with trailing comma": (ip, [f"{here}, {ed}"]),
            "hashed": (ip, [self.hashed(here, ed)]),
            "hashed wrong": (ip, [self.hashed(here, bad_ed)]),
            "hashed plain": (ip, [self.hashed(ip, ed)]),
            "hashed other": (ip, [self.hashed("host-b", ed)]),
            "hashed broken": (ip, ["|1|AAAA|BBBB " + ed]),
            "revoked": (ip, [f"{here} {ed}", f"@revoked {here} {ed}"]),
            "revoked for all": (ip, [f"@revoked * {ed}", f"{here} {ed}"]),
            "revoked for another": (ip, [f"@revoked host-b {ed}", f"{here} {ed}"]),
            "revoked other key": (ip, [f"@revoked {here} {bad_ed}", f"{here} {ed}"]),
            "revoked alone": (ip, [f"@revoked {here} {ed}"]),
            "revoked ed25519, stored rsa": (ip, [f"@revoked {here} {ed}", f"{here} {rsa}"]),
            "authority is no key": (ip, [f"@cert-authority {here} {ed}"]),
            "authority beside the key": (ip, [f"@cert-authority * {bad_ed}", f"{here} {ed}"]),
            "unknown marker": (ip, [f"@unheard {here} {ed}"]),
            "two keys of a type, right last": (ip, [f"{here} {bad_ed}", f"{here} {ed}"]),
            "two keys of a type, right first": (ip, [f"{here} {ed}", f"{here} {bad_ed}"]),
            "right rsa, wrong ed25519": (ip, [f"{here} {rsa}", f"{here} {bad_ed}"]),
            "right ed25519, wrong rsa": (ip, [f"{here} {ed}", f"{here} {bad_rsa}"]),
            "comment": (ip, [f"{here} {ed} alice@host-a"]),
            "carriage return": (ip, [f"{here} {ed}\r"]),
            "comment and carriage return": (ip, [f"{here} {ed} comment\r"]),
            "tabs": (ip, [f"{here}\t{ed}".replace(" ", "\t")]),
            "two blanks": (ip, [f"{here}  {ed}".replace(" A", "  A")]),
            "leading blanks": (ip, [f"  \t{here} {ed}"]),
            "commented out": (ip, [f"# {here} {ed}"]),
            "garbage before": (ip, ["garbage", "a b", "a b c", f"{here} {ed}"]),
            "key cut short": (ip, [f"{here} {ed[:-12]}"]),
            "type does not fit": (ip, [f"{here} {ed.replace('ssh-ed25519', 'ssh-rsa')}"]),
            "key without type": (ip, [f"{here} {ed.split()[1]}"]),
            "name in other case": ("localhost", [f"[LOCALHOST]:{port} {ed}"]),
            "host in other case": ("LocalHost", [f"[localhost]:{port} {ed}"]),
            "wildcard name": ("localhost", [f"[local*]:{port} {ed}"]),
            "wildcard name without port": ("localhost", [f"local* {ed}"]),
            "address for a name": ("localhost", [f"{here} {ed}"]),
            "name for an address": (ip, [f"[localhost]:{port} {ed}"]),
            "hashed name": ("localhost", [self.hashed(f"[localhost]:{port}", ed)]),
            "host is a pattern of itself": ("localhost", [f"*host,!*.host {ed}"]),
            "last line without an end": (ip, [f"{here} {rsa}", f"{here} {ed}"]),
        }

    def generated_cases(self):
        """Files of several random lines; the seed makes a failure repeatable."""
        chance = random.Random(_SEED)
        ip, port = "127.0.0.1", self.port
        here = f"[{ip}]:{port}"
        names = (here, here, ip, f"[{ip}]:{port + 1}", "*", f"[127.*]:{port}", "host-b", f"!{here},*", f"host-b,{here}")
        for number in range(_GENERATED):
            lines = []
            for _ in range(chance.randint(1, 4)):
                kind = chance.choice(_KINDS)
                key = chance.choice((self.right, self.right, self.wrong))[kind]
                name = chance.choice(names)
                if chance.random() < 0.15 and not set(name) & set("*!,"):
                    line = self.hashed(name, key)
                else:
                    line = f"{chance.choice(('', '', '', '', '@revoked ', '@cert-authority '))}{name} {key}"
                lines.append(line)
            yield f"generated {number}", (ip, lines)

    def ssh_verdict(self, host, path):
        done = subprocess.run(
            [
                "ssh", "-F", "none", "-p", str(self.port), "-l", self.server.user, "-i", self.lab.key().path,
                "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
                "-o", "StrictHostKeyChecking=yes", "-o", "UpdateHostKeys=no", "-o", "GlobalKnownHostsFile=/dev/null",
                "-o", f"UserKnownHostsFile={path}", "-o", "KexAlgorithms=curve25519-sha256",
                "-o", "AddressFamily=inet", host, "true",
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if done.returncode == 0:
            return "ok"
        for verdict, pattern in (
            ("revoked", "REVOKED HOST KEY"),
            ("changed", "IDENTIFICATION HAS CHANGED"),
            # ssh has one wording for "no key" and "no key of this type".
            ("unknown", "host key is known for"),
        ):
            if re.search(pattern, done.stderr):
                return verdict
        raise AssertionError(f"ssh said neither: {done.stderr}")

    def sshx_verdict(self, host, path):
        document = self.sshx.json(
            "run", "--address", f"{self.server.user}@{host}:{self.port}", "--identity", self.lab.key().path,
            "--known-hosts", path, "--audit", "off", "--", "true",
        )  # fmt: skip
        if document["success"]:
            return "ok"
        self.assertEqual(document["error_kind"], "host_key", document["error"])
        return {"other_type": "unknown"}.get(document["error"]["code"], document["error"]["code"])

    def compare(self, case):
        title, (host, lines) = case
        path = os.path.join(self.lab.new_directory("c"), "known_hosts")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + ("" if title.endswith("without an end") else "\n"))
        return title, lines, self.ssh_verdict(host, path), self.sshx_verdict(host, path)

    def test_verdicts_are_those_of_ssh(self):
        cases = [*self.named_cases().items(), *self.generated_cases()]
        self.assertGreaterEqual(len(cases), 60)
        with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
            outcomes = list(pool.map(self.compare, cases))
        for title, lines, theirs, ours in outcomes:
            with self.subTest(title):
                self.assertEqual(ours, theirs, "\n".join(lines))
        # The comparison is only worth something if every verdict occurs.
        self.assertEqual({theirs for _, _, theirs, _ in outcomes}, {"ok", "revoked", "changed", "unknown"})


if __name__ == "__main__":
    unittest.main()
