"""Reads a file that a user names: a regular one, and no more of it than is wanted.

A device has no end, and a FIFO may have no writer: opening either must neither wait nor fill the
memory.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 1 << 30
"""Bytes of a file, where nobody knows better."""
_PIECE = 1 << 20


class NotRegularError(OSError):
    """What is there is no regular file, or is too large; the message says which."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(errno.EINVAL, what, str(path))

    def __str__(self) -> str:
        return str(self.strerror)


def open_regular(path: Path) -> BinaryIO:
    """Open the regular file at ``path`` for reading, without waiting for a writer.

    Raises `NotRegularError`, `OSError`.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise NotRegularError(path, "is a device, a pipe or a socket; only a regular file is read")


def read_regular(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read the regular file at ``path``, of at most ``max_bytes``.

    Raises `NotRegularError`, `OSError`.
    """
    pieces: list[bytes] = []
    left = max_bytes + 1
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        while left > 0 and (piece := file.read(min(left, max(size + 1, _PIECE)))):
            pieces.append(piece)
            left -= len(piece)
    if left <= 0:
        raise NotRegularError(path, f"is larger than {max_bytes} bytes")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_regular_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Read the regular file at ``path``, of at most ``max_bytes`` of UTF-8.

    Raises `NotRegularError`, `OSError`; for other bytes, too, so that whoever handles a file that
    cannot be read handles all of them.
    """
    try:
        return read_regular(path, max_bytes).decode()
    except UnicodeDecodeError as error:
        raise NotRegularError(path, f"is no UTF-8 text: byte {error.start} is none of it") from None
