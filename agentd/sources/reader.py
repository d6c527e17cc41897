"""The source "reader": what stands in the files that a rule of the task asks about, as ``file.read`` events.

Read at the start, at the ends of steps before the seal and at the close, and only if the file changed since; each in a
process of its own (agentd/readers). What can't be read through no fault of the file is a gap of what leans on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import structlog

from agentd.masking import Masker
from agentd.readers.asking import UNKNOWN, read
from agentd.readers.formats import FORMATS, format_of
from agentd.sources.base import Sink, SourceLostError
from agentd.sources.files.facts import Found
from agentd.sources.files.mime import HEAD, mime_of
from agentd.sources.files.names import spoken
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import Root, RootGoneError, glance, in_words, read_only, scan, spot
from detectors.matchers.plain import glob

BUDGET_S = 5.0
"""One file's, in seconds of wall time."""
MOMENT_S = 8.0
"""Of all files that are read at one moment together, in seconds: the seal waits for them."""
AT_ONCE = 2
MOST_FILES = 32
"""Files that one wish is read from, the first by name."""
MOST_SEEN = 20_000
"""Entries of a watched folder that are looked through for a path with ``*``."""

log = structlog.get_logger(__name__)


class Wish(NamedTuple):
    """What a rule asks to be read. ``path``: relative to the root, ``*`` any run of characters; None: any root, or
    the format that the file has."""

    path: str
    root: str | None = None
    format: str | None = None
    query: str | None = None


class Spot(NamedTuple):
    """One file that a wish is about."""

    wish: Wish
    root: str
    path: str


Stamp = tuple[int, int, int, int]


