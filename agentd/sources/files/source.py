"""Joins the watcher (a thread), the fold (pure) and the looks (threads that hash) on the daemon's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentd.sources.base import Sink, SourceLostError
from agentd.sources.files.fold import Do, Facts, Fold, Look, Op, Raw
from agentd.sources.files.look import UnsettledError, look, scan
from agentd.sources.files.notify import Note, Watcher

QUIET_S = 0.1
"""How long a file that is still open must rest before it counts as settled, in seconds."""
PAIR_S = 0.1
"""How long the first half of a rename waits for its second, in seconds."""

REVIEW_S = 0.2
"""How long after the last change of directories a root is read anew, in seconds."""

_OPS: Mapping[str, Op] = {
    "created": "appeared",
    "found": "appeared",
    "written": "written",
    "closed": "closed",
    "gone": "gone",
}


class FilesSource:
    """Watches ``roots``: label → directory (real paths, none inside another)."""

    name = "files"

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = roots
        self._attached: _Attachment | None = None

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Report the baseline, then what happens; raises `SourceLostError` when a root is gone."""
        attached = _Attachment(self._roots, sink)
        try:
            await attached.begin()
            self._attached = attached
            ready()
            await attached.lost
        except OSError as error:
            raise SourceLostError(f"{error.filename or 'files'}: {error.strerror}") from None
        finally:
            self._attached = None
            attached.end()

    async def fence(self, timeout_s: float) -> None:
        """Return once all that was written and closed before is reported, at most after ``timeout_s`` seconds."""
        if self._attached is not None:
            await self._attached.fence(timeout_s)


