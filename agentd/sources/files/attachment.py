"""One life of the source, from baseline to loss: the watcher (a thread), the folds (pure) and the
looks (threads that read), joined on the daemon's loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from agentd.core.patience import Patience
from agentd.core.source import Sink, SourceLostError
from agentd.sources.files.facts import FileFacts, FileGlance
from agentd.sources.files.fold import Do, Look, Op, Raw, RootFold
from agentd.sources.files.look import UnsettledError, look
from agentd.sources.files.looks import Found, Looks
from agentd.sources.files.mounts import Mount, MountEvents, below, read_mounts
from agentd.sources.files.names import printable_path
from agentd.sources.files.notify import Note, Watcher
from agentd.sources.files.pairs import Pairs
from agentd.sources.files.rounds import Rounds
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import Root, glances, scan

MAX_NOTES = 100_000
"""How many notifications may wait for the loop; beyond, the disk is read instead of them."""
STEP_S = 1.0
"""The longest that a step's seal waits for files that are not at rest, in seconds."""
CLOSE_S = 6.0
"""The same of the episode's close: longer than one look at any file takes."""
_TURN = 500
"""How many notifications are followed before other work gets its turn on the loop."""
_OPS: Mapping[str, Op] = {
    "created": "appeared",
    "found": "appeared",
    "landed": "arrived",
    "written": "written",
    "closed": "closed",
    "gone": "gone",
}


