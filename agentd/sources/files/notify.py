"""The kernel's notifications, in the kernel's order, over watchdog's reader of inotify.

watchdog's observer would deliver them through a thread a root and hold an unpaired rename back for half a second
with all that follows it; its reader gives the one order that a fence needs, and tells of an overflow.
A fence is a file made in a directory of our own: when its notification comes, all earlier ones have come.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import structlog
from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from agentd.sources.files.look import scan

_C = InotifyConstants
_MASK = Mask(
    _C.IN_CREATE | _C.IN_MODIFY | _C.IN_CLOSE_WRITE | _C.IN_MOVED_FROM | _C.IN_MOVED_TO | _C.IN_DELETE
    | _C.IN_DELETE_SELF | _C.IN_MOVE_SELF | _C.IN_ONLYDIR | _C.IN_DONT_FOLLOW
)  # fmt: skip
_HALVES = 64
"""How many first halves of renames are remembered; the second follows at once or never."""
_FENCE_MASK = Mask(_C.IN_CREATE | _C.IN_ONLYDIR)

log = structlog.get_logger(__name__)


class Note(NamedTuple):
    """One notification. ``root`` is "" for a fence and for a loss. ``cookie`` pairs the halves of a rename."""

    op: str
    root: str
    path: str
    folder: bool = False
    cookie: int = 0


class Watcher:
    """Watches directories, and those that appear in them, from `start` to `stop`.

    ``tell`` is called on the watcher's own thread with each `Note`: ``created``, ``written``, ``closed``,
    ``from``, ``to``, ``gone``, ``found`` (in a directory that appeared), ``fence``, ``lost``.
    """

    def __init__(self, roots: Mapping[str, Path], tell: Callable[[Note], None]) -> None:
        self._roots = roots
        self._tell = tell
        self._id = CallbackId(id(self))
        self._where: dict[WatchDescriptor, tuple[str, str]] = {}
        self._watched: set[tuple[str, str]] = set()
        self._halves: dict[int, tuple[str, str]] = {}
        self._guard = threading.RLock()
        self._numbers = itertools.count()
        self._folder = Path(tempfile.mkdtemp(prefix="agentd-fence-"))
        self._inotify = _Reader(self._died)

    def start(self) -> None:
        """Watch everything below the roots; raises OSError (a root is gone, the kernel's limit is reached)."""
        # A directory found under its new name before its rename is read is added once more: the kernel gives
        # the same watch, and watchdog a warning for every one of them.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._add("", "", self._folder, _FENCE_MASK)
        for label, path in self._roots.items():
            self._add(label, "", path, _MASK)
            self._add_below(label, "", set())
        # What happens meanwhile waits in the kernel's queue, so the table of directories is complete first.
        self._inotify.start()

    def stop(self) -> None:
        """Watch no longer; safe after a failed `start`."""
        if not self._inotify.is_alive():
            self._inotify.start()  # only its own thread gives the kernel's instance back
        self._inotify.stop()
        self._inotify.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def send_fence(self) -> str:
        """Make a fence's file; its name comes back as the path of a ``fence`` note."""
        path = self._folder / str(next(self._numbers))
        path.touch()
        path.unlink()
        return path.name

    def leave(self, root: str, path: str) -> None:
        """Forget a directory that was moved out of the root: what happens there is nobody's business here."""
        with self._guard:
            gone = [wd for wd, (label, where) in self._where.items() if label == root and _within(where, path)]
            for wd in gone:
                self._drop(wd)
                self._inotify.remove_callbacks([(wd, self._id)])

    def refresh(self, root: str) -> list[str]:
        """Place every watch anew by what is on the disk now; gives all files. Blocks while it reads directories."""
        with self._guard:
            before = {wd for wd, (label, _) in self._where.items() if label == root}
            for wd in before:
                self._drop(wd)
            self._add(root, "", self._roots[root], _MASK)
            files = [path for path, folder in scan(self._roots[root]) if not self._folder_at(root, path, folder)]
            stale = before - self._where.keys()
            self._inotify.remove_callbacks([(wd, self._id) for wd in stale])
            return files

    def _folder_at(self, root: str, path: str, folder: bool) -> bool:
        if folder:
            self._add(root, path, self._roots[root] / path, _MASK)
        return folder

    # -- on the reader's thread

    def on_event(self, event: InotifyEvent) -> None:
        with self._guard:
            if event.wd not in self._where:
                return
            root, folder = self._where[event.wd]
            name = os.fsdecode(event.name)
            if root == "":
                self._tell(Note("fence", "", name))
                return
            self._translate(event, root, f"{folder}/{name}" if folder and name else folder or name)

    def _translate(self, event: InotifyEvent, root: str, path: str) -> None:
        mask, folder = event.mask, bool(event.mask & _C.IN_ISDIR)
        if mask & (_C.IN_DELETE_SELF | _C.IN_MOVE_SELF | _C.IN_UNMOUNT):
            if path == "":
                self._tell(Note("lost", "", f"{self._roots[root]} is gone"))
        elif mask & _C.IN_CREATE:
            self._appeared(Note("created", root, path, folder))
        elif mask & _C.IN_MOVED_FROM:
            self._halves[event.cookie] = (root, path)
            if len(self._halves) > _HALVES:
                del self._halves[next(iter(self._halves))]
            self._tell(Note("from", root, path, folder, event.cookie))
        elif mask & _C.IN_MOVED_TO:
            self._arrived(Note("to", root, path, folder, event.cookie))
        elif mask & _C.IN_DELETE:
            self._tell(Note("gone", root, path, folder))
        elif mask & _C.IN_CLOSE_WRITE:
            self._tell(Note("closed", root, path))
        elif mask & _C.IN_MODIFY:
            self._tell(Note("written", root, path))

    def _appeared(self, note: Note) -> None:
        if not note.folder:
            self._tell(note)
            return
        fresh = self._add(note.root, note.path, self._roots[note.root] / note.path, _MASK)
        for path in self._add_below(note.root, note.path, {note.path} if fresh else set()):
            self._tell(Note("found", note.root, path))

    def _arrived(self, note: Note) -> None:
        source = self._halves.pop(note.cookie, None)
        self._tell(note)
        if not note.folder:
            return
        if source is not None and source[0] == note.root:
            for wd, (label, where) in list(self._where.items()):
                if label == note.root and _within(where, source[1]):
                    self._put(wd, label, note.path + where[len(source[1]) :])
        # It, or something in it, may have been renamed before it could be watched under its first name.
        self._appeared(note)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        with self._guard:
            self._drop(wd)

    def on_queue_overflow(self) -> None:
        self._tell(Note("lost", "", "the kernel's queue overflowed and notifications were lost"))

    def _died(self) -> None:
        self._tell(Note("lost", "", "the reader of notifications ended"))

    # -- directories

    def _add_below(self, root: str, below: str, fresh: set[str]) -> list[str]:
        """Watch all directories below one; gives the files in those that were not watched before."""
        found: list[str] = []
        for path, folder in scan(self._roots[root], below):
            if not folder:
                if path.rpartition("/")[0] in fresh:
                    found.append(path)
            elif self._add(root, path, self._roots[root] / path, _MASK):
                fresh.add(path)
        return found

    def _add(self, root: str, path: str, folder: Path, mask: Mask) -> bool:
        """Watch one directory; False: it is watched, or below a root it is gone already or closed to us."""
        if (root, path) in self._watched:
            return False
        if folder.is_dir() and not os.access(folder, os.R_OK):
            if path == "":
                raise PermissionError(errno.EACCES, "cannot be read", str(folder))
            log.warning("A directory cannot be read; it is not watched.", root=root, path=path)
            return False
        try:
            wd = self._inotify.add_callback(os.fsencode(folder), mask, self, self._id)
        except OSError as error:
            if path == "" or error.errno not in (errno.ENOENT, errno.ENOTDIR):
                raise OSError(error.errno, error.strerror, str(folder)) from None
            return False
        self._put(wd, root, path)
        return True

    def _put(self, wd: WatchDescriptor, root: str, path: str) -> None:
        self._drop(wd)  # the kernel knows a directory by its own number, whatever it was called before
        self._where[wd] = (root, path)
        self._watched.add((root, path))

    def _drop(self, wd: WatchDescriptor) -> None:
        place = self._where.pop(wd, None)
        if place is not None:
            self._watched.discard(place)


class _Reader(InotifyFD):
    """watchdog's reader, which tells when it ends without being told to: nobody would hear anything any more."""

    def __init__(self, died: Callable[[], None]) -> None:
        super().__init__()
        self._on_death = died

    def run(self) -> None:
        try:
            super().run()
        finally:
            if self.should_keep_running():
                self._on_death()


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")
