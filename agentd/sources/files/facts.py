"""What is known of one entry of a directory: at a glance, and after its content was read."""

from __future__ import annotations

import os
import stat
from typing import Literal, NamedTuple

What = Literal["file", "folder", "link", "other"]
Unread = Literal["large", "slow", "denied", "busy"]
_KINDS: dict[int, What] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class FileGlance(NamedTuple):
    """A glance: nothing was read. Times are the inode's, in ns; ``what``: a pipe, socket or device
    is "other"."""

    path: str
    what: What
    size: int = 0
    mtime: int = 0
    ctime: int = 0
    inode: int = 0
    mode: int = 0
    links: int = 1

    @classmethod
    def from_stat(cls, path: str, status: os.stat_result) -> FileGlance:
        """Make a glance of what the kernel says about an entry itself, not what it points to."""
        return cls(
            path,
            _KINDS.get(stat.S_IFMT(status.st_mode), "other"),
            size=status.st_size,
            mtime=status.st_mtime_ns,
            ctime=status.st_ctime_ns,
            inode=status.st_ino,
            mode=stat.S_IMODE(status.st_mode),
            links=max(1, status.st_nlink),
        )


class FileFacts(NamedTuple):
    """A settled file. ``sha256`` hex, None where ``unread`` says why or for a ``link`` (where it
    points, as written).

    ``mtime`` and ``ctime`` in ns; ``mode``: the permission bits; ``links``: names that the same
    file has.
    """

    size: int
    sha256: str | None
    mtime: int
    ctime: int = 0
    inode: int = 0
    mode: int = 0
    links: int = 1
    link: str | None = None
    mime: str | None = None
    unread: Unread | None = None

    def same(self, other: FileFacts) -> bool:
        """Return whether the content is the same, as far as anybody can tell."""
        if self.link is not None or other.link is not None:
            return self.link == other.link
        if self.sha256 is None or other.sha256 is None:
            # A writer can set the time of change back, and nobody the inode's own.
            mine = (self.size, self.mtime, self.ctime, self.sha256)
            return mine == (other.size, other.mtime, other.ctime, other.sha256)
        return self.sha256 == other.sha256

    def stands(self, found: FileGlance) -> bool:
        """Return whether the entry is as it was read: a change of content, mode or identity moves
        one of these."""
        mine = (self.inode, self.ctime, self.size, self.mtime)
        return mine == (found.inode, found.ctime, found.size, found.mtime)
