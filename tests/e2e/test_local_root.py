"""`--local-root`: which local files a request may have sent, however their names are written and whatever they link to."""

import json
import os
import shutil
import sys
import threading
import unittest

from tests.lab import TargetCase

OUTSIDE = "outside_local_root"
PROTECTED = "protected_file"
# Runs a program as on a kernel without openat2(2), call 437 on every architecture: a seccomp filter answers ENOSYS.
_OLD_KERNEL = """
import ctypes, os, struct, sys
def step(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)
load, equal, answer = 0x20, 0x15, 0x06
steps = step(load, 0) + step(equal, 437, 0, 1) + step(answer, 0x50000 | 38) + step(answer, 0x7FFF0000)
program = ctypes.create_string_buffer(steps)
length_and_program = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
no_new_privileges, seccomp, with_filter = 38, 22, 2
assert libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0
assert libc.prctl(seccomp, with_filter, length_and_program) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
"""


class LocalRootCase(TargetCase):
    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.sshx.directory, "work")
        os.makedirs(os.path.join(self.root, "sub"))
        self.write("work/hello.sh", "echo hello\n")
        self.write("work/sub/inner.sh", "echo inner\n")
        self.write("outside.sh", "echo outside\n")

    def path(self, name):
        return os.path.join(self.sshx.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def ask(self, script, *options, root=None, **request):
        """The answer to an agent's request for that script_file."""
        body = {"targets": ["target"], "script_file": script, **request}
        fence = ("--local-root", root or self.root)
        return self.sshx.json(
            "run", "--surface", "mcp", *fence, *options, "--request", "-", stdin=json.dumps(body).encode("utf-8"))  # fmt: skip

    def assert_runs(self, script, output, **keywords):
        self.assert_fields(self.ask(script, **keywords), success=True, stdout=output)

    def assert_blocked(self, document, code):
        self.assert_fields(document, success=False, error__kind="blocked", error__code=code)
        self.assertNotIn("PRIVATE KEY-----", json.dumps(document))


class NameTest(LocalRootCase):
    def test_files_beneath_it(self):
        self.assert_runs("hello.sh", "hello\n")
        self.assert_runs("./sub/../hello.sh", "hello\n")
        self.assert_runs("sub/inner.sh", "inner\n")
        self.assert_runs(os.path.join(self.root, "sub", "inner.sh"), "inner\n")
        self.assert_runs("hello.sh", "hello\n", root=self.root + "/")
        self.assert_runs("hello.sh", "hello\n", root="work")
        os.symlink("sub/inner.sh", os.path.join(self.root, "link.sh"))
        self.assert_runs("link.sh", "inner\n")

    def test_a_root_behind_a_link(self):
        os.symlink(self.root, self.path("door"))
        self.assert_runs(os.path.join(self.path("door"), "hello.sh"), "hello\n", root=self.path("door"))
        self.assert_runs(os.path.join(self.root, "hello.sh"), "hello\n", root=self.path("door"))

    def test_nothing_leads_out(self):
        os.symlink("../outside.sh", os.path.join(self.root, "up.sh"))
        os.symlink(self.path("outside.sh"), os.path.join(self.root, "absolute.sh"))
        os.symlink("..", os.path.join(self.root, "folder"))
        os.symlink("/proc/self/cwd", os.path.join(self.root, "magic"))
        shutil.copytree(self.root, self.path("work-too"), symlinks=True)
        for name in (
            "../outside.sh", "sub/../../outside.sh", "/etc/passwd", self.path("outside.sh"),
            os.path.join(self.root, "..", "outside.sh"), self.path("work-too/hello.sh"), "up.sh", "absolute.sh",
            "folder/outside.sh", "magic/outside.sh", "~/outside.sh", "../missing", self.path("missing"),
        ):  # fmt: skip
            with self.subTest(name):
                self.assert_blocked(self.ask(name), OUTSIDE)

    def test_a_preview_reads_no_more(self):
        document = self.ask("../outside.sh", dry_run=True)
        self.assert_fields(document, valid=False, error_kind="blocked", error__code=OUTSIDE)
        self.assert_fields(self.ask("hello.sh", dry_run=True), valid=True)

    def test_what_is_no_file_does_not_block(self):
        os.mkfifo(os.path.join(self.root, "fifo"))
        for name in ("fifo", "sub", "."):
            with self.subTest(name):
                self.assert_fields(self.ask(name), error__kind="local_io", error__code="not_a_file")
        self.assert_fields(self.ask("dev/zero", root="/"), error__code="not_a_file")
        self.assert_fields(self.ask("missing"), error__kind="local_io", error__code="not_found")

    def test_a_payload_has_its_limit_there_too(self):
        self.write("work/large.sh", "#" * 5_000_000)
        self.assert_fields(self.ask("large.sh"), error__kind="config", error__code="payload_too_large")

    def test_an_agent_without_a_root_names_no_file(self):
        body = json.dumps({"targets": ["target"], "script_file": os.path.join(self.root, "hello.sh")}).encode("utf-8")
        document = self.sshx.json("run", "--surface", "mcp", "--request", "-", stdin=body, code=255)
        self.assert_blocked(document, "no_local_root")

    def test_a_person_is_held_to_a_root_that_is_given(self):
        words = ("run", "--target", "target")
        free = self.sshx.json(*words, "--script-file", self.path("outside.sh"), code=0)
        self.assertEqual(free["stdout"], "outside\n")
        for flag in ("--script-file", "--stdin-file"):
            command = () if flag == "--script-file" else ("--", "cat")
            document = self.sshx.json(
                *words, "--local-root", self.root, flag, self.path("outside.sh"), *command, code=255)  # fmt: skip
            self.assert_blocked(document, OUTSIDE)
        document = self.sshx.json(*words, "--local-root", self.root, "--stdin-file", "hello.sh", "--", "cat", code=0)
        self.assertEqual(document["stdout"], "echo hello\n")

    def test_a_kernel_that_cannot_keep_to_it(self):
        options = ("--local-root", self.root, "--script-file", "hello.sh")
        old_kernel = (sys.executable, "-c", _OLD_KERNEL)
        document = self.sshx.json("run", "--target", "target", *options, code=255, prefix=old_kernel)
        self.assert_fields(document, error__kind="unsupported", error__code="openat2")
        free = self.sshx.json("run", "--target", "target", "--", "echo hi", code=0, prefix=old_kernel)
        self.assertEqual(free["stdout"], "hi\n")

    def test_a_root_that_is_not_there(self):
        self.assert_fields(self.ask("hello.sh", root=self.path("nowhere")), error__kind="local_io", error__code="not_found")


class ProtectedTest(LocalRootCase):
    """A root that is too wide still gives away no key and nothing of what is trusted."""

    def test_trust_and_own_files(self):
        self.sshx.json("run", "--target", "target", "--", "true", code=0)
        config = os.path.join(self.sshx.home, ".ssh", "config")
        self.write(config, "Host *\n")
        for name in (config, self.sshx.known_hosts_path, self.sshx.hosts_path, self.sshx.audit_path):
            with self.subTest(name):
                self.assert_blocked(self.ask(name, root=self.sshx.directory), PROTECTED)
        self.assert_blocked(self.ask("/etc/ssh/sshd_config", root="/etc"), PROTECTED)

    def test_the_folders_of_the_environment(self):
        for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            with self.subTest(variable):
                folder = os.path.join(self.sshx.environment[variable], "sshx")
                os.makedirs(folder)
                self.write(os.path.join(folder, "file"), "echo\n")
                self.assert_blocked(self.ask(os.path.join(folder, "file"), root=self.sshx.directory), PROTECTED)

    def test_links_to_them(self):
        os.symlink("../home/.ssh/known_hosts", self.path("work/notes"))
        self.assert_blocked(self.ask("work/notes", root=self.sshx.directory), PROTECTED)
        os.rename(os.path.join(self.sshx.home, ".ssh"), self.path("work/real"))
        os.symlink(self.path("work/real"), os.path.join(self.sshx.home, ".ssh"))
        self.assert_blocked(self.ask("real/known_hosts"), PROTECTED)

    def test_a_hard_link_to_a_key(self):
        for form in ("openssh", "pem", "pkcs8"):
            with self.subTest(form):
                key = self.lab.key("rsa", form)
                name = os.path.join(self.root, f"notes-{form}.sh")
                os.link(key.path, name)
                self.assert_blocked(self.ask(name), PROTECTED)

    def test_a_key_within_a_script(self):
        with open(self.lab.key().path, encoding="utf-8") as file:
            self.write("work/install.sh", "cat > key <<EOF\n" + file.read() + "EOF\n")
        self.assert_blocked(self.ask("install.sh"), PROTECTED)
        shutil.copy(self.lab.key().public_path, os.path.join(self.root, "public.sh"))
        self.assertNotEqual(self.ask("public.sh", dry_run=True)["error_kind"], "blocked")


class RaceTest(LocalRootCase):
    def test_a_folder_that_is_swapped_for_a_link_meanwhile(self):
        os.makedirs(self.path("trap"))
        self.write("trap/inner.sh", "echo trapped\n")
        inner, aside = os.path.join(self.root, "sub"), os.path.join(self.root, "aside")
        over = threading.Event()

        def swap():
            while not over.is_set():
                os.rename(inner, aside)
                os.symlink("../trap", inner)
                os.unlink(inner)
                os.rename(aside, inner)

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            for _ in range(40):
                document = self.ask("sub/inner.sh", dry_run=True)
                if document["valid"]:
                    self.assertEqual(document["plan"]["action"]["payload_bytes"], len("echo inner\n"))
                else:
                    self.assertIn(document["error"]["code"], (OUTSIDE, "not_found", "io"))
        finally:
            over.set()
            swapper.join()


if __name__ == "__main__":
    unittest.main()
