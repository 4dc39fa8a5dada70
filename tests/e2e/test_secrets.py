"""`sshx secret`: kept by a real gnome-keyring on a private D-Bus, or in the vault, and seen by nobody else."""

import os
import signal
import subprocess
import threading
import unittest

from tests.lab import LabCase, TargetCase, Terminal
from tests.lab.keyring import Bus, Keyring

_SECRET = b"hunter2-EXAMPLE \xc3\xa9"


class SecretCase(LabCase):
    def setUp(self):
        super().setUp()
        self.sshx.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        self.sshx.environment.pop("XDG_RUNTIME_DIR", None)

    def set(self, key, secret=_SECRET, **keywords):
        return self.sshx.json("secret", "set", key, stdin=secret + b"\n", **keywords)

    def get(self, key):
        return self.sshx.ok("secret", "get", key).out

    def keys(self):
        return self.sshx.json("secret", "list", code=0, version="sshx.secrets.v1")["keys"]

    def assert_refused(self, document, kind, code):
        self.assert_fields(document, schema_version="sshx.error.v1", error_kind=kind, error__code=code)
        self.assertTrue(document["error"]["hint"])

    def assert_nowhere(self, secret=_SECRET):
        """That none of the files of the scratch directory has the secret, and none of the documents so far."""
        for folder, _, names in os.walk(self.sshx.directory):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        self.assertNotIn(secret, file.read(), path)


class Kept:
    """What holds wherever secrets are kept."""

    backend = ""

    def test_a_secret_is_kept_replaced_and_deleted(self):
        self.assertEqual(self.keys(), [])
        document = self.set("web-1/ssh", code=0, version="sshx.secrets.v1")
        self.assert_fields(document, operation="secret.set", success=True, backend=self.backend, count=1, keys=["web-1/ssh"])
        self.assertEqual(self.get("web-1/ssh"), _SECRET)
        self.set("web-1/ssh", b"another", code=0)
        self.set("db", b"of the database", code=0)
        self.assertEqual((self.get("web-1/ssh"), self.get("db")), (b"another", b"of the database"))
        self.assertEqual(self.keys(), ["db", "web-1/ssh"])
        self.assertEqual(self.sshx.ok("secret", "list").out, b"db\nweb-1/ssh\n")
        self.sshx.json("secret", "check", "db", code=0, version="sshx.secrets.v1")
        self.sshx.json("secret", "delete", "db", code=0, version="sshx.secrets.v1")
        for operation in ("check", "delete"):
            self.assert_refused(self.sshx.json("secret", operation, "db", code=255), "secret", "not_found")
        self.assertEqual(self.keys(), ["web-1/ssh"])

    def test_the_spelling_with_dashes(self):
        self.sshx.ok("--password-set=a", stdin=_SECRET)
        self.sshx.ok("--password-check", "a")
        self.assertEqual(self.sshx.ok("--password-get", "a").out, _SECRET)
        self.sshx.ok("--password-delete=a")

    def test_nothing_but_the_pipe_has_it(self):
        self.set("a", code=0)
        self.sshx.ok("secret", "list")
        self.assert_nowhere()
        for done in self.sshx.history:
            self.assertNotIn(_SECRET, done.out + done.err)


class ServiceCase(SecretCase):
    def setUp(self):
        super().setUp()
        self.bus = Bus(self.lab.new_directory("b"))
        self.addCleanup(self.bus.stop)
        self.sshx.environment["DBUS_SESSION_BUS_ADDRESS"] = self.bus.address

    def keyring(self, **options):
        keyring = Keyring(self.bus, **options)
        self.addCleanup(keyring.stop)
        return keyring


class ServiceTest(Kept, ServiceCase):
    backend = "secret_service"

    def setUp(self):
        super().setUp()
        self.keyring()


class ServiceTroubleTest(ServiceCase):
    """Each way in which a secret service can be missing has its own code, and nothing else stands in for it."""

    def every(self):
        yield self.set("a")
        for operation in ("check", "delete"):
            yield self.sshx.json("secret", operation, "a")
        yield self.sshx.json("secret", "list")

    # B162
    def test_without_a_bus(self):
        del self.sshx.environment["DBUS_SESSION_BUS_ADDRESS"]
        for document in self.every():
            self.assert_refused(document, "secret", "no_bus")
            self.assert_mentions(document["error"]["hint"], "SSHX_SECRET_BACKEND to vault")
        self.assertFalse(os.path.exists(os.path.join(self.sshx.state, "vault.json")))

    # B162
    def test_without_a_provider(self):
        for document in self.every():
            self.assert_refused(document, "secret", "no_provider")

    # B162
    def test_a_locked_keyring(self):
        keyring = self.keyring()
        self.set("a", code=0)
        keyring.stop()
        self.keyring(unlocked=False)
        for document in (self.set("a"), self.set("b"), *(self.sshx.json("secret", word, "a") for word in ("check", "delete"))):
            self.assert_refused(document, "secret", "locked")

    # B162
    def test_a_provider_that_hangs(self):
        os.kill(self.keyring().process.pid, signal.SIGSTOP)
        for document in self.every():
            self.assert_refused(document, "secret", "not_responding")

    def test_a_bus_that_is_gone(self):
        self.bus.stop()
        self.assert_refused(self.sshx.json("secret", "list", code=255), "secret", "failed")

    def test_without_the_library(self):
        self.keyring()
        hidden = [word for path in _library_paths() for word in ("-P", path)]
        prefix = ("strace", "-f", "-qq", "-o", "/dev/null", *hidden, "-e", "inject=openat:error=ENOENT")
        environment = {"ASAN_OPTIONS": self.sshx.environment["ASAN_OPTIONS"] + ":detect_leaks=0"}
        document = self.sshx.json("secret", "list", code=255, prefix=prefix, environment=environment)
        self.assert_refused(document, "secret", "unavailable")


