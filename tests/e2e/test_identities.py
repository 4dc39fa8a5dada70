"""Logging in: key kinds and formats, the agent, and local faults that are found before any packet."""

import os
import re
import unittest

from tests.lab import TargetCase
from tests.lab.keys import KINDS
from tests.lab.scripted_server import ScriptedServer

# ssh-keygen has no PEM form for ed25519.
_FORMS = [(kind, form) for kind in KINDS for form in ("openssh", "pem", "pkcs8") if (kind, form) != ("ed25519", "pem")]


def attempts(log):
    """How many public keys the server was offered and refused or accepted."""
    return len(re.findall(r"^(?:Failed|Accepted|Partial) publickey for ", log, re.MULTILINE))


class IdentityCase(TargetCase):
    has_identity = False

    def login(self, *options, code=0, agent=None):
        """A run; `agent` is what SSH_AUTH_SOCK names."""
        environment = {"SSH_AUTH_SOCK": agent.socket} if agent else None
        return self.sshx.json(
            "run", "--target", "target", *options, "--", "echo in", code=code, environment=environment
        )

    def assert_local_fault(self, document, code):
        self.assert_fields(
            document,
            error__kind="auth",
            error__code=code,
            phase="authenticate",
            executed=False,
            completion="not_started",
            timings__connect_ms=None,
            exit_code=-1,
        )

    def log_during(self, action):
        before = len(self.server.log())
        action()
        return self.server.log()[before:]


class KeyFileTest(IdentityCase):
    # B072
    def test_each_kind_in_each_format(self):
        keys = {form: self.lab.key(*form) for form in _FORMS}
        self.server.authorize(*keys.values())
        for (kind, form), key in keys.items():
            with self.subTest(kind=kind, form=form):
                document = self.login("--identity", key.path)
                self.assert_fields(document, auth_method="publickey", stdout="in\n")

    def test_identity_of_the_host_is_used(self):
        self.server.authorize(self.lab.key())
        self.sshx.ok("host", "update", "target", "--identity", self.lab.key().path)
        self.assert_fields(self.login(), success=True)

    def test_tilde_is_the_home(self):
        key = self.lab.key()
        self.server.authorize(key)
        os.symlink(key.path, os.path.join(self.sshx.home, ".ssh", "id"))
        os.symlink(key.public_path, os.path.join(self.sshx.home, ".ssh", "id.pub"))
        self.assert_fields(self.login("--identity", "~/.ssh/id"), success=True)

    def test_the_usual_keys_are_tried_when_none_is_configured(self):
        for kind, name in (("ed25519", "id_ed25519"), ("ecdsa256", "id_ecdsa"), ("rsa", "id_rsa")):
            with self.subTest(name):
                key = self.lab.key(kind)
                self.server.authorize(key)
                path = os.path.join(self.sshx.home, ".ssh", name)
                os.symlink(key.path, path)
                self.assert_fields(self.login(), success=True)
                os.unlink(path)

    def test_a_key_without_its_public_file(self):
        for kind in ("ed25519", "ecdsa256", "rsa"):
            with self.subTest(kind):
                key = self.lab.key(kind)
                self.server.authorize(key)
                alone = os.path.join(self.sshx.directory, kind)
                with open(key.path, "rb") as source, open(alone, "wb") as copy:
                    copy.write(source.read())
                os.chmod(alone, 0o600)
                self.assert_fields(self.login("--identity", alone), success=True)

    def test_refused_key(self):
        self.server.authorize()
        document = self.login("--identity", self.lab.key().path, code=255)
        self.assert_fields(
            document, error__kind="auth", error__code="refused", executed=False, completion="not_started"
        )
        self.assertIsInstance(document["timings"]["connect_ms"], int)
        self.assert_mentions(document["error"]["message"], self.server.user)

    # B070: one RSA key is one attempt, not one a hash algorithm.
    def test_one_refused_rsa_key_is_one_attempt(self):
        self.server.authorize()
        log = self.log_during(lambda: self.login("--identity", self.lab.key("rsa").path, code=255))
        self.assertEqual(attempts(log), 1, log)

    def test_rsa_signs_with_sha2(self):
        key = self.lab.key("rsa")
        server = self.lab.server(authorized=(key,), config=("PubkeyAcceptedAlgorithms rsa-sha2-512",))
        self.sshx.trust(server.known_hosts_line())
        self.assert_fields(self.login("--identity", key.path, "--port", server.port), success=True)


