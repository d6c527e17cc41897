"""Folders for temporary files that are held while their process lives, and the removal of those
that a kill left.

The hold is a lock on a file in the folder: the kernel drops it with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

OWNER = ".owner"
"""The file that is locked. A folder without it is nobody's to remove."""


class Scratch:
    """A new folder whose name begins with ``prefix``; what dead processes of this user left under
    that is removed. ``parent``: where it is made, the system's folder of temporary files if not
    said."""

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        remove_abandoned(prefix, parent)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # Locked under another name first: whoever finds it as the owner's file finds it locked.
        made = self.path / f"{OWNER}.new"
        self._fd = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        made.rename(self.path / OWNER)

    def keep(self) -> None:
        """Let the folder stay for ever."""
        (self.path / OWNER).unlink(missing_ok=True)
        os.close(self._fd)

    def remove(self) -> None:
        """Remove the folder and give up its lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._fd)


@contextlib.contextmanager
def scratch_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """Give a new `Scratch` folder that is removed with the block, or by the next process that makes
    one of that ``prefix`` if this one is killed in it."""
    scratch = Scratch(prefix, parent)
    try:
        yield scratch.path
    finally:
        scratch.remove()


def remove_abandoned(prefix: str, parent: Path | None = None) -> None:
    """Remove this user's folders whose processes are dead; what cannot be removed stays."""
    with contextlib.suppress(OSError):
        for path in (parent or Path(tempfile.gettempdir())).glob(f"{prefix}*"):
            with contextlib.suppress(OSError):
                _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            return
        owner = os.open(OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(owner)
    finally:
        os.close(folder)
