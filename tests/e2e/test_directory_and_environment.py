"""`--cwd` and `--env`: any name and any value, set before anything runs, and no secret kept."""

import json
import os
import unittest

from tests.lab import TargetCase

ODD_NAMES = (
    "plain", "two words", " ends ", "it's", '"quoted"', "a\nb", "new line\n", "-dash", "--", "üñ 日本 😀", "$(id)", "`id`",
    "$HOME", "${x}", "back\\slash", "\\", "end\\", "!x", "!!", "*", "?[a]", "~", "#x", "a;id", "a&b", "a|b", "(x)", "{a,b}",
    "tab\there", "%s", "\\0041", "\u202e", "\x01\x7f",
)  # fmt: skip


class DirectoryTest(TargetCase):
    def pwd(self, folder, **keywords):
        return self.run_json("pwd", options=("--cwd", folder), **keywords)

    def test_any_name_absolute_or_relative(self):
        base = os.path.realpath(self.lab.new_directory("f"))
        for name in ODD_NAMES:
            with self.subTest(name):
                path = os.path.join(base, name)
                os.mkdir(path)
                document = self.pwd(path, code=0)
                self.assertEqual(document["stdout"], path + "\n", document["stderr"])
                self.assert_fields(document, action__cwd=path, action__command="pwd", command="pwd")

    def test_a_relative_folder_is_below_where_the_login_shell_starts(self):
        start = self.run_json("pwd", code=0)["stdout"].strip()
        above = os.path.relpath("/usr/share", start)
        self.assertEqual(os.path.realpath(self.pwd(above, code=0)["stdout"].strip()), "/usr/share")
        self.assertEqual(self.pwd(".", code=0)["stdout"].strip(), start)

    def test_a_dash_is_a_name_like_any_other(self):
        for name in ("-", "sub"):
            os.makedirs(os.path.join(self.server.home, name), exist_ok=True)
        start = self.run_json("pwd", code=0)["stdout"].strip()
        above = os.path.relpath(os.path.realpath(self.server.home), start)
        self.assertEqual(os.path.basename(self.pwd(f"{above}/-", code=0)["stdout"]), "-\n")
        # There is no such folder where the login shell starts; and neither OLDPWD nor CDPATH makes another one of it.
        for name in ("-", "sub"):
            options = ("--cwd", name, "--env", f"CDPATH={self.server.home}", "--env", f"OLDPWD={self.server.home}")
            with self.subTest(name):
                self.assert_fields(self.run_json("pwd", options=options), success=False, stdout="")

    def test_a_byte_that_is_no_character(self):
        path = os.fsencode(self.lab.new_directory("f")) + b"/\xff\xfe"
        os.mkdir(path)
        done = self.sshx.run("run", "--target", "target", "--cwd", os.fsdecode(path), "--", "pwd")
        # A request is text, so such a name cannot be asked for; it is refused and not changed.
        self.assertEqual(done.code, 255, done)

    def test_nothing_runs_where_it_cannot_be_entered(self):
        mark = os.path.join(self.sshx.directory, "mark")
        script = os.path.join(self.sshx.directory, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"touch {mark}\n")
        for folder in ("/no/such folder", "/etc/passwd", "x" * 300):
            for command in (("--", f"touch {mark}"), ("--script-file", script)):
                with self.subTest(folder=folder[:20], command=command[0]):
                    done = self.sshx.run("run", "--target", "target", "--cwd", folder, "--json", *command)
                    document = self.sshx.document(done)
                    self.assert_fields(document, success=False, error_kind="remote_exit", stdout="")
                    self.assertNotIn(document["exit_code"], (0, -1))
                    self.assert_mentions(document["stderr"], folder)
                    self.assertFalse(os.path.exists(mark))

    def test_a_folder_that_cannot_be_named(self):
        for folder, codes in (("", ("range",)), ("a\0b", ("directory", "pattern")), ("x" * 4097, ("range",))):
            with self.subTest(folder[:3]):
                body = json.dumps({"targets": ["target"], "command": "true", "cwd": folder}).encode()
                document = self.sshx.json("run", "--request", "-", stdin=body, code=255, version="sshx.error.v1")
                self.assert_fields(document, error_kind="config")
                self.assertIn(document["error"]["code"], codes)


