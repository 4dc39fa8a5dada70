"""A real sshd with its own keys and configuration on a free loopback port."""

import getpass
import os
import re
import socket
import subprocess
import uuid
from dataclasses import dataclass, field

from tests.lab import processes
from tests.lab.accounts import Accounts
from tests.lab.keys import generate_key

_PORT_ATTEMPTS = 20


@dataclass
class ServerOptions:
    """What a server has beyond the defaults.

    `config`: more sshd_config lines, placed first because sshd takes the first value of a keyword.
    `authorized`: keys or whole authorized_keys lines. `environment`: variables that every remote command gets.
    `accounts`: the Account objects that may log in, instead of the account that runs the test; `server.accounts[name]`
    is one of them with its home, and `server.user` the first one's name. `prefix`: a program that runs sshd.
    """

    host_key_kinds: tuple = ("ed25519",)
    config: tuple = ()
    authorized: tuple = ()
    environment: dict = field(default_factory=dict)
    accounts: tuple = ()
    prefix: tuple = ()
    log_level: str = "VERBOSE"


class Server:
    """Started by the constructor (ready when it returns), ended by `stop`."""

    address = "127.0.0.1"

    def __init__(self, directory, options=None):
        self.options = options or ServerOptions()
        self.directory = directory
        self.user = getpass.getuser()
        self.port = 0
        self.home = os.path.join(directory, "home")
        self.log_path = os.path.join(directory, "log")
        self.authorized_keys_path = os.path.join(directory, "authorized_keys")
        self._marker = f"SSHX_LAB={uuid.uuid4().hex}"
        os.makedirs(self.home)
        self.accounts = None
        if self.options.accounts:
            self._make_accounts()
        self.host_keys = {
            kind: generate_key(os.path.join(directory, f"host_{kind}"), kind)
            for kind in self.options.host_key_kinds
        }
        self.authorize(*self.options.authorized)
        _make_privilege_separation_directory()
        self._process = self._start()

    def authorize(self, *entries):
        """Replaces the account's authorized_keys by these keys or lines."""
        lines = [entry if isinstance(entry, str) else entry.public_line for entry in entries]
        with open(self.authorized_keys_path, "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))
        # sshd reads it with the rights of the account that logs in.
        os.chmod(self.authorized_keys_path, 0o644)

    @property
    def endpoint(self):
        return f"{self.address}:{self.port}"

    @property
    def known_hosts_name(self):
        return f"[{self.address}]:{self.port}"

    def known_hosts_line(self, kind=None):
        """The known_hosts line for one host key; the first kind when none is named."""
        key = self.host_keys[kind or self.options.host_key_kinds[0]]
        return f"{self.known_hosts_name} {key.public_line}"

    def log(self):
        """What sshd has written so far."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def connections(self):
        """How many connections were accepted so far."""
        return len(re.findall(r"^Connection from ", self.log(), re.MULTILINE))

    def session_pids(self):
        """Processes of live connections, sshd's own included."""
        return processes.descendants(self._process.pid)

    def remote_pids(self):
        """Processes that were started through this server, its own aside; a child of one counts as well.

        Commands live in sessions of their own; the marker in their environment finds them.
        """
        return processes.with_environment(self._marker.encode("ascii"))

    def cpu_seconds(self):
        """CPU time of the server and of the connections that have ended, once none is left."""
        processes.eventually(lambda: not self.session_pids(), "no connection is left")
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        # proc(5): utime, stime, and those of children that were waited for.
        return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Ends the server, its connections and every command that was started through it."""
        connections = processes.descendants(self._process.pid)
        processes.stop(self._process)
        processes.kill_all(connections)
        processes.kill_all(self.remote_pids())

    def _make_accounts(self):
        self.accounts = Accounts(self.directory, self.options.accounts)
        self.user = self.options.accounts[0].name
        # An account that is not the test's own must get to its home and its authorized keys, and see nothing else.
        os.chmod(self.directory, 0o711)
        os.chmod(os.path.dirname(self.directory), 0o711)

    def _start(self):
        for _ in range(_PORT_ATTEMPTS):
            self.port = _free_port()
            self._write_config()
            process = self._spawn()
            if self._wait_until_ready(process):
                return process
            processes.stop(process)
        raise AssertionError(f"sshd found no port; its log:\n{self.log()}")

    def _spawn(self):
        config = os.path.join(self.directory, "sshd_config")
        sshd = _sshd_path()
        environment = {**os.environ, **(self.accounts.environment if self.accounts else {})}
        check = subprocess.run(
            [sshd, "-t", "-f", config], capture_output=True, text=True, check=False, env=environment
        )
        if check.returncode != 0:
            raise AssertionError(f"sshd refuses its configuration: {check.stderr}")
        with open(self.log_path, "wb") as log:
            return processes.start(
                [*self.options.prefix, sshd, "-D", "-e", "-f", config],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )

    def _wait_until_ready(self, process):
        """True when this very process listens and answers with a banner; False when the port was taken."""

        def settled():
            return process.poll() is not None or f"Server listening on {self.address} port {self.port}" in self.log()

        processes.eventually(settled, "sshd listens or ends")
        if process.poll() is not None:
            if "Address already in use" in self.log():
                return False
            raise AssertionError(f"sshd ended at once; its log:\n{self.log()}")
        processes.eventually(self._answers, "sshd answers with a banner")
        return True

    def _answers(self):
        try:
            with socket.create_connection((self.address, self.port), timeout=10) as connection:
                return connection.recv(64).startswith(b"SSH-2.0-")
        except OSError:
            return False

    def _write_config(self):
        # HOME is set so that the start-up files of the account that runs the test cannot colour it.
        home = {} if self.accounts else {"HOME": self.home}
        environment = {**home, **self.options.environment}
        settings = " ".join(f'"{name}={value}"' for name, value in environment.items())
        lines = [
            *self.options.config,
            f"ListenAddress {self.address}",
            f"Port {self.port}",
            *(f"HostKey {key.path}" for key in self.host_keys.values()),
            f"AuthorizedKeysFile {self.authorized_keys_path}",
            f"PidFile {os.path.join(self.directory, 'pid')}",
            f"LogLevel {self.options.log_level}",
            f'SetEnv "{self._marker}" {settings}',
            # The scratch directory is below a sticky, world-writable one, which StrictModes refuses.
            "StrictModes no",
            f"UsePAM {'yes' if not self.accounts and _password_is_locked(self.user) else 'no'}",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "MaxStartups 500",
            "MaxSessions 100",
            "PrintMotd no",
        ]
        with open(os.path.join(self.directory, "sshd_config"), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))


def _free_port():
    with socket.socket() as probe:
        probe.bind((Server.address, 0))
        return probe.getsockname()[1]


def _sshd_path():
    # sshd wants to be started by its absolute path, because it executes itself for each connection.
    for path in ("/usr/sbin/sshd", "/usr/local/sbin/sshd"):
        if os.access(path, os.X_OK):
            return path
    raise AssertionError("no sshd found: install openssh-server")


def _make_privilege_separation_directory():
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)


def _password_is_locked(user):
    """Without PAM sshd refuses an account whose password starts with `!`; it can only see that as root."""
    if os.geteuid() != 0:
        return False
    entry = subprocess.run(["getent", "shadow", user], capture_output=True, text=True, check=False).stdout
    fields = entry.split(":")
    return len(fields) > 1 and fields[1].startswith("!")
