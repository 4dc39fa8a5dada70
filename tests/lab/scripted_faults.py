"""What a scripted server can do wrong at a `Moment`, by the names that docs/fault-matrix.md uses."""

import random
import threading

from tests.lab.scripted_server import (
    CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_EOF, CHANNEL_EXTENDED_DATA, CHANNEL_FAILURE, CHANNEL_OPEN,
    CHANNEL_OPEN_CONFIRMATION, CHANNEL_OPEN_FAILURE, CHANNEL_REQUEST, CHANNEL_SUCCESS, CHANNEL_WINDOW_ADJUST, DEBUG,
    DISCONNECT, GLOBAL_REQUEST, IGNORE, REQUEST_FAILURE, REQUEST_SUCCESS, UNIMPLEMENTED, USERAUTH_BANNER,
    USERAUTH_FAILURE, encode,
)  # fmt: skip

FAREWELL = "closed for maintenance"
_CLIENTS_CHANNEL = 0  # The number that the client's library gives its first channel.
_NO_CHANNEL = 4711
_FLOOD = 300
_UNKNOWN_MESSAGE = 191
_BAD_KEY_EXCHANGE = 3
_BY_APPLICATION = 11
_PROHIBITED = 1
_MAX_UINT32 = 0xFFFFFFFF
_PACKET_OF_SSHX = 32768
_LATE_SECONDS = 2.7


def silence(moment):
    moment.fall_silent()


def forget(moment):
    moment.forget()


def close(moment):
    moment.close()


def half_close(moment):
    moment.half_close()


def reset(moment):
    moment.reset()


def garbage(moment):
    """Random bytes instead of a packet, ended by the server's going away, as a broken middlebox does."""
    moment.write(b"\x00\x00\x00\x30" + random.Random(1).randbytes(200))
    moment.half_close()


def huge_length(moment):
    """A packet that says it has 2 GiB."""
    moment.write(b"\x7f\xff\xff\xff" + bytes(60))


def disconnect(moment):
    moment.send(DISCONNECT, _BY_APPLICATION, FAREWELL, "")
    moment.half_close()


def crawl(moment):
    moment.crawl()
    moment.answer()


def flood(moment):
    """Everything that a server may say at any time, and much of it."""
    for number in range(_FLOOD):
        moment.send(IGNORE, bytes(number % 300))
        moment.send(DEBUG, True, "debugging \x1b]0;evil\x07", "")
        if moment.phase not in ("negotiation", "key exchange"):
            moment.send(GLOBAL_REQUEST, "flood@example.com", False)
    moment.answer()


def endless_flood(moment):
    """Says something all the time, but never what is waited for."""
    moment.forget()
    while moment.alive():
        moment.send(IGNORE, bytes(100))


def lines_before_the_banner(moment):
    """RFC 4253 §4.2 lets a server say other lines first."""
    moment.write(b"welcome \x1b]0;evil\x07 to this place\r\n" * 50)
    moment.answer()


def endless_lines(moment):
    moment.write(b"wait a moment, please\r\n" * 20000)


def another_protocol(moment):
    moment.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    moment.half_close()


def refuse_algorithms(moment):
    """A KEXINIT in which no list has anything that the client knows."""
    lists = ("nothing@example.com",) * 8 + ("", "")
    head = moment.message[:17]
    moment.send_raw(head + encode(0, *lists, False, 0)[1:])


def refuse_key_exchange(moment):
    moment.send(DISCONNECT, _BAD_KEY_EXCHANGE, FAREWELL, "")
    moment.half_close()


def refuse_authentication(moment):
    moment.send(USERAUTH_FAILURE, "publickey", False)
    moment.forget()


def partial_success(moment):
    moment.send(USERAUTH_FAILURE, "keyboard-interactive", True)
    moment.forget()


def refuse_channel(moment):
    moment.send(CHANNEL_OPEN_FAILURE, _CLIENTS_CHANNEL, _PROHIBITED, "no sessions today", "")


def refuse_exec(moment):
    moment.send(CHANNEL_FAILURE, _CLIENTS_CHANNEL)
    moment.forget()


