"""Runs the built `sshx` in an isolated home and checks every document that it prints."""

import glob
import os
import re
import signal
import subprocess
import threading

from tests.lab import processes

_SANITIZER_REPORT = re.compile(rb"(ERROR|WARNING|SUMMARY): \w*Sanitizer|: runtime error: ")
_PRESENTATION = ("--json", "--jsonl")


def binary_path():
    """The binary under test: SSHX_BINARY, else the newest preset found in build/."""
    chosen = os.environ.get("SSHX_BINARY")
    if chosen:
        return os.path.abspath(chosen)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for preset in ("release", "dev", "asan"):
        path = os.path.join(root, "build", preset, "sshx")
        if os.access(path, os.X_OK):
            return path
    raise AssertionError("no sshx to test: build it, or set SSHX_BINARY")


def with_option(arguments, *options):
    """`arguments` with `options` where they count: before `--`, or at the end when there is none."""
    words = [str(word) for word in arguments]
    at = words.index("--") if "--" in words else len(words)
    return words[:at] + list(options) + words[at:]


class Completed:
    """One finished run: `code` (negative for a signal), `out` and `err` (bytes)."""

    def __init__(self, argv, code, out, err):
        self.argv = argv
        self.code = code
        self.out = out
        self.err = err

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def error_text(self):
        return self.err.decode("utf-8", "replace")

    def __str__(self):
        return (
            f"$ {' '.join(self.argv)}\nexit {self.code}\n--- stdout ({len(self.out)} bytes)\n"
            f"{_shortened(self.text)}\n--- stderr ({len(self.err)} bytes)\n{_shortened(self.error_text)}"
        )


class Running:
    """A started run whose streams are read in the background, so that it never blocks on a full pipe."""

    def __init__(self, process, argv, check):
        self.process = process
        self.argv = argv
        self._check = check
        self._streams = {"out": bytearray(), "err": bytearray()}
        self._readers = [self._reader("out", process.stdout), self._reader("err", process.stderr)]

    @property
    def pid(self):
        return self.process.pid

    def so_far(self, stream="out"):
        """The bytes that have come on `out` or `err`."""
        return bytes(self._streams[stream])

    def has_ended(self):
        """Whether it has ended and everything that it wrote was read."""
        return not processes.is_running(self.process.pid) and not any(reader.is_alive() for reader in self._readers)

    def wait_for(self, text, stream="out"):
        """Waits until `text` (bytes) has come on the stream."""
        processes.eventually(lambda: text in self.so_far(stream), f"{text!r} on std{stream} of {self.argv}")

    def signal(self, number):
        os.kill(self.process.pid, number)

    def write(self, content):
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def close_stdin(self):
        self.process.stdin.close()

    def kill9(self):
        """Ends it as `kill -9` does and reaps it."""
        self.signal(signal.SIGKILL)
        return self.wait()

    def wait(self, timeout=60.0):
        """Waits for the end and returns Completed; kills it and fails after `timeout` seconds."""
        ended = processes.ends_within(self.process, timeout)
        if not ended:
            processes.stop(self.process)
        self.process.wait()
        for reader in self._readers:
            reader.join(timeout=10)
        done = Completed(self.argv, self.process.returncode, self.so_far("out"), self.so_far("err"))
        if not ended:
            raise AssertionError(f"did not end within {timeout:.0f} s\n{done}")
        self._check(done)
        return done

    def _reader(self, name, pipe):
        def read():
            with pipe:
                while chunk := os.read(pipe.fileno(), 1 << 16):
                    self._streams[name] += chunk

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread


