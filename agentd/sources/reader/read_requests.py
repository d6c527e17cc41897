"""Which files the wishes of a task are about now, and where nobody may look: nothing is read here.

What is not there, what may not be looked at and what is too much are three things. Only the first
is known.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from agentd.sources.files.facts import FileGlance
from agentd.sources.files.names import printable_path
from agentd.sources.files.walk import ABSENT, Root, RootGoneError, scan, spot
from detectors.matchers.plain import glob

MAX_FILES = 32
"""Files that one wish is read from: those that were told, then the first by name."""
MAX_SEEN = 20_000
"""Entries of a watched folder that are looked through for a path with ``*``."""


_WILDCARD = re.compile(r"[*?]")


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
    look = FolderLook({}, {})
    paths: dict[tuple[Wish, str], list[str]] = defaultdict(list)
    for known in told:
        paths[known.wish, known.root].append(known.path)
    for wish in wishes:
        for label, root in roots.items():
            if wish.root in (None, label):
                _look_at(root, wish, sorted(paths[wish, label]), look)
    return look


def look_at(root: Root, path: str) -> FileGlance | None:
    """The plain file at that path; None where there is none. Raises OSError where that can't be
    seen."""
    try:
        with spot(root, path) as fd:
            file = FileGlance.from_stat(path, os.fstat(fd))
    except RootGoneError:
        raise
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise
    return file if file.what == "file" else None


def stands(stamp: Stamp, opened: Sequence[int]) -> bool:
    """Whether the open files are the ones of the stamp, with the same content: a new mode or name
    is none."""
    now = [_mark(FileGlance.from_stat("", os.fstat(fd))) for fd in opened]
    return [mark[:3] for mark in now] == [mark[:3] for mark in stamp]


def _mark(file: FileGlance) -> Mark:
    return (file.inode, file.size, file.mtime, file.ctime)


def _look_at(root: Root, wish: Wish, told: list[str], look: FolderLook) -> None:
    """Find the files that a wish is about, those that were told before and new ones."""
    if _WILDCARD.search(wish.path):
        for path in told:
            _add(root, wish, path, look)
        for file in _new_files(root, wish, frozenset(told), look):
            _add(root, wish, file.path, look)
    elif root.ours(wish.path):
        _add(root, wish, wish.path, look)


def _add(root: Root, wish: Wish, path: str, look: FolderLook) -> None:
    """Note a file with what shows whether it changed, or why it can't be looked at."""
    at = Spot(wish, root.label, path)
    try:
        stamp = _stamp_of(root, wish, path)
    except RootGoneError:
        raise
    except OSError as error:
        look.closed[at] = f"{root.label}/{printable_path(path)}: {error.strerror or error}"
        return
    if stamp:
        look.found[at] = stamp


def _stamp_of(root: Root, wish: Wish, path: str) -> Stamp:
    """The stamp of the file at ``path``, empty where there is none."""
    file = look_at(root, path)
    if file is None:
        return ()
    log = look_at(root, path + "-wal") if wish.format in (None, "sqlite") else None
    return (_mark(file),) if log is None else (_mark(file), _mark(log))


def _new_files(
    root: Root, wish: Wish, told: frozenset[str], look: FolderLook
) -> Iterator[FileGlance]:
    """The plain files that a pattern fits, by name, as many as there is room for beside those that
    were told."""
    room = MAX_FILES - sum(at.wish == wish for at in look.found)
    for file in _scanned(root, wish, look):
        if (
            file.what != "file"
            or file.path in told
            or not glob(wish.path, printable_path(file.path))
        ):
            continue
        if room <= 0:
            reason = f"{root.label}: more than {MAX_FILES} files are {wish.path}"
            look.closed[Spot(wish, root.label, "")] = reason
            return
        room -= 1
        yield file


def _scanned(root: Root, wish: Wish, look: FolderLook) -> Iterator[FileGlance]:
    """What lies where the pattern can fit: below the folders that it names before its first
    ``*``."""
    closed: list[str] = []
    entries = scan(root, _folder(wish.path), closed)
    yield from islice(entries, MAX_SEEN)
    if next(entries, None) is not None:
        reason = f"{root.label}: {wish.path} is looked for in {MAX_SEEN} entries"
        look.closed[Spot(wish, root.label, "")] = reason
    for folder in closed:
        reason = f"{root.label}/{printable_path(folder)}: it may not be looked into"
        look.closed[Spot(wish, root.label, folder + "/")] = reason


def _folder(pattern: str) -> str:
    """The folder that a pattern names before its first wildcard."""
    folder = _WILDCARD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
    # Odd bytes are spoken of by another name than they have.
    return "" if "\\" in folder else folder
