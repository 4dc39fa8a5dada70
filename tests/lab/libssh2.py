"""The patched libssh2 itself, called from Python: for what a patch changes below anything that `sshx` shows.

`SSHX_LIBSSH2` names it as a shared object, which the build makes from the same archive that `sshx` is linked with.
A `Session` counts the memory that it holds and keeps what it sends in a queue, as `sshx` does.
"""

import ctypes
import errno
import os
import select
import socket

EAGAIN = -37
CHANNEL_CLOSED = -26
REQUEST_DENIED = -22

# A peer that is silent for so long will stay so: the test is to fail, not to hang.
_HANG_SECONDS = 60

_CIPHER_METHODS = (2, 3)
_MAC_METHODS = (4, 5)
_KEY_EXCHANGE_METHODS = (0,)
_SEND_CALLBACK, _RECEIVE_CALLBACK = 5, 6
_SIGN_AT_ONCE = 100

_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_REALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_TRANSFER = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
)


class Failure(Exception):
    """A libssh2 call failed; `code` is its value."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class Memory:
    """An allocator that knows what has not been freed: `live` has the addresses."""

    def __init__(self):
        self._c = ctypes.CDLL(None)
        self._c.malloc.restype = self._c.realloc.restype = ctypes.c_void_p
        self.live = set()
        self.callbacks = (_ALLOCATE(self._allocate), _RELEASE(self._release), _REALLOCATE(self._reallocate))

    def _allocate(self, size, _):
        address = self._c.malloc(ctypes.c_size_t(size))
        self.live.add(address)
        return address

    def _release(self, address, _):
        self.live.discard(address)
        self._c.free(ctypes.c_void_p(address))

    def _reallocate(self, old, size, _):
        self.live.discard(old)
        address = self._c.realloc(ctypes.c_void_p(old), ctypes.c_size_t(size))
        self.live.add(address)
        return address


class Wire:
    """The socket as the library sees it: it takes all that is sent, and may change what is received."""

    def __init__(self, connection):
        connection.setblocking(False)
        self.connection = connection
        self.flip_at = None  # How many bytes further on one bit of what is received is flipped; once.
        self._queue = bytearray()
        self.callbacks = ((_SEND_CALLBACK, _TRANSFER(self._send)), (_RECEIVE_CALLBACK, _TRANSFER(self._receive)))

    def wait(self):
        """Until something came; sends what is queued meanwhile."""
        while True:
            writers = [self.connection] if self._queue else []
            readable, writable, _ = select.select([self.connection], writers, [], _HANG_SECONDS)
            if not readable and not writable:
                raise AssertionError("the peer says nothing more")
            self._flush()
            if readable:
                return

    def _send(self, _socket, address, size, _flags, _abstract):
        self._queue += ctypes.string_at(address, size)
        try:
            self._flush()
        except OSError as error:
            return -error.errno
        return size

    def _flush(self):
        try:
            while self._queue:
                del self._queue[: self.connection.send(self._queue)]
        except BlockingIOError:
            return

    def _receive(self, _socket, address, size, _flags, _abstract):
        try:
            content = bytearray(self.connection.recv(size))
        except BlockingIOError:
            return -errno.EAGAIN
        except OSError as error:
            return -error.errno
        if self.flip_at is not None:
            if self.flip_at < len(content):
                content[self.flip_at] ^= 0x10
                self.flip_at = None
            else:
                self.flip_at -= len(content)
        ctypes.memmove(address, bytes(content), len(content))
        return len(content)


class Session:
    """A session over a connected socket, with its key exchange done. Its methods wait unless they say otherwise."""

    def __init__(self, connection, cipher=None, mac=None, key_exchange=None):
        self.memory = Memory()
        self.wire = Wire(connection)
        self._library = _load()
        callbacks = [ctypes.cast(callback, ctypes.c_void_p) for callback in self.memory.callbacks]
        self._session = ctypes.c_void_p(self._library.libssh2_session_init_ex(*callbacks, None))
        self._library.libssh2_session_set_blocking(self._session, 0)
        for number, callback in self.wire.callbacks:
            self._library.libssh2_session_callback_set2(self._session, number, callback)
        preferences = ((_CIPHER_METHODS, cipher), (_MAC_METHODS, mac), (_KEY_EXCHANGE_METHODS, key_exchange))
        for methods, name in preferences:
            for method in methods if name else ():
                self._check(self._library.libssh2_session_method_pref(self._session, method, name.encode()))
        self._repeat(self._library.libssh2_session_handshake, self._session, connection.fileno())

    def sign_at_once(self):
        """From here on, leaves out the question whether the server would take a key."""
        self._check(self._library.libssh2_session_flag(self._session, _SIGN_AT_ONCE, 1))

    def log_in(self, user, key):
        self._repeat(
            self._library.libssh2_userauth_publickey_fromfile_ex, self._session, user.encode(), len(user),
            key.public_path.encode(), key.path.encode(), None,
        )  # fmt: skip

    def execute(self, command):
        """A channel on which the command was accepted."""
        window, packet = ctypes.c_uint(4 << 20), ctypes.c_uint(32768)
        arguments = (self._session, b"session", 7, window, packet, None, 0)
        channel = self._made(self._library.libssh2_channel_open_ex, *arguments)
        command = command.encode()
        self._repeat(self._library.libssh2_channel_process_startup, channel, b"exec", 4, command, len(command))
        return channel

    def signal(self, channel, name):
        self._repeat(self._library.libssh2_channel_signal_ex, channel, name.encode(), ctypes.c_size_t(len(name)))

    def write(self, channel, content):
        """How much of `content` was sent, in one packet. Does not wait: 0 when the window is full."""
        code = self._library.libssh2_channel_write_ex(channel, 0, content, ctypes.c_size_t(len(content)))
        return 0 if code == EAGAIN else self._check(code)

    def end(self, channel):
        """Ends the channel's stdin."""
        self._repeat(self._library.libssh2_channel_send_eof, channel)

    def read(self, channel):
        """Some bytes of stdout; none when it has ended."""
        buffer = ctypes.create_string_buffer(1 << 16)
        size = self._repeat(self._library.libssh2_channel_read_ex, channel, 0, buffer, ctypes.c_size_t(len(buffer)))
        return buffer.raw[:size]

    def keep_alive(self):
        """Sends a global request that wants an answer. Does not wait for it."""
        # As a signed number it is below zero, so that the next one is always due.
        self._library.libssh2_keepalive_config(self._session, 1, ctypes.c_uint(0xFFFFFFF0))
        left = ctypes.c_int()
        self._check(self._library.libssh2_keepalive_send(self._session, ctypes.byref(left)))

    def listen(self, port):
        """Asks for connections to the server's `port` to be forwarded; the port that the server chose."""
        bound = ctypes.c_int()
        arguments = (self._session, b"127.0.0.1", port, ctypes.byref(bound), 1)
        self._made(self._library.libssh2_channel_forward_listen_ex, *arguments)
        return bound.value

    def close(self):
        """Frees everything without waiting for the peer; once."""
        if self._session is None:
            return
        self.wire.connection.shutdown(socket.SHUT_RDWR)
        while self._library.libssh2_session_free(self._session) == EAGAIN:
            pass
        self._session = None
        self.wire.connection.close()

    def _made(self, function, *arguments):
        """What a function that makes a thing has made."""
        while True:
            thing = function(*arguments)
            if thing:
                return ctypes.c_void_p(thing)
            self._wait_after(self._library.libssh2_session_last_errno(self._session))

    def _repeat(self, function, *arguments):
        while True:
            code = function(*arguments)
            if code >= 0:
                return code
            self._wait_after(code)

    def _wait_after(self, code):
        if code != EAGAIN:
            self._check(code)
        self.wire.wait()

    def _check(self, code):
        if code < 0:
            text = ctypes.c_char_p()
            self._library.libssh2_session_last_error(self._session, ctypes.byref(text), None, 0)
            raise Failure(code, (text.value or b"").decode())
        return code


def _load():
    library = ctypes.CDLL(os.environ["SSHX_LIBSSH2"])
    for name in ("session_init_ex", "session_callback_set2", "channel_open_ex", "channel_forward_listen_ex"):
        getattr(library, f"libssh2_{name}").restype = ctypes.c_void_p
    for name in ("read_ex", "write_ex"):
        getattr(library, f"libssh2_channel_{name}").restype = ctypes.c_ssize_t
    return library
