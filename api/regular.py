"""Reads a file that a user names: a regular one, and no more of it than is wanted.

A device has no end, and a FIFO may have no writer: opening either must neither wait nor fill the memory.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_PIECE = 1 << 20


class NotRegularError(ValueError):
    """What is there is no regular file, or is too large; the message says which."""


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The content of the regular file at ``path``, of at most ``max_bytes``. Raises `NotRegularError`, `OSError`."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(21, os.strerror(21), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise NotRegularError("is a device, a pipe or a socket; only a regular file is read")
        pieces: list[bytes] = []
        left = max_bytes + 1
        while left > 0 and (piece := file.read(min(left, max(found.st_size + 1, _PIECE)))):
            pieces.append(piece)
            left -= len(piece)
    if left <= 0:
        raise NotRegularError(f"is larger than {max_bytes} bytes")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
