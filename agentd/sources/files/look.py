"""Looks at one file without leaving a trace: no access time, no lock, and never outside the root.

The agent owns these paths and may swap a directory for a link while we look: so the check of where we are is
made on the open descriptor, not on the name.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import structlog

from agentd.sources.files.fold import Facts

HASH_BYTES = 256 << 20
"""Files above this are reported without a hash."""
_CHUNK = 1 << 20

log = structlog.get_logger(__name__)


class UnsettledError(Exception):
    """The file changed while it was read."""


def look(root: Path, relative: str, hash_bytes: int = HASH_BYTES) -> Facts | None:
    """The facts of a regular file below ``root`` (a real path); None if it is gone, special or leads outside.

    Raises `UnsettledError` if it is being written.
    """
    path = os.path.join(root, relative)
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            path = os.path.realpath(path)
            if not _inside(root, path):
                log.warning("A link leads out of the watched directory; it is ignored.", root=str(root), path=relative)
                return None
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        fd = _open(path)
    except PermissionError:
        return _unreadable(path)
    except OSError:
        return None
    try:
        if not _inside(root, os.readlink(f"/proc/self/fd/{fd}")):
            log.warning("A directory became a link to elsewhere; its file is ignored.", root=str(root), path=relative)
            return None
        return _read(fd, hash_bytes)
    finally:
        os.close(fd)


def _open(path: str) -> int:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    try:
        return os.open(path, flags | os.O_NOATIME)
    except PermissionError:  # only a file's owner may read it without a trace
        return os.open(path, flags)


def _read(fd: int, hash_bytes: int) -> Facts | None:
    before = os.fstat(fd)
    if not stat.S_ISREG(before.st_mode):
        return None
    if before.st_size > hash_bytes:
        return Facts(before.st_size, None, before.st_mtime_ns, cut=True)
    digest = hashlib.sha256()
    while chunk := os.read(fd, _CHUNK):
        digest.update(chunk)
    after = os.fstat(fd)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnsettledError
    return Facts(after.st_size, digest.hexdigest(), after.st_mtime_ns)


def _unreadable(path: str) -> Facts | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return Facts(found.st_size, None, found.st_mtime_ns)


def _inside(root: Path, path: str) -> bool:
    return path.startswith(f"{root}/") or str(root) == "/"


def scan(root: Path, below: str = "") -> Iterator[tuple[str, bool]]:
    """Everything below ``root``/``below`` as (relative path, whether a directory), links not followed."""
    try:
        entries = sorted(os.scandir(os.path.join(root, below)), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        relative = f"{below}/{entry.name}" if below else entry.name
        folder = entry.is_dir(follow_symlinks=False)
        yield relative, folder
        if folder:
            yield from scan(root, relative)
