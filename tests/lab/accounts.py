"""Made-up login accounts for a real sshd, without touching the system's.

libnss_wrapper, preloaded into sshd alone, answers its questions about users and groups from two files of the lab.
sshd gives a session an environment of its own, so no login shell and no command is preloaded.
"""

import glob
import os
import pwd
from dataclasses import dataclass

# No account, and no range that a system hands out by itself.
_ORDINARY_ID = 47000
_LIBRARY_PATTERNS = ("/usr/lib/*/libnss_wrapper.so", "/usr/lib64/libnss_wrapper.so", "/usr/lib/libnss_wrapper.so")


@dataclass(frozen=True)
class Account:
    """One account: `name` logs in with the server's authorized keys.

    `kind`: "own" is the uid that runs the test, "ordinary" is a uid without privileges; they are the same one unless
    root runs the test. `home`: an existing folder; by default a fresh one, with nothing in it, below the server's.
    """

    name: str
    shell: str = "/bin/sh"
    kind: str = "ordinary"
    home: str = ""

    @property
    def uid(self):
        return _ORDINARY_ID if self.kind == "ordinary" and os.geteuid() == 0 else os.geteuid()

    @property
    def gid(self):
        return _ORDINARY_ID if self.kind == "ordinary" and os.geteuid() == 0 else os.getegid()


def login_kinds():
    """The accounts that this machine can give to a matrix of tests, as (label, name, kind): root where root runs it."""
    ordinary = ("ordinary", "mallory", "ordinary")
    return (("root", "root", "own"), ordinary) if os.geteuid() == 0 else (ordinary,)


class Accounts:
    """The files that libnss_wrapper reads, and the homes; a server's accounts by name."""

    def __init__(self, directory, accounts):
        self._directory = directory
        self._accounts = {account.name: self._with_home(account) for account in accounts}
        self._write("passwd", [*(self._passwd_line(account) for account in self._accounts.values()), *_system_lines()])
        gids = {account.gid for account in self}
        self._write("group", [f"group{gid}:x:{gid}:" for gid in sorted(gids | {65534})])

    def __getitem__(self, name):
        return self._accounts[name]

    def __iter__(self):
        return iter(self._accounts.values())

    @property
    def environment(self):
        """What sshd's own environment needs."""
        return {
            "LD_PRELOAD": library_path(),
            "NSS_WRAPPER_PASSWD": os.path.join(self._directory, "passwd"),
            "NSS_WRAPPER_GROUP": os.path.join(self._directory, "group"),
        }

    def _with_home(self, account):
        home = account.home or os.path.join(self._directory, "home-" + account.name)
        os.makedirs(home, mode=0o700, exist_ok=True)
        if not account.home:
            os.chown(home, account.uid, account.gid)
        return Account(account.name, account.shell, account.kind, home)

    def _write(self, name, lines):
        with open(os.path.join(self._directory, name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    @staticmethod
    def _passwd_line(account):
        # `x` and not `!` or `*`: without PAM, sshd refuses an account whose password is locked.
        return f"{account.name}:x:{account.uid}:{account.gid}::{account.home}:{account.shell}"


def library_path():
    """libnss_wrapper.so of Debian's libnss-wrapper."""
    for pattern in _LIBRARY_PATTERNS:
        for path in glob.glob(pattern):
            return path
    raise AssertionError("no libnss_wrapper.so found: install libnss-wrapper")


def _system_lines():
    """sshd looks up its own account, into which its network half retires."""
    return [
        f"{entry.pw_name}:x:{entry.pw_uid}:{entry.pw_gid}::{entry.pw_dir}:{entry.pw_shell}"
        for entry in pwd.getpwall()
        if entry.pw_name in ("sshd", "nobody")
    ]
