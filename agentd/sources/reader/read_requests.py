"""Which files the wishes of a task are about now, and where nobody may look: nothing is read here.

What is not there, what may not be looked at and what is too much are three things. Only the first
is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from agentd.sources.files.facts import Found
from agentd.sources.files.names import spoken
from agentd.sources.files.walk import ABSENT, Root, RootGoneError, scan, spot
from detectors.matchers.plain import glob

MAX_FILES = 32
"""Files that one wish is read from: those that were told, then the first by name."""
MAX_SEEN = 20_000
"""Entries of a watched folder that are looked through for a path with ``*``."""


class Wish(NamedTuple):
    """What a rule asks to be read. ``path``: relative to the root, ``*`` any run of characters;
    None: any root, or the format that the file has."""

    path: str
    root: str | None = None
    format: str | None = None
    query: str | None = None


class Spot(NamedTuple):
    """One file that a wish is about; with an empty path, or one that ends in ``/``, what lies below
    it."""

    wish: Wish
    root: str
    path: str


Mark = tuple[int, int, int, int]
"""Inode, size, and the times of content and inode: they tell a file's content from an earlier."""
Stamp = tuple[Mark, ...]
"""The file's mark, and that of a database's write-ahead log: a commit may stand there alone."""


class FolderLook(NamedTuple):
    """``found``: the files that are there; ``closed``: what could not be looked at, and why."""

    found: dict[Spot, Stamp]
    closed: dict[Spot, str]


def look_for(roots: Mapping[str, Root], wishes: Iterable[Wish], told: Iterable[Spot]) -> FolderLook:
    """All files that are asked about. ``told``: spots of which something was said; they come before
    new ones.

    Raises `RootGoneError`."""
    seen = FolderLook({}, {})
    for wish in wishes:
        for label, root in roots.items():
            if wish.root in (None, label):
                at = [one for one in told if one.wish == wish and one.root == label]
                _look_at(root, wish, sorted(one.path for one in at), seen)
    return seen


def look_at(root: Root, path: str) -> Found | None:
    """The plain file at that path; None where there is none. Raises OSError where that can't be
    seen."""
    try:
        with spot(root, path) as fd:
            found = Found.from_stat(path, os.fstat(fd))
    except RootGoneError:
        raise
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise
    return found if found.what == "file" else None


def stands(stamp: Stamp, opened: Sequence[int]) -> bool:
    """Whether the open files are the ones of the stamp, with the same content: a new mode or name
    is none."""
    now = [_mark(Found.from_stat("", os.fstat(one))) for one in opened]
    return [mark[:3] for mark in now] == [mark[:3] for mark in stamp]


def _mark(found: Found) -> Mark:
    return (found.inode, found.size, found.mtime, found.ctime)


def _look_at(root: Root, wish: Wish, told: list[str], seen: FolderLook) -> None:
    if not _is_pattern(wish.path):
        told = [wish.path] if root.ours(wish.path) else []
    for path in told:
        _add(root, wish, path, seen)
    if _is_pattern(wish.path):
        for found in _new(root, wish, frozenset(told), seen):
            _add(root, wish, found.path, seen)


def _add(root: Root, wish: Wish, path: str, seen: FolderLook) -> None:
    at = Spot(wish, root.label, path)
    try:
        if (found := look_at(root, path)) is not None:
            log = look_at(root, path + "-wal") if wish.format in (None, "sqlite") else None
            seen.found[at] = (_mark(found),) if log is None else (_mark(found), _mark(log))
    except RootGoneError:
        raise
    except OSError as error:
        seen.closed[at] = f"{root.label}/{spoken(path)}: {error.strerror or error}"


def _new(root: Root, wish: Wish, told: frozenset[str], seen: FolderLook) -> Iterator[Found]:
    """The plain files that a pattern fits, by name, as many as there is room for beside those that
    were told."""
    room = MAX_FILES - sum(at.wish == wish for at in seen.found)
    for found in _scanned(root, wish, seen):
        if found.what != "file" or found.path in told or not glob(wish.path, spoken(found.path)):
            continue
        if room <= 0:
            seen.closed[Spot(wish, root.label, "")] = (
                f"{root.label}: more than {MAX_FILES} files are {wish.path}"
            )
            return
        room -= 1
        yield found


def _scanned(root: Root, wish: Wish, seen: FolderLook) -> Iterator[Found]:
    """What lies where the pattern can fit: below the folders that it names before its first
    ``*``."""
    closed: list[str] = []
    entries = scan(root, _folder(wish.path), closed)
    yield from islice(entries, MAX_SEEN)
    if next(entries, None) is not None:
        seen.closed[Spot(wish, root.label, "")] = (
            f"{root.label}: {wish.path} is looked for in {MAX_SEEN} entries"
        )
    for folder in closed:
        seen.closed[Spot(wish, root.label, folder + "/")] = (
            f"{root.label}/{spoken(folder)}: it may not be looked into"
        )


def _folder(pattern: str) -> str:
    start = min(place for mark in "*?" if (place := pattern.find(mark)) >= 0)
    folder = pattern[:start].rpartition("/")[0]
    return (
        "" if "\\" in folder else folder
    )  # odd bytes are spoken of by another name than they have


def _is_pattern(path: str) -> bool:
    return "*" in path or "?" in path
