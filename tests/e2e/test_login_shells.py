"""B090: every login shell. Commands, --cwd, --env and scripts work, or fail with the shell's own clear words."""

import os
import unittest

from tests.lab import Account, LabCase

POSIX = ("sh", "bash", "dash", "zsh", "mksh", "ksh93")
OTHERS = ("fish", "tcsh")
REFUSING = ("rbash", "nologin")
PATHS = {"nologin": "/usr/sbin/nologin"}
EVERYTHING = "it's \"quoted\" \\ $HOME `id` !! ü 😀 %s * ~ \n and\ttab"


def start_up_files(home):
    """Each shell's own file, read for a command too, that prints three lines on both streams."""
    noise = "echo noise 1\necho noise 2\necho noise 3\n"
    for name, content in (
        (".bashrc", noise), (".zshenv", noise), (".tcshrc", noise), (".kshrc", noise), (".profile", noise),
        (".config/fish/config.fish", noise),
    ):  # fmt: skip
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(content)


class LoginShellCase(LabCase):
    """A server with one account a shell."""

    shells = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        accounts = tuple(Account(name, PATHS.get(name, f"/bin/{name}"), kind="own") for name in cls.shells)
        # fish makes another text of what is no ASCII in the locale C.
        cls.server = cls.lab.server(accounts=accounts, environment={"LANG": "C.UTF-8"})

    def setUp(self):
        super().setUp()
        self.sshx.trust(self.server.known_hosts_line())
        for name in self.shells:
            self.sshx.add_host(name, self.server, identity=self.lab.key(), user=name)

    def run_in(self, shell, *words, **keywords):
        return self.sshx.json("run", "--target", shell, *words, **keywords)

    def script(self, content):
        path = os.path.join(self.sshx.directory, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path


class EveryShellTest(LoginShellCase):
    shells = POSIX + OTHERS

    def test_folder_variables_and_command_arrive_as_they_were_in_the_accounts_shell(self):
        folder = os.path.join(os.path.realpath(self.lab.new_directory("f")), "it's \"a\" $HOME\\ !x ü\n")
        os.mkdir(folder)
        options = ("--cwd", folder, "--env", f"A={EVERYTHING}", "--env", f"B={'x y' * 4000}")
        for shell in self.shells:
            with self.subTest(shell):
                own = "$fish_pid" if shell == "fish" else "$$"
                command = f"readlink /proc/{own}/exe; pwd\nprintenv A\nprintenv B; echo 'a  b'\necho \"c\"; exit 3"
                document = self.run_in(shell, *options, "--", command, code=3)
                path = os.path.realpath(f"/bin/{shell}")
                expected = f"{path}\n{folder}\n{EVERYTHING}\n{'x y' * 4000}\na  b\nc\n"
                self.assert_fields(document, stdout=expected, stderr="")

    def test_a_plain_command_is_the_shells_own(self):
        for shell in self.shells:
            with self.subTest(shell):
                document = self.run_in(shell, "--", "echo 'a  b'\necho \"c\"; exit 3", code=3)
                self.assert_fields(document, stdout="a  b\nc\n", stderr="")

    def test_a_folder_that_cannot_be_entered_is_named(self):
        for shell in self.shells:
            with self.subTest(shell):
                document = self.run_in(shell, "--cwd", "/no/such/folder", "--", "echo ran")
                self.assert_fields(document, error_kind="remote_exit", stdout="")
                self.assert_mentions(document["stderr"], "/no/such/folder")

    def test_scripts_run_in_their_interpreter_and_not_in_the_login_shell(self):
        source = f"readlink /proc/$$/exe\nread x || echo \"$A\"\ncat <<'EOF'\n{EVERYTHING}\nEOF\nexit 7\n"
        path = self.script("#!/bin/bash -e\n" + source)
        for shell in self.shells:
            with self.subTest(shell):
                document = self.run_in(shell, "--script-file", path, "--env", "A=it's", "--cwd", "/", code=7)
                self.assertEqual(document["stdout"], f"/usr/bin/bash\nit's\n{EVERYTHING}\n", document["stderr"])

    def test_a_script_that_is_killed_was_killed(self):
        path = self.script("kill -9 $$\n")
        for shell in ("bash", *OTHERS):
            with self.subTest(shell):
                self.assert_fields(self.run_in(shell, "--script-file", path, code=137), signal="KILL")


class StartUpFilesTest(LoginShellCase):
    shells = POSIX + OTHERS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in cls.shells:
            start_up_files(cls.server.accounts[name].home)

    # B092: output is documented as raw, so the noise is in it; what sshx itself does must not stumble on it.
    def test_noise_comes_before_and_breaks_nothing(self):
        path = self.script("echo from the script\n")
        for shell in self.shells:
            for words in (("--cwd", "/", "--", "echo", "ours"), ("--script-file", path)):
                with self.subTest(shell=shell, words=words[0]):
                    lines = self.run_in(shell, *words, code=0)["stdout"].splitlines()
                    self.assertEqual(lines[-1], "ours" if "--" in words else "from the script")
                    self.assertTrue(all(line.startswith("noise ") for line in lines[:-1]), lines)

    def test_bash_reads_its_file_once_and_so_cannot_undo_folder_and_variables(self):
        with open(os.path.join(self.server.accounts["bash"].home, ".bashrc"), "w", encoding="ascii") as file:
            file.write("echo noise 1\nA=another\ncd /\n")
        document = self.run_in("bash", "--cwd", "/usr/bin", "--env", "A=ours", "--", "pwd; echo $A", code=0)
        self.assert_fields(document, stdout="noise 1\n/usr/bin\nours\n", stderr="")


class RefusingShellTest(LoginShellCase):
    shells = REFUSING

    def test_plain_commands_are_the_shells_own_affair(self):
        self.assert_fields(self.run_in("rbash", "--", "echo hi", code=0), stdout="hi\n")
        document = self.run_in("nologin", "--", "echo hi")
        self.assert_fields(document, success=False, error_kind="remote_exit")
        self.assert_mentions(document["stdout"] + document["stderr"], "not available")

    def test_what_must_start_sh_fails_in_the_shells_words(self):
        path = self.script("echo ran\n")
        for words in (("--cwd", "/", "--", "echo ran"), ("--env", "A=1", "--", "echo ran"), ("--script-file", path)):
            with self.subTest(words[0]):
                document = self.run_in("rbash", *words)
                self.assert_fields(document, success=False, error_kind="remote_exit", stdout="")
                self.assert_mentions(document["stderr"], "rbash", "restricted")
                document = self.run_in("nologin", *words)
                self.assert_fields(document, success=False, error_kind="remote_exit")
                self.assertNotIn("ran", document["stdout"])


if __name__ == "__main__":
    unittest.main()
