"""Looks at one file without leaving a trace: no access time, no lock, never outside the root."""

from __future__ import annotations

import hashlib
import os
import time

from agentd.readers.mime import HEAD, mime_of
from agentd.sources.files.facts import FileFacts, FileGlance, Unread
from agentd.sources.files.walk import ABSENT, Root, RootGoneError, read_only, spot

HASH_BYTES = 256 << 20
"""Files above this are reported without a hash."""
HASH_S = 5.0
"""Files that take longer to read are reported without a hash, in seconds."""
_CHUNK = 1 << 20


class UnsettledError(Exception):
    """The file changed while it was read, or can't be looked at now. ``facts``: what is known of it
    nevertheless."""

    def __init__(self, facts: FileFacts | None = None) -> None:
        super().__init__()
        self.facts = facts


def look(
    root: Root, relative: str, hash_bytes: int = HASH_BYTES, hash_s: float = HASH_S
) -> FileFacts | None:
    """Return the facts of a file or symbolic link below ``root``; None if it is gone or something
    else.

    Raises `UnsettledError` if it is being written, or if nobody can tell now what stands there;
    `RootGoneError` if the root is not there.
    """
    try:
        with spot(root, relative) as fd:
            found = FileGlance.from_stat(relative, os.fstat(fd))
            if found.what == "link":
                return _facts(found, link=os.readlink("", dir_fd=fd))
            if found.what != "file":
                return None
            try:
                opened = read_only(root, fd)
            except BlockingIOError:  # a program holds a lease, and may still be writing
                raise UnsettledError from None
            except OSError as error:
                return None if error.errno in ABSENT else _facts(found, unread="denied")
    except RootGoneError:
        raise
    except OSError as error:
        if error.errno in ABSENT:
            return None
        # A folder above it is closed: that says nothing of what is in it.
        raise UnsettledError from error
    try:
        return _read(found, opened, hash_bytes, hash_s)
    except OSError:
        # A disk's or a network's error: it is there, nobody can read it.
        return _facts(found, unread="denied")
    finally:
        os.close(opened)


def _read(before: FileGlance, fd: int, hash_bytes: int, hash_s: float) -> FileFacts:
    """Read and hash an open file within the bounds. Raises `UnsettledError` where it changed
    meanwhile."""
    until = time.monotonic() + hash_s
    digest = hashlib.sha256()
    head = b""
    length = 0
    unread: Unread | None = None
    if before.size > hash_bytes:
        head = os.read(fd, HEAD)
        unread = "large"
    while unread is None and (chunk := os.read(fd, _CHUNK)):
        head = head or chunk[:HEAD]
        digest.update(chunk)
        length += len(chunk)
        if length > before.size and _changed(before, fd):
            break  # it may grow faster than it is read
        if time.monotonic() > until:
            unread = "slow"
    after = FileGlance.from_stat(before.path, os.fstat(fd))
    mime = mime_of(head, before.path.rpartition("/")[2])
    if (before.size, before.mtime) != (after.size, after.mtime):
        raise UnsettledError(_facts(after, mime=mime, unread="busy"))
    return _facts(after, None if unread else digest.hexdigest(), mime, unread)


def _changed(before: FileGlance, fd: int) -> bool:
    after = FileGlance.from_stat(before.path, os.fstat(fd))
    return (before.size, before.mtime) != (after.size, after.mtime)


def _facts(
    found: FileGlance,
    sha256: str | None = None,
    mime: str | None = None,
    unread: Unread | None = None,
    link: str | None = None,
) -> FileFacts:
    _, _, size, mtime, ctime, inode, mode, links = found
    return FileFacts(size, sha256, mtime, ctime, inode, mode, links, link, mime, unread)