class LocalFaultTest(IdentityCase):
    """B071: four faults, four codes, and no packet for any of them.

    The port refuses, so an attempt to connect would give kind `connect`.
    """

    def setUp(self):
        super().setUp()
        self.sshx.ok("host", "update", "target", "--port", "1")

    def test_missing(self):
        path = os.path.join(self.sshx.directory, "absent")
        document = self.login("--identity", path, code=255)
        self.assert_local_fault(document, "identity_missing")
        self.assert_mentions(document["error"]["message"], path)

    def test_encrypted(self):
        for form in ("openssh", "pem", "pkcs8"):
            with self.subTest(form):
                key = self.lab.key("rsa", form, passphrase="hunter2-EXAMPLE")
                document = self.login("--identity", key.path, code=255)
                self.assert_local_fault(document, "identity_encrypted")
                self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "agent")

    def test_not_a_key(self):
        with open(self.lab.key().path, "rb") as private, open(self.lab.key().public_path, "rb") as public:
            content, public_content = private.read(), public.read()
        for title, text in {
            "text": b"root:x:0:0:root:/root:/bin/bash\n",
            "empty": b"",
            "cut": content[: len(content) // 2],
            "public key": public_content,
            "binary": os.urandom(4096),
            "frame without a key": b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
            "unknown frame": b"-----BEGIN SOMETHING-----\nAAAA\n-----END SOMETHING-----\n",
        }.items():
            with self.subTest(title):
                path = os.path.join(self.sshx.directory, "garbage")
                with open(path, "wb") as file:
                    file.write(text)
                os.chmod(path, 0o600)
                document = self.login("--identity", path, code=255)
                self.assert_local_fault(document, "identity_format")
                shown = (document["error"]["message"] + str(document["error"]["hint"])).encode()
                self.assertNotIn(text[40:60] or b"\0", shown)

    def test_a_directory(self):
        document = self.login("--identity", self.sshx.directory, code=255)
        self.assert_fields(document, error__kind="auth", executed=False, timings__connect_ms=None)

    def test_others_may_read_it(self):
        key = self.lab.key(name="open")
        self.addCleanup(os.chmod, key.path, 0o600)
        for mode in (0o644, 0o640, 0o604, 0o666):
            with self.subTest(oct(mode)):
                os.chmod(key.path, mode)
                document = self.login("--identity", key.path, code=255)
                self.assert_local_fault(document, "identity_permission")
                self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "chmod", key.path)

    def test_no_identity_and_no_agent(self):
        self.assert_local_fault(self.login(code=255), "no_identity")

    def test_the_agent_that_is_named_is_not_there(self):
        socket = os.path.join(self.sshx.directory, "no-agent")
        document = self.login("--identity-agent", socket, code=255)
        self.assert_local_fault(document, "agent_unavailable")
        self.assert_mentions(document["error"]["message"], socket)

    def test_agent_none_with_no_identity(self):
        agent = self.lab.agent(self.lab.key())
        self.assert_local_fault(self.login("--identity-agent", "none", code=255, agent=agent), "no_identity")

    def test_an_agent_without_keys(self):
        self.assert_local_fault(self.login(code=255, agent=self.lab.agent()), "no_identity")