class _Attachment:
    """One life of the source, from baseline to loss."""

    def __init__(self, roots: Mapping[str, Path], sink: Sink) -> None:
        self._loop = asyncio.get_running_loop()
        self._roots = roots
        self._sink = sink
        self._folds = {label: Fold() for label in roots}
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="files")
        self._early: list[Note] | None = []
        self._halves: dict[int, Note] = {}
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._quiet: dict[tuple[str, str], tuple[int, float]] = {}
        self._reviews: dict[str, float] = {}
        self._reviewing: dict[str, asyncio.Task[None]] = {}
        self._looking = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._fences: dict[str, asyncio.Event] = {}
        self.lost: asyncio.Future[None] = self._loop.create_future()
        self._ended = False
        self._watcher = Watcher(roots, self._from_thread)

    async def begin(self) -> None:
        """Watch, then report what is there: what changes meanwhile waits and is followed afterwards."""
        await self._loop.run_in_executor(self._threads, self._watcher.start)
        for label, root in self._roots.items():
            for path, facts in await self._loop.run_in_executor(self._threads, _baseline, root):
                self._do(label, self._folds[label].present(path, facts))
        early, self._early = self._early or [], None
        for note in early:
            self._on_note(note)

    def end(self) -> None:
        """Stop at once; open looks are dropped."""
        self._ended = True
        for timer in self._timers.values():
            timer.cancel()
        for task in self._reviewing.values():
            task.cancel()
        self._watcher.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.lost.cancel()

    async def fence(self, timeout_s: float) -> None:
        deadline = self._loop.time() + timeout_s
        passed = asyncio.Event()
        self._fences[self._watcher.send_fence()] = passed
        try:
            async with asyncio.timeout_at(deadline):
                await passed.wait()
                await self._idle.wait()
        except TimeoutError:
            pass

    # -- notifications

    def _from_thread(self, note: Note) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._receive, note)

    def _receive(self, note: Note) -> None:
        if self._ended:
            return
        if note.op == "fence":
            for cookie in list(self._halves):
                self._flush_half(cookie)
            if passed := self._fences.pop(note.path, None):
                passed.set()
        elif note.op == "lost":
            self._lose(SourceLostError(note.path))
        elif self._early is not None:
            self._early.append(note)
        else:
            self._on_note(note)

    def _on_note(self, note: Note) -> None:
        """Pair the halves of renames; a half whose path is spoken of again was a move out of the root."""
        if note.folder:
            self._review_soon(note.root)
        half = self._halves.pop(note.cookie, None) if note.op == "to" else None
        for cookie, other in list(self._halves.items()):
            if (other.root, other.path) == (note.root, note.path):
                self._flush_half(cookie)
        if half is not None:
            self._follow_rename(half, note)
        elif note.op == "from":
            self._halves[note.cookie] = note
            self._loop.call_later(PAIR_S, self._flush_half, note.cookie)
        elif note.op == "to":
            self._arrive(note)
        else:
            self._fold(note.root, Raw(_OPS[note.op], note.path, folder=note.folder))

    def _flush_half(self, cookie: int) -> None:
        half = self._halves.pop(cookie, None)
        if half is None or self._ended:
            return
        if half.folder:
            self._watcher.leave(half.root, half.path)
        self._fold(half.root, Raw("gone", half.path, folder=half.folder))

    def _follow_rename(self, half: Note, note: Note) -> None:
        if half.root == note.root:
            self._fold(note.root, Raw("moved", half.path, note.path, half.folder))
        else:
            self._fold(half.root, Raw("gone", half.path, folder=half.folder))
            self._arrive(note)

    def _arrive(self, note: Note) -> None:
        """Follow a file or a directory with all its files into the root."""
        inside = scan(self._roots[note.root], note.path) if note.folder else [(note.path, False)]
        for path, folder in inside:
            if not folder:
                self._fold(note.root, Raw("arrived", path))

    def _fold(self, root: str, raw: Raw) -> None:
        self._do(root, self._folds[root].notice(raw))

    def _do(self, root: str, what: Sequence[Do]) -> None:
        for do in what:
            if not isinstance(do, Look):
                self._sink(do.kind, {"root": root, **do.data})
            elif do.quiet:
                self._rest(root, do)
            else:
                self._look(root, do.path, do.ticket)

    # -- directories

    def _review_soon(self, root: str) -> None:
        """Directories that are made and renamed faster than they can be watched may hide a file: so look again."""
        self._reviews[root] = self._loop.time() + REVIEW_S
        if root not in self._reviewing:
            self._reviewing[root] = self._loop.create_task(self._review(root), name=f"review {root}")

    async def _review(self, root: str) -> None:
        done = 0.0
        while (due := self._reviews[root]) != done:
            await asyncio.sleep(due - self._loop.time())
            if self._reviews[root] != due:
                continue  # directories went on changing
            try:
                files = set(await self._loop.run_in_executor(self._threads, self._watcher.refresh, root))
            except OSError as error:
                self._lose(SourceLostError(f"{error.filename}: {error.strerror}"))
                return
            self._compare(root, files)
            done = due
        del self._reviewing[root]

    def _compare(self, root: str, files: set[str]) -> None:
        fold = self._folds[root]
        for path in sorted(files - fold.known.keys()):
            self._do(root, fold.notice(Raw("appeared", path)))
        for path in sorted(fold.known.keys() - files):
            self._do(root, fold.notice(Raw("closed", path)))

    def _lose(self, why: BaseException) -> None:
        if not self.lost.done():
            self.lost.set_exception(why)

    # -- looks

    def _rest(self, root: str, wanted: Look) -> None:
        """Look when nothing more was asked about the file for a moment; one timer a file, moved on when it fires."""
        key = (root, wanted.path)
        self._quiet[key] = (wanted.ticket, self._loop.time() + QUIET_S)
        if key not in self._timers:
            self._timers[key] = self._loop.call_later(QUIET_S, self._rested, key)

    def _rested(self, key: tuple[str, str]) -> None:
        ticket, due = self._quiet[key]
        if self._loop.time() < due:
            self._timers[key] = self._loop.call_at(due, self._rested, key)
            return
        del self._timers[key], self._quiet[key]
        self._look(key[0], key[1], ticket)

    def _look(self, root: str, path: str, ticket: int) -> None:
        self._looking += 1
        self._idle.clear()
        future = self._loop.run_in_executor(self._threads, look, self._roots[root], path)
        future.add_done_callback(lambda done: self._looked(root, path, ticket, done))

    def _looked(self, root: str, path: str, ticket: int, done: asyncio.Future[Facts | None]) -> None:
        self._looking -= 1
        if not self._ended and not done.cancelled():
            error = done.exception()
            if isinstance(error, UnsettledError):
                self._rest(root, Look(path, ticket, quiet=True))
            elif error is not None:
                self._lose(error)
            else:
                self._do(root, self._folds[root].looked(path, ticket, done.result()))
        if self._looking == 0:
            self._idle.set()


def _baseline(root: Path) -> list[tuple[str, Facts]]:
    found = []
    for path, folder in scan(root):
        if folder:
            continue
        try:
            facts = look(root, path)
        except UnsettledError:
            continue  # it is being written: its notification waits, and reports it
        if facts is not None:
            found.append((path, facts))
    return found
