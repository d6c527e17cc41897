"""The source "reader": what stands in the files that a rule of the task asks about, as
``file.read`` events.

Read at the start, at the ends of steps before the seal and at the close, and only if the file
changed since; each in a process of its own (agentd/readers). What can't be read through no fault of
the file is a gap of what leans on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import structlog

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import Sink, SourceLostError
from agentd.masking import Masker
from agentd.readers.asking import UNKNOWN, read_in_child
from agentd.readers.formats import FORMATS, format_of
from agentd.readers.mime import HEAD, mime_of
from agentd.sources.files.facts import FileGlance
from agentd.sources.files.names import printable_path
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import ABSENT, Root, RootGoneError, in_words, read_only, spot
from agentd.sources.reader.read_requests import FolderLook, Spot, Stamp, Wish, look_for, stands

BUDGET_S = 5.0
"""One file's, in seconds of wall time."""
MOMENT_S = 8.0
"""Of all files that are read at one moment together, in seconds: the seal waits for them."""
AT_ONCE = 2

log = structlog.get_logger(__name__)


class ReaderSource:
    """``plan["file_reads"]`` says what is read, ``files`` where: label → watched directory.
    ``own``: the daemon's. ``patience`` multiplies `BUDGET_S` and `MOMENT_S`, but not the processor
    time of a reader: a file that needs more is known to be heavy, and null would be another
    reward."""

    name = "reader"

    def __init__(
        self,
        plan: EpisodePlan,
        files: Mapping[str, Path],
        own: Iterable[Path] = (),
        *,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._wishes = [Wish(**asked) for asked in plan.get("file_reads", ())]
        self._paths = dict(files)
        self._own = tuple(own)
        self._masker = Masker(plan.get("mask", ()))
        self._roots: dict[str, Root] = {}
        self._known: dict[Spot, Stamp] = {}
        self._told: set[Spot] = set()
        self._blind: dict[str, set[Spot | None]] = {}
        self._closed: set[Spot] = set()
        self._sink: Sink | None = None
        self._turn = asyncio.Lock()
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Read what is there at the start; then wait to be asked. Raises `SourceLostError` when a
        root is gone."""
        self._known.clear()
        self._blind.clear()
        self._closed.clear()
        try:
            self._roots = {
                label: Root(label, path, Troubles()) for label, path in self._paths.items()
            }
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
        """Do nothing: files are read before the seal."""

    async def _look(self, when: str, step: int | None) -> None:
        """Read the files that changed since the last look, all at once and within a bound of time,
        and report them."""
        async with self._turn:
            told = frozenset(self._told)
            look = await asyncio.to_thread(look_for, self._roots, self._wishes, told)
            found = look.found
            moment: dict[str, object] = {"when": when}
            if step is not None:
                moment["step"] = step
            for gone in sorted(self._told - found.keys() - look.closed.keys(), key=str):
                self._told.discard(gone)
                self._known.pop(gone, None)
                self._tell(gone, {**moment, "status": "gone"})
            self._mind(look)
            changed = [at for at, stamp in found.items() if self._known.get(at) != stamp]
            until = asyncio.get_running_loop().time() + self._patience.extend(MOMENT_S)
            answers = await asyncio.gather(*(self._read(at, found[at], until) for at in changed))
            # Nothing is awaited from here on: a look that is called off may have read, but what it
            # read is not known.
            baseline = {"baseline": True} if when == "start" else {}
            for at, answer in zip(changed, answers, strict=True):
                if answer["status"] not in UNKNOWN:
                    self._known[at] = found[at]
                if answer["status"] != "unsettled" or when == "close":
                    self._tell(at, {**moment, **answer, **baseline})

    def _mind(self, look: FolderLook) -> None:
        """What may not be looked at is not gone: nobody knows, until it is looked at and read
        again."""
        for at, reason in look.closed.items():
            self._known.pop(at, None)
            self._lose(at.wish, at, reason)
        for at in self._closed - look.closed.keys() - look.found.keys():
            self._regain(at)
        self._closed = set(look.closed)

    # -- one

    async def _read(self, at: Spot, stamp: Stamp, until: float) -> dict[str, Any]:
        """Read one file within what is left of the time. Return its facts, or a status that says
        why not."""
        async with self._slots:
            budget_s = self._patience.extend(BUDGET_S)
            left = min(budget_s, until - asyncio.get_running_loop().time())
            if left <= 0:
                moment_s = self._patience.extend(MOMENT_S)
                return {"status": "slow", "reason": f"other files took {moment_s:g} s"}
            try:
                with self._opened(self._roots[at.root], at.path) as (fd, head, size):
                    return await self._ask(at, stamp, fd, head, size, left)
            except RootGoneError:
                raise
            except OSError as error:
                if error.errno in ABSENT:
                    return {"status": "unsettled", "reason": "it went while it was read"}
                return {"status": "denied", "reason": error.strerror or str(error)}

    async def _ask(
        self, at: Spot, stamp: Stamp, fd: int, head: bytes, size: int, left: float
    ) -> dict[str, object]:
        """Let a child read the file, and make sure that it did not change meanwhile."""
        name = at.path.rpartition("/")[2]
        format_ = at.wish.format or format_of(mime_of(head, name), name)
        about = {"format": format_, "size": size}
        with self._beside(at, format_) as wal:
            answer = await self._answer(format_, fd, size, left, at.wish.query, wal)
            expected = stamp if format_ == "sqlite" else stamp[:1]
            opened = (fd,) if wal is None else (fd, wal)
            if not stands(expected, opened):
                return {**about, "status": "unsettled", "reason": "it changed while it was read"}
        if "facts" in answer and format_ != "image":  # a picture's facts hold no word
            told = self._masker.mask_json(answer["facts"])
            if told != answer["facts"]:
                answer["masked"] = ["facts"]
            answer["facts"] = told
        return about | answer

    async def _answer(
        self, format_: str, fd: int, size: int, left: float, query: str | None, wal: int | None
    ) -> dict[str, object]:
        """Let a child read the file, unless it is larger than its format allows."""
        most = FORMATS[format_].most
        if size > most:
            return {"status": "large", "reason": f"{format_} is read up to {most} bytes"}
        return dict(await read_in_child(fd, format_, left, query, wal))

    @contextlib.contextmanager
    def _opened(self, root: Root, path: str) -> Iterator[tuple[int, bytes, int]]:
        """A descriptor for reading, the file's first bytes, its size; no link followed, no time
        changed."""
        with spot(root, path) as named:
            if FileGlance.from_stat(path, os.fstat(named)).what != "file":
                raise FileNotFoundError(errno.ENOENT, "is no plain file", path)
            fd = read_only(root, named)
        try:
            yield fd, os.pread(fd, HEAD, 0), os.fstat(fd).st_size
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _beside(self, at: Spot, format_: str) -> Iterator[int | None]:
        """The write-ahead log of a database that some program has open; None where there is
        none."""
        if format_ != "sqlite":
            yield None
            return
        with contextlib.ExitStack() as stack:
            wal = None
            try:
                log = self._opened(self._roots[at.root], at.path + "-wal")
                wal, _, _ = stack.enter_context(log)
            except OSError as error:
                if isinstance(error, RootGoneError) or error.errno not in ABSENT:
                    raise
            yield wal

    # -- what is told

    def _tell(self, at: Spot, said: dict[str, Any]) -> None:
        """Report what was read; a file that can't be known is a gap until it can."""
        if self._sink is None:
            return
        path = printable_path(at.path)
        data = {
            "root": at.root,
            "path": path,
            "name": path.rpartition("/")[2],
            "as": at.wish.format or "auto",
            **said,
        }
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
        """Begin the gap of a wish with its first file that can't be read."""
        blind = self._blind.setdefault(wish.path, set())
        if not blind and self._sink is not None:
            self._sink(
                "gap.began", {"source": self.name, "part": wish.path, "reason": reason[:500]}
            )
            log.warning("A file could not be read.", path=wish.path, why=reason)
        blind.add(at)

    def _regain(self, at: Spot) -> None:
        """End the gap of a wish with its last file that can be read again."""
        blind = self._blind.get(at.wish.path, set())
        blind.discard(at)
        if not blind and self._blind.pop(at.wish.path, None) is not None and self._sink is not None:
            self._sink("gap.ended", {"source": self.name, "part": at.wish.path})
