"""Ways into a watched directory that nothing in it can bend: from the root, name by name, no link
followed.

The agent owns these paths and may put a link where a directory was while we walk. So every step is
taken on an open descriptor, the last one without opening the thing itself: a pipe, a device or a
lock never notices.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from agentd.sources.files.facts import FileGlance
from agentd.sources.files.troubles import Troubles

ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))
"""Errors that say that there is no such file; by any other that is not known. A name that is too
long names nothing."""
MAX_DEPTH = 128
"""Folders below folders: what lies deeper is not looked at, and an alarm says so."""
_SPOT = os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER = _SPOT | os.O_DIRECTORY
_STAMPLESS = os.ST_NOATIME | os.ST_RDONLY


class RootGoneError(OSError):
    """The root's path leads nowhere, or to another directory than the one that is watched."""


class ClosedError(OSError):
    """A folder is there, and what it holds can't be read."""


def in_words(error: OSError) -> str:
    """Say what is wrong with which path, for a person."""
    between = " " if isinstance(error, RootGoneError) else ": "
    return f"{error.filename or 'files'}{between}{error.strerror}"


class Root:
    """A watched directory. ``hidden``: relative paths that are none of ours, such as the daemon's
    own journal.

    Raises OSError where there is no directory at ``path``.
    """

    def __init__(
        self, label: str, path: Path, troubles: Troubles, hidden: Set[str] = frozenset()
    ) -> None:
        self.label = label
        self.path = path
        self.hidden = hidden
        self.silent: tuple[str, ...] = ()
        """Folders (relative) in which things happen that the kernel does not tell."""
        self.troubles = troubles
        found = os.stat(path)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is not a directory", str(path))
        self._identity = (found.st_dev, found.st_ino)

    def open(self) -> int:
        """A descriptor that names the root, closed by the caller. Raises `RootGoneError`."""
        try:
            fd = os.open(self.path, _FOLDER)
        except OSError as error:
            raise RootGoneError(error.errno, "is gone", str(self.path)) from None
        found = os.fstat(fd)
        if (found.st_dev, found.st_ino) != self._identity:
            os.close(fd)
            raise RootGoneError(errno.ENOENT, "is another directory than before", str(self.path))
        return fd

    def ours(self, relative: str) -> bool:
        """Return whether anything is to be reported of that path."""
        return not any(within(relative, hidden) for hidden in self.hidden)

    def is_silent(self, relative: str) -> bool:
        """Return whether the kernel does not report everything that happens in that folder."""
        return any(within(relative, folder) for folder in self.silent)


def within(path: str, folder: str) -> bool:
    """Return whether ``path`` is ``folder`` or lies in it."""
    return not folder or path == folder or path.startswith(folder + "/")


@contextmanager
def spot(root: Root, relative: str) -> Iterator[int]:
    """A descriptor that names the entry ``relative`` itself, unopened. Raises OSError where there
    is none."""
    fd = root.open()
    try:
        parts = relative.split("/") if relative else []
        for place, part in enumerate(parts, 1):
            inner = os.open(part, _SPOT if place == len(parts) else _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def read_only(root: Root, fd: int, flags: int = 0) -> int:
    """Open what ``fd`` names for reading, if possible without changing its access time.

    Raises OSError.
    """
    path = f"/proc/self/fd/{fd}"
    flags |= os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags | os.O_NOATIME)
    except PermissionError as error:
        if error.errno != errno.EPERM:
            raise
    # Only its owner, or who may act for any owner, reads a file without a trace.
    opened = os.open(path, flags)
    if not os.fstatvfs(opened).f_flag & _STAMPLESS:
        reason = (
            "files of another user: reading them may change their access times; wanted the owner's"
            " rights or CAP_FOWNER"
        )
        root.troubles.add("access times", root.label, reason)
    return opened


def glance(root: Root, relative: str) -> FileGlance | None:
    """Return what stands at that path, without reading it; None where there is nothing.

    Raises `RootGoneError`, and another OSError where nobody can tell.
    """
    try:
        with spot(root, relative) as fd:
            return FileGlance.from_stat(relative, os.fstat(fd))
    except RootGoneError:
        raise
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise


def glances(root: Root, paths: Iterable[str]) -> Iterator[tuple[str, FileGlance | None]]:
    """Yield what stands at each of these paths, but for those of which nobody can tell.

    Raises `RootGoneError`.
    """
    for path in paths:
        try:
            yield path, glance(root, path)
        except RootGoneError:
            raise
        except OSError:
            continue


def entries(root: Root, folder: str) -> list[FileGlance]:
    """List what a folder holds, by name; nothing where it is gone.

    Raises `RootGoneError`; `ClosedError`, with an alarm, where it can't be read.
    """
    place = f"{root.label}/{folder}"
    if folder.count("/") >= MAX_DEPTH:
        reason = f"{place[:200]}: folders more than {MAX_DEPTH} deep are not looked at"
        root.troubles.add("depth", place, reason)
        return []
    try:
        listed = _list_folder(root, folder)
    except RootGoneError:
        raise
    except OSError as error:
        if error.errno in ABSENT:
            return []
        # A folder that can't be read is not an empty one: nothing is known of what is in it.
        is_forbidden = isinstance(error, PermissionError)
        why = "the daemon's user may not read this folder" if is_forbidden else error.strerror
        root.troubles.add("folders", place, f"{place[:200]}: {why}")
        raise ClosedError(error.errno, error.strerror, place) from error
    root.troubles.remove("folders", place)
    return listed


def _list_folder(root: Root, folder: str) -> list[FileGlance]:
    """Return a glance at each entry of a folder, by name; entries that vanish meanwhile are left
    out."""
    with spot(root, folder) as fd:
        opened = read_only(root, fd, os.O_DIRECTORY)
    found: list[FileGlance] = []
    try:
        with os.scandir(opened) as listing:
            for entry in sorted(listing, key=lambda entry: entry.name):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if root.ours(path):
                    with contextlib.suppress(FileNotFoundError):
                        found.append(FileGlance.from_stat(path, entry.stat(follow_symlinks=False)))
    finally:
        os.close(opened)
    return found


def scan(root: Root, below: str = "", closed: list[str] | None = None) -> Iterator[FileGlance]:
    """Yield everything below ``below``, a folder before what is in it.

    Folders that may not be read are added to ``closed``. Raises `RootGoneError`.
    """
    waiting = [iter(_open(root, below, closed))]
    while waiting:
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
            continue
        yield found
        if found.what == "folder":
            waiting.append(iter(_open(root, found.path, closed)))


def _open(root: Root, folder: str, closed: list[str] | None) -> list[FileGlance]:
    """List a folder; one that may not be read is noted in ``closed``, and empty."""
    try:
        return entries(root, folder)
    except ClosedError:
        if closed is not None:
            closed.append(folder)
        return []
