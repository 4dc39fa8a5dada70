"""The transport against real servers: algorithms, rekeying, banners, forced commands, odd accounts."""

import os
import unittest

from tests.lab import LabCase, TargetCase
from tests.lab.facts import stream


class ServerCase(LabCase):
    def serve(self, *config, **options):
        """A trusted server with these sshd_config lines, as the host `target` of a fresh inventory."""
        self.sshx = self.lab.sshx()
        server = self.lab.server(config=config, **options)
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        self.sshx.add_host("target", server, identity=self.lab.key())
        return server

    def run_json(self, command, *options, code=0, **keywords):
        return self.sshx.json("run", "--target", "target", *options, "--", command, code=code, **keywords)


class AlgorithmTest(ServerCase):
    def test_each_algorithm_that_we_offer_works_alone(self):
        for config in (
            "KexAlgorithms curve25519-sha256",
            "KexAlgorithms ecdh-sha2-nistp256",
            "KexAlgorithms ecdh-sha2-nistp521",
            "KexAlgorithms diffie-hellman-group14-sha256",
            "KexAlgorithms diffie-hellman-group16-sha512",
            "Ciphers aes256-gcm@openssh.com",
            "Ciphers aes128-gcm@openssh.com",
            "Ciphers aes256-ctr",
            "Ciphers aes128-ctr",
        ):
            with self.subTest(config):
                self.serve(config)
                document = self.run_json("head -c 300000 /dev/zero | tr '\\0' a; echo end >&2")
                self.assertEqual(document["stdout_bytes"], 300000)
                self.assertEqual(set(document["stdout"]), {"a"})

    def test_each_mac_with_a_counter_mode_cipher(self):
        for mac in ("hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"):
            with self.subTest(mac):
                self.serve("Ciphers aes128-ctr", f"MACs {mac}")
                self.assert_fields(self.run_json("echo in"), stdout="in\n")

    # chacha20-poly1305 is never negotiated: one flipped bit would stall the library for ever.
    def test_nothing_else_is_negotiated(self):
        for config in (
            "Ciphers chacha20-poly1305@openssh.com",
            "Ciphers aes128-cbc",
            "KexAlgorithms diffie-hellman-group14-sha1",
            "KexAlgorithms sntrup761x25519-sha512@openssh.com",
        ):
            with self.subTest(config):
                self.serve(config)
                self.assert_fields(
                    self.run_json("true", code=255),
                    error__kind="protocol",
                    error__code="no_common_algorithm",
                    executed=False,
                    completion="not_started",
                )

    def test_chacha20_is_not_used_where_it_is_the_servers_first_choice(self):
        server = self.serve("Ciphers chacha20-poly1305@openssh.com,aes128-ctr", log_level="DEBUG1")
        self.run_json("true")
        self.assertIn("cipher: aes128-ctr", server.log())

    def test_old_rsa_signatures_of_a_host_key_are_refused(self):
        self.serve("HostKeyAlgorithms ssh-rsa", host_key_kinds=("rsa",))
        self.assert_fields(self.run_json("true", code=255), error__kind="protocol", error__code="no_common_algorithm")


class RekeyTest(ServerCase):
    # B183
    def test_much_data_both_ways_while_keys_change(self):
        server = self.serve("RekeyLimit 3M", log_level="DEBUG1")
        content = os.urandom(1 << 20) * 12
        done = self.sshx.ok(
            "run", "--target", "target", "--stdin", "--timeout", "120s", "--",
            "head -c 12M /dev/zero >&2 & cat; wait", stdin=content, timeout=150,
        )  # fmt: skip
        self.assertTrue(done.out == content, "stdout differs from stdin")
        # At this log level the server adds lines of its own.
        self.assertEqual(done.err.count(b"\0"), 12 << 20)
        self.assertGreater(server.log().count("rekey"), 2)


class ServerTextTest(ServerCase):
    # B149: what a server says before the login is neither output nor obeyed by the terminal.
    def test_a_banner_is_not_output(self):
        path = os.path.join(self.lab.new_directory("b"), "banner")
        with open(path, "w", encoding="ascii") as file:
            file.write("\x1b]0;evil\x07WARNING\r\nsecond line\n")
        self.serve(f"Banner {path}")
        self.assert_fields(self.run_json("echo in"), stdout="in\n", stderr="")
        done = self.sshx.ok("run", "--target", "target", "--", "echo in")
        self.assertEqual(done.out, b"in\n")
        self.assertNotIn(b"\x1b", done.err)

    # B092
    def test_start_up_files_that_print_are_output_and_nothing_worse(self):
        server = self.serve()
        with open(os.path.join(server.home, ".bashrc"), "w", encoding="ascii") as file:
            file.write("echo noise\n")
        document = self.run_json("echo in")
        self.assertTrue(document["stdout"].endswith("in\n"))
        self.assert_fields(document, success=True, exit_code=0)

    # B124
    def test_a_forced_command_is_what_ran(self):
        self.serve("ForceCommand echo 'This service allows sftp connections only.'; exit 1")
        document = self.run_json("echo in", code=1)
        self.assert_fields(document, exit_code=1, success=False, error_kind="remote_exit")
        self.assertEqual(stream(document, "stdout"), b"This service allows sftp connections only.\n")

    def test_a_forced_command_in_authorized_keys(self):
        server = self.serve()
        server.authorize(f'command="echo forced; exit 4" {self.lab.key().public_line}')
        self.assert_fields(self.run_json("echo in", code=4), stdout="forced\n", exit_code=4)

    def test_a_key_that_is_valid_elsewhere_only(self):
        server = self.serve()
        server.authorize(f'from="10.255.255.1" {self.lab.key().public_line}')
        self.assert_fields(self.run_json("echo in", code=255), error__kind="auth", executed=False)

    def test_a_server_without_sessions(self):
        self.serve("MaxSessions 0")
        self.assert_fields(
            self.run_json("true", code=255),
            error__kind="protocol",
            error__code="channel",
            executed=False,
            completion="not_started",
        )


class LocalDescriptorTest(TargetCase):
    def closed(self, closing, *words):
        """A run that starts with some of its standard descriptors closed."""
        return self.sshx.start("run", "--target", "target", *words, prefix=("sh", "-c", f'exec "$@" {closing}', "-")).wait()

    # A socket must never become descriptor 0, 1 or 2, or text meant for people would go into it.
    def test_closed_standard_descriptors(self):
        for closing in ("<&-", ">&-", "2>&-", "<&- 2>&-"):
            with self.subTest(closing):
                done = self.closed(closing, "--json", "--", "echo in; echo err >&2")
                if ">&-" != closing:
                    self.assertEqual(done.code, 0, done)
                    self.assert_fields(self.sshx.document(done), stdout="in\n", stderr="err\n")

    def test_all_closed_still_runs_or_says_so_by_its_code(self):
        mark = os.path.join(self.sshx.directory, "mark")
        done = self.closed("<&- >&- 2>&-", "--", f"touch {mark}")
        self.assertEqual(done.code == 0, os.path.exists(mark), done)

    def test_quiet_leaves_only_the_commands_own_words(self):
        done = self.sshx.ok("run", "--target", "target", "--insecure-hostkey", "--quiet", "--", "echo in; echo err >&2")
        self.assertEqual((done.out, done.err), (b"in\n", b"err\n"))

    def test_an_error_is_told_even_when_quiet(self):
        done = self.sshx.expect(255, "run", "--target", "nowhere", "--quiet", "--", "true")
        self.assertTrue(done.err.startswith(b"sshx: "), done)


if __name__ == "__main__":
    unittest.main()
