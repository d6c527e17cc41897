"""The folder in which fences are made, and the removal of those that dead processes left behind.

A process holds a lock on its folder for as long as it lives; the kernel drops it with the process,
however that ends. So a folder that can be locked belongs to nobody that lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import weakref
from pathlib import Path

PREFIX = "agentd-fences-"
"""How the folders' names begin, in the folder for temporary files."""
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FenceFolder:
    """An empty folder of our own, locked until `remove`, or until the object or the process
    ends."""

    def __init__(self) -> None:
        self.path, fd = _make_locked()
        self._finalizer = weakref.finalize(self, _remove_own, self.path, fd, os.getpid())

    def remove(self) -> None:
        """Remove the folder; a second call does nothing."""
        self._finalizer()


def remove_abandoned() -> None:
    """Remove the folders of this user whose processes are dead; what cannot be removed stays."""
    folders: list[Path] = []
    with contextlib.suppress(OSError):
        folders = list(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))
    for folder in folders:
        with contextlib.suppress(OSError):
            _remove_unlocked(folder)


def _make_locked() -> tuple[Path, int]:
    """Make a folder for fences that other daemons don't take for abandoned, and keep it locked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(path, _OPEN)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if path.exists():  # else another process took it for abandoned before it was locked
                return path, fd
            os.close(fd)


def _remove_own(path: Path, fd: int, pid: int) -> None:
    """Remove the folder, unless this is a child that was forked."""
    if os.getpid() == pid:  # a forked process has the object as well, and the folder is not its own
        with contextlib.suppress(OSError):
            _remove(path, fd)
    os.close(fd)


def _remove_unlocked(path: Path) -> None:
    """Remove a folder that no daemon holds. Raises OSError for one that is held."""
    fd = os.open(path, _OPEN)
    try:
        if os.fstat(fd).st_uid == os.geteuid():
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path, fd)
    finally:
        os.close(fd)


def _remove(path: Path, fd: int) -> None:
    """Remove a folder with the files in it."""
    for name in os.listdir(fd):
        os.unlink(name, dir_fd=fd)
    path.rmdir()