def _library_paths():
    """Where the loader finds libsecret: by its cache, and beneath /usr, where it looks next."""
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = [line.split("=> ")[1].strip() for line in listing.splitlines() if line.strip().startswith("libsecret-1.so.0 ")]
    return [*found, *(f"/usr{path}" for path in found)]


class VaultCase(SecretCase):
    def setUp(self):
        super().setUp()
        self.passphrase_path = os.path.join(self.lab.new_directory("p"), "passphrase")
        self.vault_path = os.path.join(self.sshx.state, "vault.json")
        self.write_passphrase("of the vault\nnot this line\n")
        self.sshx.environment |= {"SSHX_SECRET_BACKEND": "vault", "SSHX_VAULT_PASSPHRASE_FILE": self.passphrase_path}

    def write_passphrase(self, text, mode=0o600):
        with open(self.passphrase_path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.passphrase_path, mode)


class VaultTest(Kept, VaultCase):
    backend = "vault"

    def test_it_is_the_owners_alone(self):
        self.set("a", code=0)
        self.assertEqual(os.stat(self.vault_path).st_mode & 0o777, 0o600)

    def test_another_passphrase(self):
        self.set("a", code=0)
        self.write_passphrase("another\n")
        for document in (self.set("a", b"x"), self.sshx.json("secret", "list")):
            self.assert_refused(document, "secret", "vault_passphrase")
        self.write_passphrase("of the vault\r\n")
        self.assertEqual(self.get("a"), _SECRET)

    def test_a_vault_that_was_changed(self):
        self.set("a", code=0)
        with open(self.vault_path, encoding="ascii") as file:
            text = file.read()
        for changed, code in (
            (text.replace('"data":"', '"data":"AAAA'), "vault_passphrase"), (text.replace('"log_n":17', '"log_n":40'), "vault_format"),
            (text.replace('"nonce":"', '"nonce":"!'), "vault_format"), (text[: len(text) // 2], "vault_format"), ("", "vault_format"),
            ("[]", "vault_format"), (text.replace("sshx.vault.v1", "sshx.vault.v2"), "vault_format"),
        ):  # fmt: skip
            with self.subTest(changed[:80]):
                with open(self.vault_path, "w", encoding="ascii") as file:
                    file.write(changed)
                self.assert_refused(self.set("b"), "secret", code)
                with open(self.vault_path, encoding="ascii") as file:
                    self.assertEqual(file.read(), changed, "what is not understood is left alone")

    def test_nobody_to_ask(self):
        del self.sshx.environment["SSHX_VAULT_PASSPHRASE_FILE"]
        document = self.set("a", code=255)
        self.assert_refused(document, "secret", "no_passphrase")
        self.assert_mentions(document["error"]["hint"], "SSHX_VAULT_PASSPHRASE_FILE")

    def test_an_empty_passphrase(self):
        self.write_passphrase("\nsecond line\n")
        self.assert_refused(self.set("a", code=255), "secret", "no_passphrase")

    def test_files_that_others_may_read(self):
        self.write_passphrase("of the vault\n", mode=0o640)
        self.assert_refused(self.set("a", code=255), "config", "unsafe_permissions")

    def test_parallel_changes_lose_none(self):
        threads = [threading.Thread(target=self.set, args=(f"k{number}",), kwargs={"code": 0}) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.keys(), [f"k{number}" for number in range(6)])

    def test_a_kill_leaves_the_old_one(self):
        self.set("a", code=0)
        for call in ("renameat", "rename", "fsync"):
            prefix = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL")
            environment = {"ASAN_OPTIONS": self.sshx.environment["ASAN_OPTIONS"] + ":detect_leaks=0"}
            running = self.sshx.start("secret", "set", "b", stdin="pipe", prefix=prefix, environment=environment)
            running.write(b"new\n")
            running.close_stdin()
            running.wait()
            self.assertEqual(self.get("a"), _SECRET)


class TerminalTest(VaultCase):
    def terminal(self, *words):
        terminal = Terminal(self.sshx, *words)
        self.addCleanup(terminal.close)
        return terminal

    def test_what_is_typed_is_not_shown(self):
        del self.sshx.environment["SSHX_VAULT_PASSPHRASE_FILE"]
        terminal = self.terminal("secret", "set", "a")
        for question, answer in (
            (b"Secret for a: ", b"hunter2\n"), (b"Secret for a, again: ", b"hunter2\n"),
            (b"Passphrase for the new vault ", b"of the vault\n"), (b"vault.json, again: ", b"of the vault\n"),
        ):  # fmt: skip
            terminal.wait_for(question)
            terminal.type(answer)
        done = terminal.wait()
        self.assertEqual(done.code, 0, done)
        self.assertNotIn(b"hunter2", done.out)
        self.assertNotIn(b"of the vault", done.out)
        self.sshx.environment["SSHX_VAULT_PASSPHRASE_FILE"] = self.passphrase_path
        self.assertEqual(self.get("a"), b"hunter2")

    def test_two_lines_that_differ(self):
        terminal = self.terminal("secret", "set", "a")
        terminal.wait_for(b"Secret for a: ")
        terminal.type(b"one\n")
        terminal.wait_for(b"again: ")
        terminal.type(b"two\n")
        done = terminal.wait()
        self.assertEqual(done.code, 255)
        self.assertIn(b"the two lines differ", done.err)
        self.assertEqual(self.keys(), [])

    def test_an_end_of_file_declines(self):
        terminal = self.terminal("secret", "set", "a")
        terminal.wait_for(b"Secret for a: ")
        terminal.type(b"\x04")
        done = terminal.wait()
        self.assertEqual(done.code, 255)
        self.assertIn(b"nothing was typed", done.err)

    # `wait` fails where the terminal is left in another mode.
    def test_ctrl_c_and_kills_leave_the_terminal_as_it_was(self):
        terminal = self.terminal("secret", "set", "a")
        terminal.wait_for(b"Secret for a: ")
        terminal.type(b"hunt\x03")
        self.assertEqual(terminal.wait().code, -signal.SIGINT)
        terminal = self.terminal("secret", "set", "a")
        terminal.wait_for(b"Secret for a: ")
        os.kill(terminal.process.pid, signal.SIGTERM)
        self.assertEqual(terminal.wait().code, -signal.SIGTERM)

    def test_a_terminal_gets_no_secret(self):
        self.set("a", code=0)
        done = self.terminal("secret", "get", "a").wait()
        self.assertEqual(done.code, 255)
        self.assertNotIn(b"hunter2", done.out + done.err)


class RefusalTest(VaultCase):
    def test_a_secret_is_never_an_argument(self):
        for words in (("secret", "set", "a:hunter2"), ("--password-set=a:hunter2",), ("secret", "set", "a", "hunter2"), ("--password-set", "a", "hunter2")):
            with self.subTest(words):
                done = self.sshx.expect(255, *words, "--json", stdin=b"x\n")
                document = self.sshx.document(done, "sshx.error.v1")
                self.assert_fields(document, error__kind="config", error__code="usage")
                self.assert_mentions(document["error"]["message"], "never an argument")
                self.assertNotIn(b"hunter2", done.out + done.err)
        self.assertFalse(os.path.exists(self.vault_path))

    def test_what_is_no_secret(self):
        for text in (b"", b"\n", b"two\nlines\n", b"a\0b\n"):
            with self.subTest(text):
                document = self.sshx.json("secret", "set", "a", stdin=text, code=255)
                self.assert_refused(document, "config", "secret_text")

    def test_a_file_gets_no_secret(self):
        self.set("a", code=0)
        path = os.path.join(self.lab.new_directory("f"), "out")
        with open(path, "wb") as file:
            done = subprocess.run([self.sshx.binary, "secret", "get", "a"], stdout=file, stderr=subprocess.PIPE, env=self.sshx.environment, check=False)
        self.assertEqual(done.returncode, 255)
        self.assertIn(b"into a pipe only", done.stderr)
        self.assertEqual(os.path.getsize(path), 0)

    def test_an_unknown_backend(self):
        self.sshx.environment["SSHX_SECRET_BACKEND"] = "plain-file"
        self.assert_refused(self.set("a", code=255), "config", "secret_backend")

    def test_agents_have_no_such_tool(self):
        for tool in self.sshx.json("schema", "list", code=0)["schemas"]:
            if tool["kind"] == "tool":
                self.assertNotIn("secret", tool["name"])


class KeyOnlyTest(TargetCase):
    # B162: who logs in with a key never touches D-Bus.
    def test_a_run_with_a_key_loads_and_asks_nothing(self):
        log = os.path.join(self.lab.new_directory("t"), "strace")
        self.sshx.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/tmp/sshx-no-such-bus"
        done = self.sshx.run(
            "run", "--target", "target", "--", "true", prefix=("strace", "-f", "-qq", "-o", log, "-e", "trace=openat,connect,execve"),
            environment={"ASAN_OPTIONS": self.sshx.environment["ASAN_OPTIONS"] + ":detect_leaks=0"},
        )  # fmt: skip
        self.assertEqual(done.code, 0, done)
        with open(log, encoding="utf-8", errors="replace") as file:
            calls = file.read()
        self.assertIn(f"htons({self.server.port})", calls)
        for word in ("libsecret", "sshx-no-such-bus", "dbus", "vault.json"):
            self.assertNotIn(word, calls)


if __name__ == "__main__":
    unittest.main()