class ReaderSource:
    """``plan["file_reads"]`` says what is read, ``files`` where: label → watched directory. ``own``: the daemon's."""

    name = "reader"

    def __init__(self, plan: Mapping[str, Any], files: Mapping[str, Path], own: Iterable[Path] = ()) -> None:
        self._wishes = [Wish(**asked) for asked in plan.get("file_reads") or ()]
        self._paths = dict(files)
        self._own = tuple(own)
        self._masker = Masker(plan.get("mask") or ())
        self._roots: dict[str, Root] = {}
        self._known: dict[Spot, Stamp] = {}
        self._told: set[Spot] = set()
        self._blind: dict[str, set[Spot | None]] = {}
        self._sink: Sink | None = None
        self._turn = asyncio.Lock()
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Read what is there at the start; then wait to be asked. Raises `SourceLostError` when a root is gone."""
        self._known.clear()
        self._blind.clear()
        try:
            self._roots = {label: Root(label, path, Troubles()) for label, path in self._paths.items()}
        except OSError as error:
            raise SourceLostError(in_words(error)) from None
        for root in self._roots.values():
            own = (path for path in self._own if path.is_relative_to(root.path))
            root.hidden = frozenset(str(path.relative_to(root.path)) for path in own)
        self._sink = sink
        try:
            for wish in self._wishes:
                if wish.root is not None and wish.root not in self._roots:
                    self._lose(wish, None, f"the daemon was given no --files {wish.root}=DIR")
            await self._look("start", None)
            ready()
            await asyncio.Event().wait()
        except RootGoneError as error:
            raise SourceLostError(in_words(error)) from None
        finally:
            self._sink = None

    async def fence(self, timeout_s: float) -> None:
        """Nothing: files are read at the ends of steps."""

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """Read what changed; the seal waits, at most `MOMENT_S`."""
        await self._look("close" if closing else "step", step)

    def after_seal(self, step: int) -> None:
        """Nothing is due then."""

    async def _look(self, when: str, step: int | None) -> None:
        async with self._turn:
            found = await asyncio.to_thread(self._found)
            moment = {"when": when} | ({} if step is None else {"step": step})
            for gone in sorted(self._told - found.keys(), key=str):
                self._told.discard(gone)
                self._known.pop(gone, None)
                self._tell(gone, {**moment, "status": "gone"})
            changed = [at for at, stamp in found.items() if self._known.get(at) != stamp]
            until = asyncio.get_running_loop().time() + MOMENT_S
            said = await asyncio.gather(*(self._read(at, found[at], until) for at in changed))
            for at, answer in zip(changed, said, strict=True):
                if answer["status"] != "unsettled" or when == "close":
                    self._tell(at, {**moment, **answer} | ({"baseline": True} if when == "start" else {}))

    # -- which

    def _found(self) -> dict[Spot, Stamp]:
        """Every file that is asked about, with what tells its content from an earlier one."""
        found: dict[Spot, Stamp] = {}
        for wish in self._wishes:
            roots = [root for label, root in self._roots.items() if wish.root in (None, label)]
            hits = ((root, one) for root in roots for one in _matching(root, wish.path))
            for root, one in islice(hits, MOST_FILES):
                found[Spot(wish, root.label, one.path)] = (one.inode, one.size, one.mtime, one.ctime)
        return found

    # -- one

    async def _read(self, at: Spot, stamp: Stamp, until: float) -> dict[str, Any]:
        async with self._slots:
            left = min(BUDGET_S, until - asyncio.get_running_loop().time())
            if left <= 0:
                return {"status": "slow", "reason": f"other files took {MOMENT_S:g} s"}
            try:
                with self._opened(self._roots[at.root], at.path) as (fd, head, size):
                    return await self._ask(at, stamp, fd, head, size, left)
            except RootGoneError:
                raise
            except FileNotFoundError:
                return {"status": "unsettled", "reason": "it went while it was read"}
            except OSError as error:
                return {"status": "denied", "reason": error.strerror or str(error)}

    async def _ask(self, at: Spot, stamp: Stamp, fd: int, head: bytes, size: int, left: float) -> dict[str, Any]:
        name = at.path.rpartition("/")[2]
        format_ = at.wish.format or format_of(mime_of(head, name), name)
        about = {"format": format_, "size": size}
        if size > FORMATS[format_].most:
            answer: dict[str, Any] = {
                "status": "large",
                "reason": f"{format_} is read up to {FORMATS[format_].most} bytes",
            }
        else:
            with self._beside(at, format_) as wal:
                answer = await read(fd, format_, left, at.wish.query, wal)
        after = Found.of(at.path, os.fstat(fd))
        if (after.inode, after.size, after.mtime) != (stamp[0], stamp[1], stamp[2]):
            return {**about, "status": "unsettled", "reason": "it changed while it was read"}
        if answer["status"] not in UNKNOWN:
            self._known[at] = stamp
        if "facts" in answer and format_ != "image":  # a picture's facts hold no word
            answer["facts"] = self._masker.mask_json(answer["facts"])
        return about | answer

    @contextlib.contextmanager
    def _opened(self, root: Root, path: str) -> Iterator[tuple[int, bytes, int]]:
        """A descriptor for reading, the file's first bytes, its size; no link followed, no time changed."""
        with spot(root, path) as named:
            if Found.of(path, os.fstat(named)).what != "file":
                raise FileNotFoundError(errno.ENOENT, "is no plain file", path)
            fd = read_only(root, named)
        try:
            yield fd, os.pread(fd, HEAD, 0), os.fstat(fd).st_size
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _beside(self, at: Spot, format_: str) -> Iterator[int | None]:
        """The write-ahead log of a database that some program has open; None where there is none."""
        with contextlib.ExitStack() as stack:
            wal = None
            if format_ == "sqlite":
                with contextlib.suppress(OSError):
                    wal, _, _ = stack.enter_context(self._opened(self._roots[at.root], at.path + "-wal"))
            yield wal

    # -- what is told

    def _tell(self, at: Spot, said: dict[str, Any]) -> None:
        if self._sink is None:
            return
        path = spoken(at.path)
        data = {"root": at.root, "path": path, "name": path.rpartition("/")[2], "as": at.wish.format or "auto", **said}
        if at.wish.query is not None:
            data["query"] = at.wish.query
        if "reason" in data:
            data["reason"] = self._masker.mask_text(data["reason"])
        if data["status"] != "gone":
            self._told.add(at)
        if data["status"] in UNKNOWN:
            self._lose(at.wish, at, f"{at.root}/{path}: {data['reason']}")
        self._sink("file.read", data)
        if data["status"] not in UNKNOWN:
            self._regain(at)

    def _lose(self, wish: Wish, at: Spot | None, reason: str) -> None:
        blind = self._blind.setdefault(wish.path, set())
        if not blind and self._sink is not None:
            self._sink("gap.began", {"source": self.name, "of": wish.path, "reason": reason[:500]})
            log.warning("A file could not be read.", path=wish.path, why=reason)
        blind.add(at)

    def _regain(self, at: Spot) -> None:
        blind = self._blind.get(at.wish.path, set())
        blind.discard(at)
        if not blind and self._blind.pop(at.wish.path, None) is not None and self._sink is not None:
            self._sink("gap.ended", {"source": self.name, "of": at.wish.path})


def _matching(root: Root, path: str) -> Iterator[Found]:
    """The plain files at ``path``, by name."""
    if "*" not in path and "?" not in path:
        one = glance(root, path)
        found: Iterable[Found] = () if one is None or not root.ours(path) else (one,)
    else:
        found = (one for one in islice(scan(root), MOST_SEEN) if glob(path, spoken(one.path)))
    return (one for one in found if one.what == "file")