class RootAttachment:
    """One life of the source.

    ``told(root, path)``: whether an attachment before reported the file as there; ``gone(root,
    there, closed)``: reports what went unobserved, given the paths that are there and the folders
    that may not be read.
    """

    def __init__(
        self,
        paths: Mapping[str, Path],
        own: Iterable[Path],
        sink: Sink,
        troubles: Troubles,
        told: Callable[[str, str], bool],
        gone: Callable[[str, set[str], set[str]], None],
        patience: Patience,
    ) -> None:
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._sink = sink
        self._troubles = troubles
        self._told = told
        self._gone = gone
        self._roots = {label: Root(label, path, troubles) for label, path in paths.items()}
        self._folds = {label: RootFold() for label in paths}
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="files")
        self._notes: deque[Note] = deque()
        self._behind = False
        self._awake = False
        self._begun = False
        self._ended = False
        self._late = False
        """Whether the last fence did not bring all notifications."""
        self._unread: list[asyncio.Future[Found]] = []
        """The files that were being read when it had."""
        self._overflown = False
        self._fences: dict[str, asyncio.Event] = {}
        self.lost: asyncio.Future[None] = self._loop.create_future()
        self._watcher = Watcher(self._roots, self._from_thread)
        self._own = (*own, self._watcher.folder)
        self._pairs = Pairs(self._handle_departure)
        self._looks = Looks(self._roots, self._folds, self._threads, self._finish_look, self._lose)
        self._rounds = Rounds(
            self._roots,
            self._folds,
            self._watcher.places,
            self._threads,
            self._do,
            self._finish,
            self._lose,
        )
        self._mounted: dict[str, tuple[Mount | None, dict[str, Mount]]] = {}
        self._mounts = MountEvents(self._loop.add_reader, self._remounted)

    async def begin(self) -> None:
        """Watch, then report what is there: what changes meanwhile waits and is followed
        afterwards."""
        self._note_mounts()
        await self._loop.run_in_executor(self._threads, self._watcher.start)
        for label, root in self._roots.items():
            found, closed = await self._loop.run_in_executor(self._threads, _baseline, root)
            for entry, facts in found:
                self._present(label, entry, facts)
            there = {printable_path(entry.path) for entry, _ in found}
            self._gone(label, there, {printable_path(path) for path in closed})
        self._begun = True
        self._troubles.note_start()
        self._drain()
        self._rounds.start()
        self._finish()

    def _present(self, label: str, entry: FileGlance, facts: FileFacts | None) -> None:
        """Take in an entry of the baseline; one without facts is being written, or no file."""
        fold = self._folds[label]
        if entry.what == "folder":
            fold.present_folder(entry.path)
        elif facts is not None:
            told = self._told(label, printable_path(entry.path))
            self._do(label, fold.present(entry.path, facts, told))

    def end(self) -> None:
        """Stop at once; open looks are dropped."""
        self._ended = True
        self._loop.remove_reader(self._mounts.fd)
        self._mounts.close()
        self._looks.stop()
        self._rounds.stop()
        self._pairs.stop()
        self._watcher.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.lost.cancel()

    async def fence(self, timeout_s: float) -> None:
        """Return once all that was written and closed before is reported, at most after
        ``timeout_s`` seconds."""
        self._late = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._pass_fence()
                await self._rounds.poll()
                await self._rounds.settled()
                self._unread = self._looks.list_running()
                self._late = False
                await self._looks.idle.wait()

    def _is_late(self) -> bool:
        """Whether something that happened before the last fence is not reported."""
        return self._late or not all(future.done() for future in self._unread)

    async def _pass_fence(self) -> None:
        """Wait until the kernel's queue was read up to this moment."""
        name = self._watcher.send_fence()
        if name is not None:
            passed = self._fences[name] = asyncio.Event()
            await passed.wait()

    async def wait_settled(self, *, closing: bool) -> None:
        """Return once what was done to files before is reported, though nobody closed them.

        At once where nothing is open. What is written on and on is reported when it rests, and at
        the close as it is then. What was at rest and is not reported by then is a loss.
        """
        longest_s = self._patience.extend(CLOSE_S if closing else STEP_S)
        until = self._loop.time() + longest_s
        if self._is_late():
            await self.fence(longest_s)
        is_reviewed = await self._wait_reviewed(until) if closing or self._overflown else True
        count = 0
        if closing:
            count = await self._looks.finish(until - self._loop.time())
            is_reviewed &= await self._report_unsettled(until + self._patience.extend(STEP_S))
        else:
            await self._looks.wait_settled(until - self._loop.time())
        if count or not is_reviewed or self._overflown or self._is_late():
            reason = f"what happened to files was not read within {longest_s:g} s"
            data: dict[str, object] = {"source": "files", "reason": reason}
            if count:
                data["count"] = count
            self._sink("events.dropped", data)

    async def _wait_reviewed(self, until: float) -> bool:
        """Wait for what is to be read anew; false where that took longer than ``until``."""
        try:
            async with asyncio.timeout_at(until):
                await self._rounds.reviewed()
        except TimeoutError:
            return False
        self._overflown = False
        return True

    async def _report_unsettled(self, until: float) -> bool:
        """Report the files that somebody holds open under a temporary name; false where they could
        not be looked at by ``until``."""
        for label, fold in self._folds.items():
            paths = fold.open_temporaries()
            if not paths:
                continue
            look = partial(_glance_all, self._roots[label], paths)
            try:
                async with asyncio.timeout_at(until):
                    entries = await self._loop.run_in_executor(self._threads, look)
            except TimeoutError:
                return False
            except OSError as error:
                self._lose(error)
                return False
            for entry in entries:
                self._do(label, fold.finish_unsettled(entry))
        return True

    # -- notifications

    def _from_thread(self, note: Note) -> None:
        """Queue a note of the watching thread, and wake the loop; beyond the bound only that there
        were more."""
        if len(self._notes) >= MAX_NOTES and note.op != "fence":
            self._behind = True
            return
        self._notes.append(note)
        if not self._awake and not self._loop.is_closed():
            self._awake = True
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        """Handle a turn of notes, and go on later with the rest; after lost ones all is looked at
        anew."""
        self._awake = False
        if self._ended or not self._begun:
            return
        for _ in range(min(_TURN, len(self._notes))):
            self._on_note(self._notes.popleft())
        if self._behind and len(self._notes) < MAX_NOTES:
            self._behind = False
            self._overflowed("the daemon could not keep up with what happened")
            self._notes.append(Note("missed", "", ""))  # after those that came before the lost ones
        if self._notes and not self._awake:
            self._awake = True
            self._loop.call_soon(self._drain)

    def _on_note(self, note: Note) -> None:
        """Follow one notification, in the kernel's order."""
        match note.op:
            case "fence":
                self._pairs.flush_all()
                passed = self._fences.pop(note.path, None)
                if passed is not None:
                    passed.set()
            case "lost":
                self._lose(SourceLostError(note.path))
            case "overflow":
                self._overflowed("the kernel's queue overflowed (fs.inotify.max_queued_events)")
            case "missed":
                self._note_overflow()
            case "unmounted":
                self._unmounted(note)
            case "changed":
                self._rounds.changed(note.root, note.path)
            case _:
                self._follow(note)

    def _follow(self, note: Note) -> None:
        """Pair the halves of renames; a half whose path occurs again was a move out of the root."""
        if note.folder:
            self._rounds.review(note.root)
        half = self._pairs.take(note.cookie) if note.op == "to" else None
        self._pairs.flush_at(note.root, note.path)
        if note.op == "from":
            self._pairs.hold(note)
        elif note.op == "to":
            self._arrive(note, half)
        else:
            raw = Raw(_OPS[note.op], note.path, folder=note.folder, unseen=note.unseen)
            self._fold(note.root, raw)

    def _arrive(self, note: Note, half: Note | None) -> None:
        """Follow the second half of a rename; ``half``: the first, if it is known."""
        if half is not None and half.root == note.root:
            self._fold(note.root, Raw("moved", half.path, note.path, half.folder))
            return
        if half is not None:
            self._fold(half.root, Raw("gone", half.path, folder=half.folder))
        # What is in a folder that arrives the watcher finds, and reports after this.
        self._fold(note.root, Raw("arrived", note.path, folder=note.folder))

    def _handle_departure(self, half: Note) -> None:
        """Follow a first half that stayed alone: it left the root."""
        if half.folder:
            self._watcher.places.leave(half.root, half.path)
        self._fold(half.root, Raw("gone", half.path, folder=half.folder))

    def _fold(self, root: str, raw: Raw) -> None:
        self._do(root, self._folds[root].notice(raw))

    def _overflowed(self, why: str) -> None:
        """Have all folders read: that shows what was lost, but not what came and went meanwhile."""
        self._troubles.add("notifications", "", f"{why}: all folders are read anew")
        self._troubles.publish(self._sink)
        self._overflown = True
        self._pairs.flush_all()
        self._note_overflow()
        for label in self._roots:
            self._rounds.review(label)

    def _note_overflow(self) -> None:
        """Report in every root that the kernel lost notes."""
        for label, fold in self._folds.items():
            self._do(label, fold.note_overflow())

    # -- mounts

    def _note_mounts(self) -> list[str]:
        """Take in which file systems lie where; returns the roots for which that changed."""
        mounts = read_mounts()
        changed = []
        for label, root in self._roots.items():
            mounted = below(root.path, mounts)
            if self._mounted.get(label) != mounted:
                self._mounted[label] = mounted
                self._apply_mounts(root, *mounted)
                changed.append(label)
        return changed

    def _apply_mounts(self, root: Root, on: Mount | None, inside: dict[str, Mount]) -> None:
        """Note what of a root is not looked at, and where the kernel is silent."""
        own = (path for path in self._own if path.is_relative_to(root.path))
        root.hidden = {str(path.relative_to(root.path)) for path in own}
        root.hidden |= {path for path, mount in inside.items() if mount.no_files}
        silent = {path: mount for path, mount in inside.items() if mount.silent}
        if on is not None and on.silent:
            root.silent = ("", *silent)
            silent = {"": on}  # one alarm for the whole root
        else:
            root.silent = tuple(silent)
        self._troubles.leave("mounts", root.label)
        for path, mount in silent.items():
            place = f"{root.label}/{path}"
            reason = "what others change there is only seen by reading it"
            self._troubles.add("mounts", place, f"{place} is on {mount.kind}: {reason}")

    def _remounted(self) -> None:
        """Look again through the roots in which something was mounted."""
        for label in self._note_mounts():
            self._rounds.review(label)

    def _unmounted(self, note: Note) -> None:
        """End the source with a root that was unmounted; look through the root for anything in
        it."""
        if note.path == "":
            self._lose(SourceLostError(f"{self._roots[note.root].path} was unmounted"))
        else:
            self._rounds.review(note.root)

    # -- reports

    def _do(self, root: str, what: list[Do]) -> None:
        """Look at files, or report observations, their paths made printable."""
        for do in what:
            if isinstance(do, Look):
                self._looks.want(root, do)
                continue
            data = {"root": root, **do.data}
            for name in data.keys() & {"path", "name", "from", "link"}:
                data[name] = printable_path(str(data[name]))
            self._sink(do.kind, data)

    def _finish_look(self, root: str, path: str, ticket: int, facts: FileFacts | None) -> None:
        self._do(root, self._folds[root].finish_look(path, ticket, facts))
        self._troubles.publish(self._sink)

    def _finish(self) -> None:
        """End the trouble of lost notes once nothing is left to look at, and tell the troubles that
        are left."""
        if self._ended or not self._begun:
            return
        if not self._rounds.reviewing and not self._behind:
            self._troubles.remove("notifications", "")
        self._troubles.publish(self._sink)

    def _lose(self, why: BaseException) -> None:
        """Let the source end, with the first reason."""
        if not self.lost.done():
            self.lost.set_exception(why)


def _glance_all(root: Root, paths: list[str]) -> list[FileGlance]:
    """Return what stands at ``paths``, but for those at which there is nothing, or nobody can
    tell. Raises `RootGoneError`."""
    return [entry for _, entry in glances(root, paths) if entry is not None]


def _baseline(root: Root) -> tuple[list[tuple[FileGlance, FileFacts | None]], list[str]]:
    """Return everything that is there, and the folders that may not be read.

    A file that is being written has no facts: its notification waits, and reports it.
    """
    closed: list[str] = []
    found: list[tuple[FileGlance, FileFacts | None]] = []
    for entry in scan(root, "", closed):
        facts = None
        if entry.what in ("file", "link"):
            with contextlib.suppress(UnsettledError):
                facts = look(root, entry.path)
        found.append((entry, facts))
    return found, closed