class EnvironmentTest(TargetCase):
    def test_any_value(self):
        everything = "".join(chr(code) for code in range(1, 256)) + "日本 😀 $(id) `id` \\ ' \" !! %s \\n\n\n"
        options = ("--env", f"A={everything}", "--env", "B=", "--env", "C=x=y,z", "--env", "_d1= ", "--env", "E='\"'")
        document = self.run_json('printf "<%s>" "$A" "${B-unset}" "$C" "$_d1" "$E"', options=options, code=0)
        self.assertEqual(document["stdout"], f"<{everything}><><x=y,z>< ><'\"'>")

    def test_it_reaches_what_the_command_starts(self):
        document = self.run_json("sh -c 'env | grep ^SSHX_T'", options=("--env", "SSHX_T=1"), code=0)
        self.assertEqual(document["stdout"], "SSHX_T=1\n")

    def test_no_variable_changes_the_login_shell(self):
        plain = self.run_json("readlink /proc/$$/exe; echo", code=0)["stdout"]
        for shell in ("/bin/dash", "/no/such/shell", ""):
            with self.subTest(shell):
                command = "readlink /proc/$$/exe; echo; echo $SHELL"
                document = self.run_json(command, options=("--env", f"SHELL={shell}"), code=0)
                self.assertEqual(document["stdout"], f"{plain}{shell}\n")

    def test_the_later_of_two_wins(self):
        self.assertEqual(self.run_json("echo $A", options=("--env", "A=1", "--env", "A=2"), code=0)["stdout"], "2\n")

    def test_a_name_that_cannot_be_set_is_refused_offline(self):
        before = self.server.connections()
        for variable in ("novalue", "=x", "1A=x", "A-B=x", " A=x", "A.B=x", "A;id=x", "$(id)=x", "A+=x", "ü=x", "-n=x"):
            with self.subTest(variable):
                words = ("run", "--target", "target", f"--env={variable}", "--", "true")
                document = self.sshx.json(*words, code=255, version="sshx.error.v1")
                self.assert_fields(document, error_kind="config", error__code="environment")
                # The name alone: the value may be a secret.
                name = variable.split("=")[0]
                self.assert_mentions(document["error"]["message"], f'"{name}"')
                self.assert_mentions(document["error"]["hint"], "NAME=VALUE")
        self.assertEqual(self.server.connections(), before)

    def test_a_variable_that_the_host_refuses_ends_it_before_anything_runs(self):
        # OPTIND must be a number in every POSIX shell that is strict about it; one that is not just sets it.
        document = self.run_json("echo ran", options=("--env", "OPTIND=x"))
        self.assertTrue(document["success"] or document["stdout"] == "", document)

    def test_many(self):
        options = [word for number in range(128) for word in ("--env", f"V{number}={number}")]
        document = self.run_json("env | grep -c '^V[0-9]*='", options=options, code=0)
        self.assertEqual(document["stdout"], "128\n")

    def test_too_much_is_refused_and_not_cut(self):
        for value, code in (("x" * 16000, 0), ("\n" * 16000, 255)):
            with self.subTest(value[:1]):
                words = ("run", "--target", "target", "--env", f"A={value}", "--", "printf %s \"$A\" | wc -c")
                document = self.sshx.json(*words, code=code)
                if code == 0:
                    self.assertEqual(document["stdout"].strip(), "16000")
                else:
                    self.assert_fields(document, error_kind="config", error__code="range")

    def test_secrets_are_in_no_document_and_no_evidence(self):
        secrets = ("hunter2-db", "hunter2-token", "hunter2-api")
        variables = zip(("DB_PASSWORD", "GITHUB_TOKEN", "API_KEY"), secrets, strict=True)
        options = [word for name, secret in variables for word in ("--env", f"{name}={secret}")]
        document = self.run_json('test "$DB_PASSWORD" = hunter2-db', options=options)
        self.assertEqual(document["exit_code"], 0, "the command itself gets the value")
        words = ("run", "--target", "target", *options, "--dry-run", "--", "true")
        self.sshx.json(*words, code=0)
        self.sshx.ok(*words)
        self.sshx.json("audit", "show", document["execution_id"], code=0)
        for done in self.sshx.history:
            for secret in secrets[1:]:
                self.assertNotIn(secret, done.text + done.error_text)
        for name in os.listdir(self.sshx.state):
            with open(os.path.join(self.sshx.state, name), "rb") as file:
                content = file.read()
            for secret in secrets[1:]:
                self.assertNotIn(secret.encode(), content, name)
        self.assertEqual([variable.split("=")[0] for variable in document["action"]["env"]],
                         ["DB_PASSWORD", "GITHUB_TOKEN", "API_KEY"])  # fmt: skip
        self.assertNotIn(secrets[0], json.dumps(document["action"]["env"]))

    def test_without_options_nothing_is_set(self):
        document = self.run_json("true", code=0)
        self.assert_fields(document, action__cwd=None, action__env=[], action__pty=False)


if __name__ == "__main__":
    unittest.main()
