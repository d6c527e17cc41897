"""The kernel's notifications, in the kernel's order, over watchdog's reader of inotify.

watchdog's observer would deliver them through a thread a root and hold an unpaired rename back for
half a second with all that follows it; its reader gives the one order that a fence needs, and tells
of an overflow. A fence is a file made in a directory of our own: when its notification comes, all
earlier ones have come.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from watchdog.observers.inotify_c import (
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

from agentd.sources.files.changed_before import (
    FolderTimes,
    has_lost_entry,
    parent_of,
    read_times,
)
from agentd.sources.files.facts import FileGlance
from agentd.sources.files.fences import FenceFolder, remove_abandoned
from agentd.sources.files.places import Places
from agentd.sources.files.walk import Root, in_words

_C = InotifyConstants
MASK = Mask(
    _C.IN_CREATE
    | _C.IN_MODIFY
    | _C.IN_ATTRIB
    | _C.IN_CLOSE_WRITE
    | _C.IN_MOVED_FROM
    | _C.IN_MOVED_TO
    | _C.IN_DELETE
    | _C.IN_DELETE_SELF
    | _C.IN_MOVE_SELF
    | _C.IN_ONLYDIR
)
_OPS: dict[int, str] = {
    _C.IN_UNMOUNT: "unmounted",
    _C.IN_DELETE_SELF: "lost",
    _C.IN_MOVE_SELF: "lost",
    _C.IN_CREATE: "created",
    _C.IN_MOVED_FROM: "from",
    _C.IN_MOVED_TO: "to",
    _C.IN_DELETE: "gone",
    _C.IN_CLOSE_WRITE: "closed",
    _C.IN_MODIFY: "written",
    _C.IN_ATTRIB: "changed",
}
_HALVES = 64
"""How many first halves of renames are remembered; the second follows at once or never."""


class Note(NamedTuple):
    """One notification. ``root`` is "" for a fence, an overflow and a loss. ``cookie`` pairs the
    halves of a rename; ``unseen``: something came and went in a new folder before it was
    watched."""

    op: str
    root: str
    path: str
    folder: bool = False
    cookie: int = 0
    unseen: bool = False


class Watcher:
    """Watches directories, and those that appear in them, from `start` to `stop`.

    ``tell`` is called on the watcher's own thread with each `Note`: ``created``, ``written``,
    ``closed``, ``changed`` (its attributes), ``from``, ``to``, ``gone``, ``found`` (in a folder
    that appeared), ``landed`` (in one that arrived), ``fence``, ``lost``, ``overflow``,
    ``unmounted``.
    """

    def __init__(self, roots: Mapping[str, Root], tell: Callable[[Note], None]) -> None:
        self._roots = roots
        self._tell = tell
        self._halves: dict[int, tuple[str, str]] = {}
        self._numbers = itertools.count()
        self._fences = FenceFolder()
        # In this order: a mask may have several bits, and the first decides.
        self._handlers: dict[int, Callable[[InotifyEvent, Root, Note], None]] = {
            _C.IN_UNMOUNT: self._pass,
            _C.IN_DELETE_SELF: self._handle_self,
            _C.IN_MOVE_SELF: self._handle_self,
            _C.IN_CREATE: self._handle_create,
            _C.IN_MOVED_FROM: self._handle_departure,
            _C.IN_MOVED_TO: self._handle_arrival,
            _C.IN_DELETE: self._handle_delete,
            _C.IN_CLOSE_WRITE: self._pass,
            _C.IN_MODIFY: self._pass,
            _C.IN_ATTRIB: self._handle_attributes,
        }
        troubles = next(iter(roots.values())).troubles
        self.places = Places(roots, troubles, lambda: _Reader(self._died), self, MASK, self.folder)

    @property
    def folder(self) -> Path:
        """Where the fences are made, none of anybody's business."""
        return self._fences.path

    def start(self) -> None:
        """Watch everything below the roots; raises OSError (a root is gone)."""
        remove_abandoned()
        self.places.start()

    def stop(self) -> None:
        """Watch no longer; safe after a failed `start`."""
        self.places.stop()
        self._fences.remove()

    def send_fence(self) -> str | None:
        """Make a fence's file; its name comes back as the path of a ``fence`` note. None: there are
        no fences."""
        if not self.places.fenced:
            return None
        path = self.folder / str(next(self._numbers))
        path.touch()
        path.unlink()
        return path.name

    # -- on the reader's thread

    def on_event(self, event: InotifyEvent) -> None:
        """Turn one notification of watchdog's reader into a note."""
        place = self.places.folder_of(event.wd)
        if place is None:
            return
        label, folder = place
        name = os.fsdecode(event.name)
        if label == "":
            self._tell(Note("fence", "", name))
            return
        path = f"{folder}/{name}" if folder and name else folder or name
        if self._roots[label].ours(path):
            try:
                self._translate(event, self._roots[label], path)
            except OSError as error:
                self._tell(Note("lost", "", in_words(error)))

    def _translate(self, event: InotifyEvent, root: Root, path: str) -> None:
        """Handle an event of inotify by its first bit that means something here."""
        bit = next((bit for bit in self._handlers if event.mask & bit), None)
        if bit is not None:
            is_folder = bool(event.mask & _C.IN_ISDIR)
            self._handlers[bit](event, root, Note(_OPS[bit], root.label, path, is_folder))

    def _pass(self, event: InotifyEvent, root: Root, note: Note) -> None:
        self._tell(note._replace(folder=False))

    def _handle_self(self, event: InotifyEvent, root: Root, note: Note) -> None:
        """Report a root that is gone itself."""
        if note.path == "":
            self._tell(Note("lost", "", f"{root.path} is gone"))

    def _handle_create(self, event: InotifyEvent, root: Root, note: Note) -> None:
        """Report what came, and watch it if it is a folder."""
        if note.folder:
            self._watch_folder(root, note.path, "found", note)
        else:
            self._tell(note)

    def _handle_departure(self, event: InotifyEvent, root: Root, note: Note) -> None:
        """Report the first half of a move, and keep it for the second one."""
        self._halves[event.cookie] = (root.label, note.path)
        if len(self._halves) > _HALVES:
            del self._halves[next(iter(self._halves))]
        self._tell(note._replace(cookie=event.cookie))

    def _handle_arrival(self, event: InotifyEvent, root: Root, note: Note) -> None:
        """Report the second half of a move, and watch a folder that came."""
        source = self._halves.pop(event.cookie, None)
        self._tell(note._replace(cookie=event.cookie))
        if not note.folder:
            return
        if source is not None and source[0] == note.root:
            self.places.renamed(note.root, source[1], note.path)
        # It, or something in it, may have been renamed before it could be watched under its first
        # name.
        self._watch_folder(root, note.path, "landed")

    def _handle_delete(self, event: InotifyEvent, root: Root, note: Note) -> None:
        """Report what went, and watch a folder no more."""
        if note.folder:
            self.places.leave(root.label, note.path)
        self._tell(note)

    def _handle_attributes(self, event: InotifyEvent, root: Root, note: Note) -> None:
        """Watch a folder that may have been opened to us; report a file's new mode or names."""
        # A folder may have been opened to us just now; of a file the mode or the number of its
        # names changed.
        if event.name and note.folder:
            self._watch_folder(root, note.path, "found")
        elif event.name:
            self._tell(note)

    def _watch_folder(self, root: Root, path: str, op: str, made: Note | None = None) -> None:
        """Watch a folder and those in it, and report what is in those that are new as ``op``;
        before that ``made``, where the folder was made just now."""
        fresh = {path} if self.places.watch(root, path) else set()
        times = {folder: read_times(root, folder) for folder in fresh if made is not None}
        found = self.places.watch_below(root, path, fresh, None if made is None else times)
        unseen = _find_unseen(root, times, found)
        if made is not None:
            self._tell(made._replace(unseen=path in unseen))
        for entry in found:
            is_folder = entry.what == "folder"
            self._tell(Note(op, root.label, entry.path, is_folder, unseen=entry.path in unseen))

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        self.places.drop(wd)

    def on_queue_overflow(self) -> None:
        self._tell(Note("overflow", "", ""))

    def _died(self) -> None:
        self._tell(Note("lost", "", "the reader of notifications ended"))


def _find_unseen(
    root: Root, times: Mapping[str, FolderTimes | None], found: Sequence[FileGlance]
) -> set[str]:
    """Return the new folders in which something came and went before they were watched, by their
    ``times`` then and what was ``found`` in all."""
    held: dict[str, list[FileGlance]] = {folder: [] for folder in times}
    for entry in found:
        held.setdefault(parent_of(entry.path), []).append(entry)
    return {
        folder
        for folder, known in times.items()
        if known is not None and has_lost_entry(root, known, held[folder])
    }


class _Reader(InotifyFD):
    """watchdog's reader, which tells when it ends without being told to: nobody would hear anything
    any more."""

    def __init__(self, died: Callable[[], None]) -> None:
        super().__init__()
        self._on_death = died

    def run(self) -> None:
        """Read until it is stopped; any other end is reported."""
        try:
            super().run()
        finally:
            if self.should_keep_running():
                self._on_death()