class AgentTest(IdentityCase):
    # B073
    def test_each_kind(self):
        for kind in KINDS:
            with self.subTest(kind):
                key = self.lab.key(kind)
                self.server.authorize(key)
                document = self.login(agent=self.lab.agent(key))
                self.assert_fields(document, auth_method="publickey", success=True)

    # B073
    def test_rsa_signs_with_sha2(self):
        key = self.lab.key("rsa")
        server = self.lab.server(authorized=(key,), config=("PubkeyAcceptedAlgorithms rsa-sha2-512",))
        self.sshx.trust(server.known_hosts_line())
        self.assert_fields(self.login("--port", server.port, agent=self.lab.agent(key)), success=True)

    # B073
    def test_a_server_that_takes_only_sha1_is_named_as_such(self):
        key = self.lab.key("rsa")
        server = ScriptedServer(
            self.lab.key(name="host"),
            lambda exchange: exchange.exit_status(0),
            refused_signatures=("rsa-sha2-256", "rsa-sha2-512"),
        )
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        for title, options, agent in (
            ("file", ("--identity", key.path), None),
            ("agent", (), self.lab.agent(key)),
        ):
            with self.subTest(title):
                document = self.login("--port", server.port, *options, agent=agent, code=255)
                self.assert_fields(
                    document,
                    error__kind="unsupported",
                    error__code="signature_algorithm",
                    error__phase="authenticate",
                    phase="authenticate",
                    executed=False,
                    completion="not_started",
                )
                self.assert_mentions(document["error"]["message"], "ssh-rsa")

    # B073
    def test_a_server_that_refuses_sha2_without_a_word(self):
        key = self.lab.key("rsa")
        server = self.lab.server(authorized=(key,), config=("PubkeyAcceptedAlgorithms ssh-rsa",))
        self.sshx.trust(server.known_hosts_line())
        document = self.login("--port", server.port, agent=self.lab.agent(key), code=255)
        self.assert_fields(document, error__kind="auth", executed=False)

    def test_agent_by_option(self):
        self.server.authorize(self.lab.key())
        agent = self.lab.agent(self.lab.key())
        self.assert_fields(self.login("--identity-agent", agent.socket), success=True)

    def test_a_key_that_the_agent_will_not_use_unconfirmed(self):
        key = self.lab.key()
        self.server.authorize(key)
        agent = self.lab.agent()
        # Nothing is there that could ask for the confirmation.
        agent.add(key, "-c")
        document = self.login(agent=agent, code=255)
        self.assert_fields(document, error__kind="auth", error__code="agent_refused", executed=False)
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", agent.socket, "confirm")

    def test_private_file_is_missing_but_the_agent_has_the_key(self):
        key = self.lab.key()
        self.server.authorize(key)
        agent = self.lab.agent(key)
        public_only = os.path.join(self.sshx.directory, "id")
        with open(public_only + ".pub", "w", encoding="ascii") as file:
            file.write(key.public_line + " comment\n")
        self.assert_fields(self.login("--identity", public_only, agent=agent), success=True)
        self.assert_fields(self.login("--identity", public_only, "--identities-only", agent=agent), success=True)

    def test_encrypted_file_but_the_agent_has_the_key(self):
        plain = self.lab.key(name="twin")
        self.server.authorize(plain)
        locked = self.lab.key(name="locked", passphrase="hunter2-EXAMPLE")
        # The same public half beside an encrypted private file: only the agent can sign.
        path = os.path.join(self.sshx.directory, "id")
        for source, target in ((locked.path, path), (plain.public_path, path + ".pub")):
            with open(source, "rb") as read, open(target, "wb") as write:
                write.write(read.read())
        os.chmod(path, 0o600)
        self.assert_fields(self.login("--identity", path, agent=self.lab.agent(plain)), success=True)

    def test_a_dead_agent_does_not_stop_a_key_file(self):
        self.server.authorize(self.lab.key())
        document = self.sshx.json(
            "run", "--target", "target", "--identity", self.lab.key().path, "--", "true", code=0,
            environment={"SSH_AUTH_SOCK": os.path.join(self.sshx.directory, "no-agent")},
        )  # fmt: skip
        self.assert_fields(document, success=True)


