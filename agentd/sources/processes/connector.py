"""The kernel's proc connector: a netlink message for every fork, exec and exit, however short the
process lives.

It wants CAP_NET_ADMIN in the machine's first namespaces; in a container the kernel says nothing at
all, so it counts as open only once it has answered. The layout of its messages: linux/netlink.h,
linux/connector.h, linux/cn_proc.h.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
from collections.abc import Iterator
from typing import Literal, NamedTuple

ANSWER_S = 0.5
"""How long the kernel may take to answer that it will report, in seconds."""

_NETLINK_CONNECTOR, _CN_IDX_PROC, _CN_VAL_PROC = 11, 1, 1
_LISTEN, _IGNORE = 1, 2
_WHOLE = 3  # NLMSG_DONE: the message has no further part
_HEAD = struct.Struct("=IHHII")  # length, type, flags, number, sender
_CONNECTOR = struct.Struct("=IIIIHH")  # idx, val, number, ack, length, flags
_EVENT = struct.Struct("=IIQ")  # what, cpu, time
_IDS = struct.Struct("=IIII")
_NONE, _FORK, _EXEC, _EXIT = 0x0, 0x1, 0x2, 0x80000000
_BODY = _HEAD.size + _CONNECTOR.size + _EVENT.size
_BUFFER = 1 << 20


class ProcessMessage(NamedTuple):
    """One message about a process as a whole; ``parent`` only of a fork."""

    what: Literal["forked", "ran", "ended", "overrun"]
    pid: int = 0
    parent: int = 0


class Connector:
    """An open connector; ``fileno`` can be waited on."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.fileno = link.fileno()

    @classmethod
    def open(cls, answer_s: float = ANSWER_S) -> Connector | None:
        """Open a connector; None where the kernel reports nothing to this process, or does not say
        within ``answer_s`` seconds that it will."""
        try:
            link = socket.socket(
                socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _NETLINK_CONNECTOR
            )
        except OSError:
            return None
        try:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            link.bind((0, _CN_IDX_PROC))
            link.send(_command(_LISTEN))
            poll = select.poll()  # select knows no descriptor above 1023
            poll.register(link, select.POLLIN)
            if poll.poll(answer_s * 1000) and _is_answer(link.recv(4096)):
                link.setblocking(False)
                return cls(link)
        except OSError:
            pass
        link.close()
        return None

    def read(self) -> Iterator[ProcessMessage]:
        """Yield all that waits, in the kernel's order; ``overrun``: messages were lost."""
        while True:
            try:
                message = self._link.recv(4096)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                yield ProcessMessage("overrun")
                continue
            decoded = decode(message)
            if decoded is not None:
                yield decoded

    def close(self) -> None:
        """Tell the kernel to report no more, and close the socket."""
        try:
            self._link.send(_command(_IGNORE))
        finally:
            self._link.close()


def decode(message: bytes) -> ProcessMessage | None:
    """Decode one message; None where it is about a thread, or of another kind."""
    if len(message) < _BODY + _IDS.size:
        return None
    what, _, _ = _EVENT.unpack_from(message, _HEAD.size + _CONNECTOR.size)
    first, second, third, fourth = _IDS.unpack_from(message, _BODY)
    if what == _FORK and third == fourth:  # parent's thread and process, child's thread and process
        return ProcessMessage("forked", fourth, second)
    if what == _EXEC:
        return ProcessMessage("ran", second)
    if what == _EXIT and first == second:
        return ProcessMessage("ended", first)
    return None


def _command(what: int) -> bytes:
    body = _CONNECTOR.pack(_CN_IDX_PROC, _CN_VAL_PROC, 0, 0, 4, 0) + struct.pack("=I", what)
    return _HEAD.pack(_HEAD.size + len(body), _WHOLE, 0, 0, 0) + body


def _is_answer(message: bytes) -> bool:
    """Return whether this is the answer to _LISTEN, with the error number 0, or an event before
    it."""
    what, _, _ = _EVENT.unpack_from(message, _HEAD.size + _CONNECTOR.size)
    (error,) = struct.unpack_from("=I", message, _BODY)
    return bool(what != _NONE or error == 0)