class Unread:
    """A started run whose stdout nobody reads before `read()` is called; `go_away()` makes it a pipe without a reader."""

    def __init__(self, argv, environment, cwd, filled=0):
        reader, writer = os.pipe()
        self._filled = filled
        os.write(writer, b"p" * filled)
        self.process = processes.start(
            argv, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, env=environment, cwd=cwd
        )
        os.close(writer)
        self._pipe = os.fdopen(reader, "rb")

    @property
    def pid(self):
        return self.process.pid

    def peak_bytes(self):
        """The most memory that it has held so far."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            (line,) = [line for line in file if line.startswith("VmHWM:")]
        return int(line.split()[1]) << 10

    def read(self, timeout=60.0):
        """Reads all; (exit code, stdout)."""
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        out = self._pipe.read()[self._filled :]
        self._pipe.close()
        return self.process.wait(timeout), out

    def go_away(self):
        """Closes the pipe."""
        self._pipe.close()

    def end(self, timeout=60.0):
        """Waits for its end without reading; (exit code, stderr)."""
        errors = self.process.stderr.read()
        self.process.stderr.close()
        code = self.process.wait(timeout)
        self._pipe.close()
        return code, errors

    def stop(self):
        self._pipe.close()
        processes.stop(self.process)


class Sshx:
    """The binary with a home, an SSHX_HOME and XDG folders of its own."""

    def __init__(self, directory, documents):
        self.binary = binary_path()
        self.documents = documents
        self.directory = directory
        self.home = os.path.join(directory, "home")
        self.state = os.path.join(directory, "sshx")
        self.known_hosts_path = os.path.join(self.home, ".ssh", "known_hosts")
        self.history = []
        os.makedirs(os.path.dirname(self.known_hosts_path), mode=0o700)
        os.makedirs(self.state, mode=0o700)
        self._sanitizer_log = os.path.join(directory, "sanitizer")
        self.environment = self._environment()

    @property
    def hosts_path(self):
        return os.path.join(self.state, "hosts.json")

    @property
    def audit_path(self):
        return os.path.join(self.state, "audit.db")

    def trust(self, *lines):
        """Replaces the user's known_hosts by these lines."""
        with open(self.known_hosts_path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def known_hosts(self):
        with open(self.known_hosts_path, encoding="utf-8") as file:
            return file.read()

    def add_host(self, name, server, *options, identity=None, user=None):
        """`sshx host add` for a server of the lab, as its first account unless another `user` is named."""
        words = ["host", "add", name, "--address", server.address, "--port", server.port]
        words += ["--user", user or server.user]
        if identity is not None:
            words += ["--identity", getattr(identity, "path", identity)]
        self.ok(*words, *options)

    def start(self, *arguments, stdin=None, environment=None, prefix=(), cwd=None, pass_fds=()):
        """Starts it. `stdin`: None = /dev/null, "pipe" = a pipe that stays open, or a file object.

        `environment` adds variables (None as value removes one); `prefix` is a program that runs it (strace …);
        `pass_fds` are descriptors that it inherits.
        """
        argv = [*prefix, self.binary, *(str(word) for word in arguments)]
        process = processes.start(
            argv,
            stdin={None: subprocess.DEVNULL, "pipe": subprocess.PIPE}.get(stdin, stdin),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._merged(environment),
            cwd=cwd or self.directory,
            pass_fds=pass_fds,
        )
        return Running(process, argv, self.record)

    def start_unread(self, *arguments, filled=0):
        """Starts it with a stdout that nobody reads and that holds `filled` bytes already; to be stopped by the caller."""
        argv = [self.binary, *(str(word) for word in arguments)]
        return Unread(argv, self.environment, self.directory, filled)

    def run(self, *arguments, stdin=None, timeout=60.0, **options):
        """Runs it to the end. `stdin` may also be bytes, which are written and closed."""
        if isinstance(stdin, bytes):
            running = self.start(*arguments, stdin="pipe", **options)
            _feed(running.process, stdin)
            return running.wait(timeout)
        return self.start(*arguments, stdin=stdin, **options).wait(timeout)

    def ok(self, *arguments, **options):
        """Runs it and expects exit 0."""
        return self.expect(0, *arguments, **options)

    def expect(self, code, *arguments, **options):
        """Runs it and expects exit `code`."""
        done = self.run(*arguments, **options)
        if done.code != code:
            raise AssertionError(f"expected exit {code}\n{done}")
        return done

    def json(self, *arguments, code=None, version=None, **options):
        """Runs it with --json; returns its one document, validated. `code`, `version`: what is expected, if given."""
        words = list(arguments) if _has_presentation(arguments) else with_option(arguments, "--json")
        done = self.run(*words, **options)
        if code is not None and done.code != code:
            raise AssertionError(f"expected exit {code}\n{done}")
        return self.document(done, version)

    def stream(self, *arguments, code=None, **options):
        """Runs it with --jsonl; returns its events, validated. `code`: the exit code that is expected, if given."""
        done = self.run(*with_option(arguments, "--jsonl"), **options)
        if code is not None and done.code != code:
            raise AssertionError(f"expected exit {code}\n{done}")
        return self.events(done)

    def events(self, done, is_whole=True):
        """The events that a finished run printed, validated with the laws of a stream."""
        try:
            events = self.documents.parse_stream(done.out, is_whole)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{done}") from error
        if is_whole and events[-1]["exit_code"] != done.code:
            raise AssertionError(f"the stream ends with exit code {events[-1]['exit_code']}\n{done}")
        return events

    def document(self, done, version=None):
        """The one document that a finished run printed, validated."""
        try:
            document = self.documents.parse_one(done.out)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{done}") from error
        if version is not None and document["schema_version"] != version:
            raise AssertionError(f"expected {version}\n{done}")
        return document

    def record(self, done):
        """Keeps a finished run for the report of a failure; fails when a sanitizer had something to say."""
        self.history.append(done)
        logs = glob.glob(self._sanitizer_log + "*")
        if logs:
            with open(logs[0], encoding="utf-8", errors="replace") as file:
                raise AssertionError(f"sanitizer report:\n{file.read()[:8000]}\n{done}")
        if _SANITIZER_REPORT.search(done.err):
            raise AssertionError(f"sanitizer report on stderr\n{done}")

    def _environment(self):
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": self.home,
            "SSHX_HOME": self.state,
            "XDG_CONFIG_HOME": os.path.join(self.directory, "xdg-config"),
            "XDG_STATE_HOME": os.path.join(self.directory, "xdg-state"),
            "XDG_DATA_HOME": os.path.join(self.directory, "xdg-data"),
            "XDG_CACHE_HOME": os.path.join(self.directory, "xdg-cache"),
            "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:exitcode=99:log_path={self._sanitizer_log}",
            "UBSAN_OPTIONS": f"{os.environ.get('UBSAN_OPTIONS', '')}:print_stacktrace=1:log_path={self._sanitizer_log}",
            "TSAN_OPTIONS": f"{os.environ.get('TSAN_OPTIONS', '')}:exitcode=99:log_path={self._sanitizer_log}",
        }

    def _merged(self, changes):
        merged = {**self.environment, **(changes or {})}
        return {name: value for name, value in merged.items() if value is not None}


def _has_presentation(arguments):
    words = [str(word) for word in arguments]
    before = words[: words.index("--")] if "--" in words else words
    return any(word in _PRESENTATION for word in before)


def _feed(process, content):
    def write():
        try:
            process.stdin.write(content)
            process.stdin.close()
        except BrokenPipeError:
            return  # The program may end without reading its input; that is for the test to judge.

    threading.Thread(target=write, daemon=True).start()


def _shortened(text, limit=3000):
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n… {len(text) - limit} characters …\n{text[-limit // 2 :]}"