class AttemptTest(IdentityCase):
    """How many requests with a key the server sees: a question and a signature, or the signature alone."""

    def requests(self, *options, agent=None, **server_options):
        server = ScriptedServer(self.lab.key(name="host"), lambda exchange: exchange.exit_status(0), **server_options)
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        self.login("--port", server.port, *options, agent=agent)
        return len(server.authentications)

    def test_a_key_file_signs_at_once(self):
        for kind in ("ed25519", "ecdsa256"):
            with self.subTest(kind):
                self.assertEqual(self.requests("--identity", self.lab.key(kind).path), 1)

    # An agent may ask somebody to confirm or to touch a device: not for a key that the server does not want.
    def test_an_agent_is_not_bothered_before_the_server_wants_its_key(self):
        self.assertEqual(self.requests(agent=self.lab.agent(self.lab.key("ed25519"))), 2)

    # A server that does not say what it takes may get SHA-1 from an RSA key, which must stay a matter of that key.
    def test_an_rsa_key_is_asked_about(self):
        key = self.lab.key("rsa")
        self.server.authorize(key)
        log = self.log_during(lambda: self.login("--identity", key.path))
        self.assertEqual(log.count("Postponed publickey"), 1)

    # B070
    def test_a_refused_signature_is_one_attempt(self):
        server = self.lab.server(config=("MaxAuthTries 2",))
        self.sshx.trust(server.known_hosts_line())
        stranger = self.lab.key("ecdsa256", name="stranger")
        agent = self.lab.agent(self.lab.key("ed25519"))
        document = self.login("--port", server.port, "--identity", stranger.path, agent=agent)
        self.assert_fields(document, success=True)
        self.assertEqual(attempts(server.log()), 2)


class ManyKeysTest(IdentityCase):
    """B070: an agent with twelve keys and a server that allows three attempts."""

    server_options = {"config": ("MaxAuthTries 3",)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = [cls.lab.key(name=f"many{number}") for number in range(12)]
        cls.eleventh = cls.keys[10]
        cls.agent = cls.lab.agent(*cls.keys)
        cls.server.authorize(cls.eleventh)

    def test_identities_only_is_one_attempt(self):
        log = self.log_during(
            lambda: self.login("--identity", self.eleventh.path, "--identities-only", agent=self.agent)
        )
        self.assertEqual(attempts(log), 1, log)

    def test_the_configured_key_comes_first(self):
        log = self.log_during(lambda: self.login("--identity", self.eleventh.path, agent=self.agent))
        self.assertEqual(attempts(log), 1, log)

    def test_too_many_keys_are_counted_and_the_way_out_is_named(self):
        document = self.login(agent=self.agent, code=255)
        self.assert_fields(document, error__kind="auth", executed=False, completion="not_started")
        self.assertIn(document["error"]["code"], ("too_many_failures", "refused"))
        text = f"{document['error']['message']} {document['error']['hint']}"
        self.assert_matches(text, r"identities[-_]only")
        self.assert_matches(text, r"\b[1-9]\d*\b[^.]*\bkeys?\b")

    def test_a_wrong_identity_does_not_hide_the_agents_keys(self):
        # Two attempts fit into three: the configured key, then the first one of the agent.
        agent = self.lab.agent(self.eleventh)
        log = self.log_during(lambda: self.login("--identity", self.lab.key(name="wrong").path, agent=agent))
        self.assertEqual(attempts(log), 2, log)

    def test_identities_only_offers_no_other_key(self):
        wrong = self.lab.key(name="wrong")
        log = self.log_during(
            lambda: self.login("--identity", wrong.path, "--identities-only", agent=self.agent, code=255)
        )
        self.assertEqual(attempts(log), 1, log)


class SecondFactorTest(IdentityCase):
    """B075: partial success moves on to the next method, never to the next key."""

    server_options = {"config": ("AuthenticationMethods publickey,keyboard-interactive", "KbdInteractiveAuthentication yes",
                                 "UsePAM yes")}  # fmt: skip

    def test_no_key_is_tried_after_partial_success(self):
        keys = [self.lab.key(name=f"factor{number}") for number in range(3)]
        self.server.authorize(*keys)
        agent = self.lab.agent(*keys)
        log = self.log_during(
            lambda: self.assert_fields(self.login(agent=agent, code=255), error__kind="auth", executed=False)
        )
        self.assertEqual(attempts(log), 1, log)


if __name__ == "__main__":
    unittest.main()
