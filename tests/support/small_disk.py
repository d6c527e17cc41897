"""A disk of a few megabytes that can be filled: a tmpfs in a mount namespace of this process, gone
with it.

Programs started within see it at the same place. Needs root, as a container's test has.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

_NEWNS = 0x00020000
_PRIVATE = 0x00040000 | 0x00004000  # MS_PRIVATE | MS_REC
_DETACH = 2
_LIBC = ctypes.CDLL(None, use_errno=True)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a disk can be mounted by root alone")


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


class SmallDisk:
    """``with SmallDisk(folder, megabytes) as disk``: ``disk.fill()``, ``disk.free()``."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder, self._megabytes = folder, megabytes
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        self._where = Path.cwd()
        self._before = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY)
        _call("unshare", _NEWNS)
        _call("mount", b"none", b"/", None, _PRIVATE, None)
        size = f"size={self._megabytes}m,mode=755".encode()
        _call("mount", b"tmpfs", os.fsencode(self.folder), b"tmpfs", 0, size)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _call("umount2", os.fsencode(self.folder), _DETACH)
        _call("setns", self._before, _NEWNS)
        os.chdir(self._where)  # a namespace is entered at its root
        os.close(self._before)

    def fill(self, *, but: int = 0) -> None:
        """Take all that is left, but for so many bytes."""
        with (self.folder / "filler").open("ab", buffering=0) as filler:
            piece = 1 << 20
            while piece >= 512:
                try:
                    if filler.write(bytes(piece)) < piece:
                        piece //= 2
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    piece //= 2
            filler.truncate(max(0, filler.tell() - but))

    def free(self) -> None:
        """Give it back."""
        (self.folder / "filler").unlink()