def close_channel(moment):
    """Ends the channel without the message that should come first."""
    moment.forget()
    moment.send(CHANNEL_CLOSE, _CLIENTS_CHANNEL)


def repeat(moment):
    moment.answer()
    moment.answer()


def authentication_banner(moment):
    moment.send(USERAUTH_BANNER, "\x1b]0;evil\x07be good\r\n", "")
    moment.answer()


def global_request(moment):
    """One that nobody knows, and that wants a reply."""
    moment.send(GLOBAL_REQUEST, "unheard-of@example.com", True)
    moment.answer()


def channel_request(moment):
    """One that nobody knows, and that wants a reply."""
    moment.send(CHANNEL_REQUEST, _CLIENTS_CHANNEL, "unheard-of@example.com", True)
    moment.answer()


def unknown_message(moment):
    moment.send(_UNKNOWN_MESSAGE, "what is this")
    moment.answer()


def unimplemented(moment):
    moment.send(UNIMPLEMENTED, 1)
    moment.answer()


def open_a_channel(moment):
    """A server may not open sessions to a client."""
    moment.send(CHANNEL_OPEN, "session", 5, 1 << 20, 32768)
    moment.answer()


def replies_to_nothing(moment):
    for kind in (REQUEST_SUCCESS, REQUEST_FAILURE):
        moment.send(kind)
    moment.send(CHANNEL_SUCCESS, _CLIENTS_CHANNEL)
    moment.send(CHANNEL_FAILURE, _CLIENTS_CHANNEL)
    moment.answer()


def another_channel(moment):
    """Messages for a channel that was never opened."""
    moment.send(CHANNEL_DATA, _NO_CHANNEL, b"not for you\n")
    moment.send(CHANNEL_REQUEST, _NO_CHANNEL, "exit-status", False, 9)
    moment.send(CHANNEL_EOF, _NO_CHANNEL)
    moment.send(CHANNEL_CLOSE, _NO_CHANNEL)
    moment.answer()


def unknown_extended_data(moment):
    moment.send(CHANNEL_EXTENDED_DATA, _CLIENTS_CHANNEL, 7, b"neither stdout nor stderr\n")
    moment.answer()


def empty_packets(moment):
    for _ in range(20):
        moment.send(CHANNEL_DATA, _CLIENTS_CHANNEL, b"")
        moment.send(CHANNEL_EXTENDED_DATA, _CLIENTS_CHANNEL, 1, b"")
    moment.answer()


def too_wide_a_window(moment):
    """RFC 4254 §5.2: a window may not grow beyond 2^32 - 1."""
    moment.send(CHANNEL_WINDOW_ADJUST, _CLIENTS_CHANNEL, _MAX_UINT32)
    moment.send(CHANNEL_WINDOW_ADJUST, _CLIENTS_CHANNEL, _MAX_UINT32)
    moment.answer()


def beyond_the_packet_size(moment):
    """One packet of more than the client has allowed; blanks, because the matrix compares words."""
    moment.send(CHANNEL_DATA, _CLIENTS_CHANNEL, b" " * (_PACKET_OF_SSHX + 1000))
    moment.answer()


def data_after_end(moment):
    """Data after EOF: the server has taken its EOF back."""
    moment.send(CHANNEL_EOF, _CLIENTS_CHANNEL)
    moment.answer()


def new_keys(moment):
    """A key exchange just here; the right message goes out under the new keys."""

    def exchange():
        moment.exchange_keys()
        moment.answer()

    if moment.phase == "exec request":
        # This is the thread that would have to read the client's half.
        threading.Thread(target=exchange, daemon=True).start()
    else:
        exchange()


def late_reply(moment):
    """Answers after the command's timeout (docs/fault-matrix.md), and says nothing about how it ends."""
    moment.forget("first output", "output", "exit", "close")
    threading.Timer(_LATE_SECONDS, moment.answer).start()


def _status(number, wants_reply=False):
    return encode(CHANNEL_REQUEST, _CLIENTS_CHANNEL, "exit-status", wants_reply, number)


