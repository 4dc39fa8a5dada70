"""The patched libssh2 itself, called from Python: for what a patch changes below anything that `sshx` shows.

`SSHX_LIBSSH2` names it as a shared object, which the build makes from the same archive that `sshx` is linked with.
A `Session` counts the memory that it holds, and what it sends and receives can be changed on the way.
"""

import ctypes
import os
import select
import socket

EAGAIN = -37
CHANNEL_CLOSED = -26
REQUEST_DENIED = -22

# A peer that is silent for so long will stay so: the test is to fail, not to hang.
_HANG_SECONDS = 60

_KEX, _HOST_KEY, _CRYPT_OUT, _CRYPT_IN, _MAC_OUT, _MAC_IN = range(6)

_ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_REALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def load():
    """The library; its absence is a failure, because what is not tested here is tested nowhere."""
    library = ctypes.CDLL(os.environ["SSHX_LIBSSH2"])
    library.libssh2_session_init_ex.restype = ctypes.c_void_p
    library.libssh2_channel_open_ex.restype = ctypes.c_void_p
    for name in ("read_ex", "write_ex"):
        getattr(library, f"libssh2_channel_{name}").restype = ctypes.c_ssize_t
    return library


class Failure(Exception):
    """A libssh2 call failed; `code` is its value."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class Memory:
    """An allocator that knows what has not been freed."""

    def __init__(self):
        self._c = ctypes.CDLL(None)
        self._c.malloc.restype = self._c.realloc.restype = ctypes.c_void_p
        self.live = set()
        self.callbacks = (_ALLOC(self._allocate), _FREE(self._release), _REALLOC(self._reallocate))

    def _allocate(self, size, _):
        address = self._c.malloc(ctypes.c_size_t(size))
        self.live.add(address)
        return address

    def _reallocate(self, old, size, _):
        self.live.discard(old)
        address = self._c.realloc(ctypes.c_void_p(old), ctypes.c_size_t(size))
        self.live.add(address)
        return address

    def _release(self, address, _):
        self.live.discard(address)
        self._c.free(ctypes.c_void_p(address))


class Session:
    """A non-blocking session over a connected socket. Its methods wait by repeating the call, as the library wants."""

    def __init__(self, connection, cipher=None, mac=None):
        self.connection = connection
        self.memory = Memory()
        self._library = load()
        callbacks = [ctypes.cast(callback, ctypes.c_void_p) for callback in self.memory.callbacks]
        self._session = ctypes.c_void_p(self._library.libssh2_session_init_ex(*callbacks, None))
        self._library.libssh2_session_set_blocking(self._session, 0)
        for methods, value in (((_CRYPT_OUT, _CRYPT_IN), cipher), ((_MAC_OUT, _MAC_IN), mac)):
            for method in methods if value else ():
                self._check(self._library.libssh2_session_method_pref(self._session, method, value.encode()))
        self._repeat(self._library.libssh2_session_handshake, self._session, connection.fileno())

    def log_in(self, user, key):
        self._repeat(
            self._library.libssh2_userauth_publickey_fromfile_ex, self._session, user.encode(), len(user),
            f"{key.path}.pub".encode(), key.path.encode(), None,
        )  # fmt: skip

    def execute(self, command):
        """A channel on which the command was accepted."""
        while True:
            channel = self._library.libssh2_channel_open_ex(
                self._session, b"session", 7, ctypes.c_uint(4 << 20), ctypes.c_uint(32768), None, 0
            )
            if channel:
                break
            self._wait_after(self._library.libssh2_session_last_errno(self._session))
        channel = ctypes.c_void_p(channel)
        command = command.encode()
        self._repeat(self._library.libssh2_channel_process_startup, channel, b"exec", 4, command, len(command))
        return channel

    def signal(self, channel, name):
        self._repeat(self._library.libssh2_channel_signal_ex, channel, name.encode(), ctypes.c_size_t(len(name)))

    def read(self, channel, stream=0):
        """Some bytes; none when the stream has ended."""
        buffer = ctypes.create_string_buffer(1 << 16)
        size = self._repeat(self._library.libssh2_channel_read_ex, channel, stream, buffer, ctypes.c_size_t(len(buffer)))
        return buffer.raw[:size]

    def keep_alive(self):
        """Sends a global request that wants an answer."""
        self._library.libssh2_keepalive_config(self._session, 1, 2)
        left = ctypes.c_int()
        self._check(self._library.libssh2_keepalive_send(self._session, ctypes.byref(left)))

    def close(self):
        """Frees everything without waiting for the peer."""
        self.connection.shutdown(socket.SHUT_RDWR)
        while self._library.libssh2_session_free(self._session) == EAGAIN:
            pass
        self.connection.close()

    def _repeat(self, function, *arguments):
        while True:
            code = function(*arguments)
            if code >= 0:
                return code
            self._wait_after(code)

    def _wait_after(self, code):
        if code != EAGAIN:
            self._check(code)
        if not select.select([self.connection], [], [], _HANG_SECONDS)[0]:
            raise AssertionError("the peer says nothing more")

    def _check(self, code):
        if code < 0:
            text = ctypes.c_char_p()
            self._library.libssh2_session_last_error(self._session, ctypes.byref(text), None, 0)
            raise Failure(code, (text.value or b"").decode())
