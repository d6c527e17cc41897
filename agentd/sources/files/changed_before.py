"""Whether something came and went in a new folder before it was watched: by the folder's own times.

A folder's time of change moves with each entry that comes, goes or is renamed in it. One that moved
since the folder was made, and at no time at which an entry came that is there, is of one that is
not. Two moments that lie within one tick of the kernel's clock (1 to 10 ms) look the same.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from typing import NamedTuple

from agentd.sources.files.facts import FileGlance
from agentd.sources.files.walk import Root, spot

TICK_NS = 10_000_000
"""By how much the times of an entry and its folder may differ that are of one change."""
MAX_ENTRIES = 1_000
"""How many entries are asked when they were made; a folder with more is taken as explained."""
_EMPTY_PATH = 0x1000
_BIRTH_AND_CHANGE = 0x800 | 0x40
_BIRTH = 0x800
_SIZE = 256
_BORN_AT, _CHANGED_AT = 80, 112
"""Where in `struct statx` the two times begin, each as seconds and nanoseconds."""

_statx = getattr(ctypes.CDLL(None), "statx", None)


class FolderTimes(NamedTuple):
    """When a folder was made, and when an entry last came, went or was renamed in it, both in
    ns."""

    born: int
    changed: int


def read_times(root: Root, path: str) -> FolderTimes | None:
    """Return an entry's times; None where there is none, or its file system does not keep them."""
    if _statx is None:
        return None
    found = ctypes.create_string_buffer(_SIZE)
    try:
        with spot(root, path) as fd:
            code = _statx(fd, b"", _EMPTY_PATH, _BIRTH_AND_CHANGE, found)
    except OSError:
        return None
    if code != 0 or not int.from_bytes(found.raw[:4], "little") & _BIRTH:
        return None
    return FolderTimes(_time(found.raw, _BORN_AT), _time(found.raw, _CHANGED_AT))


def _time(raw: bytes, at: int) -> int:
    """Read the `statx_timestamp` that begins at a byte, as ns."""
    seconds = int.from_bytes(raw[at : at + 8], "little", signed=True)
    return seconds * 10**9 + int.from_bytes(raw[at + 8 : at + 12], "little")


def has_lost_entry(root: Root, times: FolderTimes, entries: Iterable[FileGlance]) -> bool:
    """Return whether something must have come and gone in a new folder that holds ``entries``.

    One whose time was set back, as archives are unpacked, says nothing.
    """
    if times.changed <= times.born:
        return False
    held = list(entries)
    if any(abs(times.changed - entry.ctime) <= TICK_NS for entry in held):
        return False
    if len(held) > MAX_ENTRIES:
        return False
    births = (read_times(root, entry.path) for entry in held)
    return not any(one is None or abs(times.changed - one.born) <= TICK_NS for one in births)


def parent_of(path: str) -> str:
    """Return the folder in which a path lies."""
    return os.path.dirname(path)