def _signal(name):
    return encode(CHANNEL_REQUEST, _CLIENTS_CHANNEL, "exit-signal", False, name, False, "", "")


def status_3_then_0(moment):
    """The client has seen the first one when the second one comes."""
    moment.send_raw(_status(3))
    for _ in range(3):
        moment.ask()
    moment.answer()


def status_0_then_3(moment):
    moment.answer()
    moment.send_raw(_status(3))


def status_then_signal(moment):
    moment.answer()
    moment.send_raw(_signal("TERM"))


def signal_then_status(moment):
    moment.send_raw(_signal("TERM"))
    moment.answer()


def status_that_wants_a_reply(moment):
    moment.send_raw(_status(0, wants_reply=True))


def status_without_a_number(moment):
    moment.send_raw(encode(CHANNEL_REQUEST, _CLIENTS_CHANNEL, "exit-status", False))


def close_first(moment):
    """CLOSE, and then EOF."""
    moment.send(CHANNEL_CLOSE, _CLIENTS_CHANNEL)
    moment.answer()


def data_after_close(moment):
    """Nothing may follow a CLOSE; whether such blanks are kept does not matter."""
    moment.forget()
    moment.send(CHANNEL_CLOSE, _CLIENTS_CHANNEL)
    moment.send(CHANNEL_DATA, _CLIENTS_CHANNEL, b" \n")


def early_exit(moment):
    """The whole end of the command, without an answer to the request that began it."""
    moment.send(CHANNEL_DATA, _CLIENTS_CHANNEL, b"begun\n")
    moment.send_raw(_status(0))
    moment.send(CHANNEL_EOF, _CLIENTS_CHANNEL)
    moment.send(CHANNEL_CLOSE, _CLIENTS_CHANNEL)
    moment.forget()


def early_data(moment):
    moment.forget("first output")
    moment.send(CHANNEL_DATA, _CLIENTS_CHANNEL, b"begun\n")
    moment.answer()


def no_window(moment):
    """A channel into which the client may not send a byte."""
    moment.send(CHANNEL_OPEN_CONFIRMATION, _CLIENTS_CHANNEL, 0, 0, 32768)


FAULTS = {
    "silence": silence,
    "forget": forget,
    "close": close,
    "half-close": half_close,
    "reset": reset,
    "garbage": garbage,
    "huge length": huge_length,
    "disconnect": disconnect,
    "byte by byte": crawl,
    "flood": flood,
    "endless flood": endless_flood,
    "lines before it": lines_before_the_banner,
    "endless lines": endless_lines,
    "another protocol": another_protocol,
    "refuse (algorithms)": refuse_algorithms,
    "refuse (disconnect)": refuse_key_exchange,
    "refuse": {
        "authentication": refuse_authentication,
        "channel open": refuse_channel,
        "exec request": refuse_exec,
    },
    "partial success": partial_success,
    "close the channel": close_channel,
    "twice": repeat,
    "banner with escapes": authentication_banner,
    "unknown global request": global_request,
    "unknown channel request": channel_request,
    "unknown message": unknown_message,
    "unimplemented": unimplemented,
    "open a channel": open_a_channel,
    "replies to nothing": replies_to_nothing,
    "another channel": another_channel,
    "extended data of type 7": unknown_extended_data,
    "empty packets": empty_packets,
    "window too wide": too_wide_a_window,
    "data beyond the packet size": beyond_the_packet_size,
    "data after EOF": data_after_end,
    "status 3, then 0": status_3_then_0,
    "status 0, then 3": status_0_then_3,
    "status, then signal": status_then_signal,
    "signal, then status": signal_then_status,
    "status that wants a reply": status_that_wants_a_reply,
    "status without a number": status_without_a_number,
    "CLOSE before EOF": close_first,
    "data after CLOSE": data_after_close,
    "end without a reply": early_exit,
    "data before the reply": early_data,
    "no window": no_window,
    "new keys": new_keys,
    "late reply": late_reply,
}


def fault_named(name, phase):
    """The fault of a row; one name may mean another message in each phase."""
    fault = FAULTS[name]
    return fault[phase] if isinstance(fault, dict) else fault
