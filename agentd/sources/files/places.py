"""Which folders the kernel reports, by its watch descriptors, and which must be polled instead.

A watch is set on an open descriptor, never on a name: what the agent puts in a folder's place is
not watched.
"""

from __future__ import annotations

import errno
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)

from agentd.sources.files.changed_before import FolderTimes, read_times
from agentd.sources.files.facts import FileGlance
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import ClosedError, Root, RootGoneError, entries, scan, spot
from agentd.sources.files.watched import Place, Watched

POLL_S = 1.0
"""How often a folder is read that the kernel does not report, in seconds."""
_FENCE = Mask(InotifyConstants.IN_CREATE | InotifyConstants.IN_ONLYDIR)
_LIMITS = (errno.ENOSPC, errno.EMFILE, errno.ENFILE)


class Places:
    """The folders below the roots, and how each is followed.

    ``reader`` makes what reads the kernel's notifications; it raises OSError where the kernel gives
    no more. ``hears`` gets them. ``fences``: the folder of the fences.
    """

    def __init__(
        self,
        roots: Mapping[str, Root],
        troubles: Troubles,
        reader: Callable[[], InotifyFD],
        hears: WatchCallback,
        mask: Mask,
        fences: Path,
    ) -> None:
        self.roots = roots
        self.fenced = False
        self._troubles = troubles
        self._make = reader
        self._hears = hears
        self._mask = mask
        self._fences = fences
        self._id = CallbackId(id(hears))
        self._reader: InotifyFD | None = None
        self._watched = Watched()
        self._guard = threading.RLock()

    def start(self) -> None:
        """Watch everything below the roots; raises OSError where a root is gone or may not be
        read."""
        # A folder that is found again gets the same watch from the kernel, and from watchdog a
        # warning.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._set_up()
        for root in self.roots.values():
            entries(root, "")
            self.watch(root, "")
            self.watch_below(root, "", set())
        # What happens meanwhile waits in the kernel's queue, so the table of folders is complete
        # first.
        if self._reader is not None:
            self._reader.start()

    def stop(self) -> None:
        """Watch no longer; safe after a failed `start`."""
        reader, self._reader = self._reader, None
        if reader is not None:
            if not reader.is_alive():
                reader.start()  # only its own thread gives the kernel's instance back
            reader.stop()
            reader.join()

    def folder_of(self, wd: WatchDescriptor) -> Place | None:
        """Return the folder of a watch; ("", "") is that of the fences."""
        # A watch may report before the thread that set it has noted its place.
        with self._guard:
            return self._watched.place_of(wd)

    @property
    def polled(self) -> list[Place]:
        """The folders that must be read every `POLL_S` seconds."""
        with self._guard:
            return self._watched.polled()

    def watch(self, root: Root, path: str) -> bool:
        """Watch one folder, or note that it must be polled.

        Returns false where it was known, is gone, or may not be read.
        """
        place = (root.label, path)
        with self._guard:
            if self._watched.find_how(place) is not None:
                return False
            self._set(root, place)
            return self._watched.find_how(place) is not None

    def watch_below(
        self,
        root: Root,
        below: str,
        fresh: set[str],
        times: dict[str, FolderTimes | None] | None = None,
    ) -> list[FileGlance]:
        """Watch all folders below one; returns those that are new and the files in them.

        ``fresh``: folders that are new; those found are added. So are to ``times``, where it is
        given, their times as they were watched, before anybody looked into them.
        """
        found: list[FileGlance] = []
        for entry in scan(root, below):
            if entry.what != "folder":
                if entry.path.rpartition("/")[0] in fresh:
                    found.append(entry)
            elif self.watch(root, entry.path):
                fresh.add(entry.path)
                found.append(entry)
                if times is not None:
                    times[entry.path] = read_times(root, entry.path)
        return found

    def renamed(self, root: str, path: str, dest: str) -> None:
        """Follow a folder that moved within its root; the kernel keeps its watches."""
        with self._guard:
            self._watched.move(root, path, dest)

    def leave(self, root: str, path: str) -> None:
        """Forget a folder that is gone or was moved out of the root."""
        with self._guard:
            self._remove(self._watched.leave_all(root, path))
        self._troubles.leave("folders", f"{root}/{path}")
        self._report_limits()

    def drop(self, wd: WatchDescriptor) -> None:
        """Forget a watch that the kernel ended."""
        with self._guard:
            place = self._watched.remove_watch(wd)
            if place is not None:
                self._watched.leave(place)

    def refresh(self, root: Root) -> tuple[list[FileGlance], list[str]]:
        """Place every watch of a root anew by what is on the disk now.

        Returns everything found, and the folders that may not be read. Blocks while it reads; what
        the kernel reports meanwhile is taken in meanwhile.
        """
        with self._guard:
            before = self._watched.watches(root.label)
            placed = self._watched.places(root.label)
        closed: list[str] = []
        kept = {self._again(root, "")}
        folders = {""}
        found = []
        for entry in scan(root, "", closed):
            found.append(entry)
            if entry.what == "folder":
                folders.add(entry.path)
                kept.add(self._again(root, entry.path))
        with self._guard:
            for place in placed:
                if place[1] not in folders:
                    self._watched.leave(place)
            self._remove([wd for wd in before if wd not in kept])
        self._report_limits()
        return found, closed

    def read_polled(self) -> list[tuple[str, str, list[FileGlance]]]:
        """Read the folders that must be polled: (root, folder, entries) each.

        Those for which the kernel has a watch again are read for the last time.
        """
        queue = self.polled
        self._retry()
        read = []
        for label, path in queue:
            root = self.roots[label]
            try:
                listed = entries(root, path)
            except ClosedError:
                continue
            read.append((label, path, listed))
            for entry in listed:
                if entry.what == "folder" and self.watch(root, entry.path):
                    queue.append((label, entry.path))
        self._report_limits()
        return read

    # -- one watch

    def _set_up(self) -> None:
        """Get the kernel's instance, and the watch of the fences before all others."""
        try:
            if self._reader is None:
                self._reader = self._make()
            fences = bytes(self._fences)
            wd = self._reader.add_callback(fences, _FENCE, self._hears, self._id)
        except OSError as error:
            if error.errno not in _LIMITS:
                raise
            return
        self._watched.set_watch(wd, ("", ""))
        self.fenced = True

    def _set(self, root: Root, place: Place) -> WatchDescriptor | None:
        """Watch a folder and note how it is followed from now on; None: it is not watched."""
        try:
            wd = self._add(root, place[1])
        except RootGoneError:
            raise
        except OSError as error:
            if error.errno in _LIMITS:
                self._watched.follow(place, "limit")
                self._report_limits()
            return None  # else it is gone again
        if wd == -1:
            self._watched.leave(place)  # it may not be read, which `entries` reports
            return None
        # The kernel knows a folder by its own number, whatever it was called before.
        before = self._watched.remove_watch(wd)
        if before is not None and before != place:
            self._watched.leave(before)
        self._watched.set_watch(wd, place)
        self._watched.follow(place, "silent" if root.is_silent(place[1]) else "told")
        return wd

    def _add(self, root: Root, path: str) -> WatchDescriptor:
        """Watch a folder by its descriptor, whatever its name is by now. Raises OSError."""
        if self._reader is None:
            raise OSError(errno.EMFILE, "no inotify instance")
        with spot(root, path) as fd:
            return self._reader.add_callback(
                b"/proc/self/fd/%d" % fd, self._mask, self._hears, self._id
            )

    def _again(self, root: Root, path: str) -> WatchDescriptor | None:
        with self._guard:
            return self._set(root, (root.label, path))

    def _remove(self, watches: list[WatchDescriptor]) -> None:
        """Take watches away; those of a reader that ended are gone already."""
        for wd in watches:
            self._watched.remove_watch(wd)
        if self._reader is not None:
            self._reader.remove_callbacks([(wd, self._id) for wd in watches])

    def _retry(self) -> None:
        """Ask the kernel again for the watches that it refused, until it refuses one."""
        with self._guard:
            waiting = self._watched.limited()
            if not waiting:
                return
            if not self.fenced:
                self._set_up()
            if self._reader is not None and not self._reader.is_alive():
                self._reader.start()
            for place in waiting:
                self._set(self.roots[place[0]], place)
                if self._watched.find_how(place) == "limit":
                    return

    def _report_limits(self) -> None:
        """Raise the alarm of folders that the kernel gives no watch for, or end it."""
        if not self._watched.limited():
            self._troubles.remove("watches", "")
            return
        kind = "watches" if self._reader is not None else "instances"
        maximum = Path(f"/proc/sys/fs/inotify/max_user_{kind}").read_text().strip()
        reason = (
            f"the kernel gives no more inotify {kind} (fs.inotify.max_user_{kind} is {maximum}):"
            f" folders are read every {POLL_S:g} s instead; what is renamed there is told anew"
        )
        self._troubles.add("watches", "", reason)
