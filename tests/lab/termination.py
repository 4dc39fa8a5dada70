"""What the tests of termination share: work that can be told apart from everything else, and what is left of it.

The tests look by themselves, in /proc, whether what a result says is true. They run where the server runs.
"""

import os
import subprocess
import uuid

from tests.lab import processes
from tests.lab.accounts import Account, login_kinds
from tests.lab.case import LabCase
from tests.lab.sshx import Completed

# The budget for ending a command is real time; on a busy machine an honest `unknown` is tried again.
_ATTEMPTS = 4
_FULL_RUN = ("--max-output-bytes", "1000")
# A command that only KILL ends.
STUBBORN = "trap '' INT TERM; sleep @; sleep @; sleep @; sleep @; sleep @; true"
_SECOND_SESSION = b"nonce="
# The limits that stop a command, each with the code of its error.
LIMITS = {"timeout": "command", "host-timeout": "host", "global-timeout": "global"}


def alone(proc_options="", setup=""):
    """A `prefix` for a server whose sessions see no process of the machine but their own; needs root, else empty.

    What an ordinary account can be told depends on other accounts' processes, and a test machine has many.
    `setup`: shell commands that run before sshd, among its processes.
    """
    if os.geteuid() != 0:
        return ()
    options = f"-o {proc_options}" if proc_options else ""
    script = f'mount -t proc {options} proc /proc && {{ {setup or ":"}; }} && "$@"; exit $?'
    return ("unshare", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", script, "sh")


class OneServer:
    """Mixed into a TerminationCase: one server for all tests of the class, a host of every fresh inventory."""

    _server = None

    def setUp(self):
        super().setUp()
        if self._server is None:
            type(self)._server = self.server()
        else:
            self.host(self._server)


class Work:
    """One `sshx run` of a command in which `@` is a number of seconds that occurs nowhere else."""

    def __init__(self, case, server, name, command, options=(), **start):
        self.case = case
        self.token = "6" + str(uuid.uuid4().int)[:8]
        self.home = server.accounts[name].home
        self._sleeps = "sleep @" in command
        self._mark = os.path.join(self.home, "mark-" + self.token)
        text = command.replace("@", self.token)
        self.running = case.sshx.start(
            "run", "--target", name, "--request-id", self.token, *_FULL_RUN, *options, "--",
            f"touch {self._mark}; {text}", **start,
        )  # fmt: skip

    def begun(self):
        """Waits until the command runs, with its first sleep if it has one."""
        processes.eventually(lambda: os.path.exists(self._mark), "the command runs")
        if self._sleeps:
            processes.eventually(self.sleepers, "the command sleeps")
        return self

    def sleepers(self, uid=None):
        """Ids of its sleeping programs, of one uid if that is given."""
        found = [pid for pid, arguments in self.left() if arguments.startswith("sleep ")]
        return [pid for pid in found if uid is None or _uid_of(pid) == uid]

    def left(self):
        """The command's live processes, by their arguments; what runs the second session's script is not among them."""
        return processes_with_argument(self.token, but_not=self.running.pid)

    def clear(self):
        processes.kill_all(pid for pid, _ in self.left())


def processes_with_argument(word, but_not=0):
    """(pid, arguments) of all live processes that have `word` in an argument."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) in (os.getpid(), but_not):
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                arguments = file.read()
        except OSError:
            continue
        if word.encode("ascii") in arguments and _SECOND_SESSION not in arguments and processes.is_running(int(entry)):
            found.append((int(entry), arguments.replace(b"\0", b" ").decode("utf-8", "replace")))
    return found


def _uid_of(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


class TerminationCase(LabCase):
    """Runs commands in the accounts of a server, stops them, and holds the result against what is left."""

    def setUp(self):
        super().setUp()
        self._named = set()

    def host(self, server):
        """Gives every account of `server` its name in the inventory; returns the server."""
        self.sshx.trust(server.known_hosts_line())
        for account in server.accounts:
            if account.name in self._named:
                self.sshx.ok("host", "remove", account.name)
            self._named.add(account.name)
            self.sshx.add_host(account.name, server, identity=self.lab.key(), user=account.name)
        return server

    def server(self, *accounts, **options):
        """A server that is alone with its accounts: by default one of each kind."""
        default = tuple(Account(name, kind=kind) for _, name, kind in login_kinds())
        options.setdefault("prefix", alone())
        return self.host(self.lab.server(accounts=accounts or default, **options))

    def folder(self):
        """A folder that every account can reach."""
        path = self.lab.new_directory("w")
        os.chmod(path, 0o755)
        os.chmod(self.lab.directory, 0o711)
        return path

    def interrupted(self, server, name, command, trigger, options=(), before_stop=None, **start):
        """Starts the command, stops it by `trigger` once it runs, and returns (document, what was left, work).

        `trigger`: one of LIMITS, or a signal's number; `before_stop(work)` is called just before the signal is sent.
        Everything that holds of every stopped command is checked here.
        """
        is_limit = trigger in LIMITS
        if is_limit:
            # The command's own limit begins when it was sent; the others must leave time for the login.
            options = (f"--{trigger}", "2s" if trigger == "timeout" else "4s", *options)
        work = Work(self, server, name, command, ("--json", *options), **start)
        self.addCleanup(work.clear)
        if not is_limit:
            work.begun()
            if before_stop is not None:
                before_stop(work)
            work.running.signal(trigger)
        done = work.running.wait()
        left = work.left()
        self.assertEqual(done.code, 255, done)
        document = self.sshx.document(done, "sshx.result.v1")
        self.assert_stopped(document, *(("timeout", LIMITS[trigger]) if is_limit else ("cancelled", "signal")))
        self.assert_honest(document, left)
        self.assert_kept(document, work.token)
        return document, left, work

    def ends(self, states, server, name, command, trigger, options=(), **start):
        """As `interrupted`, until the remote state is one of `states`; each attempt must be honest."""
        for _ in range(_ATTEMPTS):
            document, left, work = self.interrupted(server, name, command, trigger, options, **start)
            if document["remote_state"] in states:
                return document, left, work
            work.clear()
        self.fail(f"{command!r} as {name}: {document['remote_state']}, not one of {states}: {document['warnings']}")

    @staticmethod
    def unique_number():
        """A number of seconds that no other process has in its arguments."""
        return "7" + str(uuid.uuid4().int)[:8]

    @staticmethod
    def processes_with(word):
        return [pid for pid, arguments in processes_with_argument(word) if arguments.startswith("sleep ")]

    def kill_with_argument(self, word):
        processes.kill_all(self.processes_with(word))

    def assert_exists(self, path):
        processes.eventually(lambda: os.path.exists(path), f"{path} is there", timeout=5)

    def assert_stopped(self, document, kind, code):
        self.assert_fields(
            document,
            success=False,
            status="failed",
            completion="partial",
            executed=True,
            change_state="unknown",
            exit_code=-1,
            error__kind=kind,
            error__code=code,
            audit_status="written",
        )

    def assert_honest(self, document, left):
        """The state is what was seen, and a state that is not known comes with its reason."""
        state, warnings = document["remote_state"], " ".join(document["warnings"])
        if state in ("terminated", "exited"):
            self.assertEqual(left, [], f"the result says {state}")
        elif state == "running":
            self.assertNotEqual(left, [], "the result says running")
            self.assert_mentions(warnings, "still runs")
        else:
            self.assertEqual(state, "unknown")
            self.assert_mentions(warnings, "may still run:")

    def assert_kept(self, document, request_id):
        """The evidence says the same as the document."""
        (event,) = self.sshx.json("audit", "query", "--request-id", request_id, code=0)["events"]
        self.assert_fields(
            event,
            execution_id=document["execution_id"],
            outcome="failed",
            error_kind=document["error_kind"],
            remote_state=document["remote_state"],
        )
        self.assertIsNotNone(event["finished_at"])


def run_until_reader_goes(sshx, arguments, until, then=lambda: None):
    """Runs sshx with a reader of its stdout that goes away once `until` (bytes) has come; calls `then` after that."""
    read_end, write_end = os.pipe()
    argv = [sshx.binary, *map(str, arguments)]
    process = processes.start(
        argv, stdin=subprocess.DEVNULL, stdout=write_end, stderr=subprocess.PIPE, env=sshx.environment,
        cwd=sshx.directory,
    )  # fmt: skip
    os.close(write_end)
    seen = b""
    try:
        while until not in seen and (chunk := os.read(read_end, 4096)):
            seen += chunk
    finally:
        os.close(read_end)
    then()
    error = process.stderr.read()
    process.stderr.close()
    return Completed(argv, process.wait(), seen, error)
