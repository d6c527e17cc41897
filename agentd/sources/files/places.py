"""Which folders the kernel tells of, by its watch descriptors, and which must be read now and then
instead.

A watch is set on an open descriptor, never on a name: what the agent puts in a folder's place is
not watched.
"""

from __future__ import annotations

import errno
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)

from agentd.sources.files.facts import Found
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import ClosedError, Root, RootGoneError, entries, scan, spot, within

POLL_S = 1.0
"""How often a folder is read of which the kernel does not tell, in seconds."""
_FENCE = Mask(InotifyConstants.IN_CREATE | InotifyConstants.IN_ONLYDIR)
_LIMITS = (errno.ENOSPC, errno.EMFILE, errno.ENFILE)

Place = tuple[str, str]
"""A folder: its root's label and its path there."""


class Places:
    """``reader`` makes what reads the kernel's notifications and raises OSError where the kernel
    gives no more."""

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
        self._at: dict[WatchDescriptor, Place] = {}
        self._placed: dict[Place, Literal["told", "limit", "silent"]] = {}
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
        """The folder of a watch; ("", "") is that of the fences."""
        with (
            self._guard
        ):  # a watch may speak before the thread that set it has noted where it stands
            return self._at.get(wd)

    @property
    def polled(self) -> list[Place]:
        """The folders that must be read now and then."""
        with self._guard:
            return [place for place, how in self._placed.items() if how != "told"]

    def watch(self, root: Root, path: str) -> bool:
        """Watch one folder, or note that it must be read; False: it was known, or is gone, or may
        not be read."""
        place = (root.label, path)
        with self._guard:
            if place in self._placed:
                return False
            self._set(root, place)
            return place in self._placed

    def watch_below(self, root: Root, below: str, fresh: set[str]) -> list[Found]:
        """Watch all folders below one; gives those that are new and the files in them."""
        found: list[Found] = []
        for one in scan(root, below):
            if one.what != "folder":
                if one.path.rpartition("/")[0] in fresh:
                    found.append(one)
            elif self.watch(root, one.path):
                fresh.add(one.path)
                found.append(one)
        return found

    def renamed(self, root: str, path: str, dest: str) -> None:
        """A folder moved within its root; the kernel goes on telling of it under the same
        watches."""
        with self._guard:
            for label, where in [
                one for one in self._placed if one[0] == root and within(one[1], path)
            ]:
                self._placed[label, dest + where[len(path) :]] = self._placed.pop((label, where))
            for wd, (label, where) in list(self._at.items()):
                if label == root and within(where, path):
                    self._at[wd] = (label, dest + where[len(path) :])

    def leave(self, root: str, path: str) -> None:
        """Forget a folder that is gone or was moved out of the root: what happens there is nobody's
        business here."""
        with self._guard:
            for place in [one for one in self._placed if one[0] == root and within(one[1], path)]:
                del self._placed[place]
            gone = [
                wd
                for wd, (label, where) in self._at.items()
                if label == root and within(where, path)
            ]
            self._remove(gone)
        self._troubles.leave("folders", f"{root}/{path}")
        self._tell()

    def drop(self, wd: WatchDescriptor) -> None:
        """The kernel ended a watch."""
        with self._guard:
            place = self._at.pop(wd, None)
            if place is not None:
                self._placed.pop(place, None)

    def refresh(self, root: Root) -> tuple[list[Found], list[str]]:
        """Place every watch of a root anew by what is on the disk now; gives everything found, and
        the folders that may not be read. Blocks while it reads; what the kernel tells meanwhile is
        taken in meanwhile."""
        with self._guard:
            before = {wd for wd, place in self._at.items() if place[0] == root.label}
            placed = [place for place in self._placed if place[0] == root.label]
        closed: list[str] = []
        kept = {self._again(root, "")}
        found = []
        for one in scan(root, "", closed):
            found.append(one)
            if one.what == "folder":
                kept.add(self._again(root, one.path))
        with self._guard:
            folders = {"", *(one.path for one in found if one.what == "folder")}
            for place in placed:
                if place[1] not in folders:
                    self._placed.pop(place, None)
            self._remove([wd for wd in before if wd not in kept])
        self._tell()
        return found, closed

    def read_polled(self) -> list[tuple[str, str, list[Found]]]:
        """What the folders hold that must be read now and then, (root, folder, entries) each; those
        for which the kernel has a watch again are read for the last time."""
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
            queue += [
                (label, one.path)
                for one in listed
                if one.what == "folder" and self.watch(root, one.path)
            ]
        self._tell()
        return read

    # -- one watch

    def _set_up(self) -> None:
        """Get the kernel's instance, and the watch of the fences before all others."""
        try:
            if self._reader is None:
                self._reader = self._make()
            self._at[
                self._reader.add_callback(bytes(self._fences), _FENCE, self._hears, self._id)
            ] = ("", "")
            self.fenced = True
        except OSError as error:
            if error.errno not in _LIMITS:
                raise

    def _set(self, root: Root, place: Place) -> WatchDescriptor | None:
        """Watch a folder and note how it is followed from now on; None: it is not watched."""
        try:
            wd = self._add(root, place[1])
        except RootGoneError:
            raise
        except OSError as error:
            if error.errno in _LIMITS:
                self._placed[place] = "limit"
                self._tell()
            return None  # else it is gone again
        if wd == -1:
            self._placed.pop(place, None)  # it may not be read, which `entries` tells
            return None
        before = self._at.pop(
            wd, place
        )  # the kernel knows a folder by its own number, whatever it was called before
        if before != place:
            self._placed.pop(before, None)
        self._at[wd] = place
        self._placed[place] = "silent" if root.is_silent(place[1]) else "told"
        return wd

    def _add(self, root: Root, path: str) -> WatchDescriptor:
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
        for wd in watches:
            self._at.pop(wd, None)
        if self._reader is not None:
            self._reader.remove_callbacks([(wd, self._id) for wd in watches])

    def _retry(self) -> None:
        with self._guard:
            waiting = [place for place, how in self._placed.items() if how == "limit"]
            if not waiting:
                return
            if not self.fenced:
                self._set_up()
            if self._reader is not None and not self._reader.is_alive():
                self._reader.start()
            for label, path in waiting:
                self._set(self.roots[label], (label, path))
                if self._placed.get((label, path)) == "limit":
                    return

    def _tell(self) -> None:
        count = sum(how == "limit" for how in list(self._placed.values()))
        if not count:
            self._troubles.remove("watches", "")
            return
        what = "watches" if self._reader is not None else "instances"
        most = Path(f"/proc/sys/fs/inotify/max_user_{what}").read_text().strip()
        reason = (
            f"the kernel gives no more inotify {what} (fs.inotify.max_user_{what} is {most}):"
            " folders are "
        )
        reason += f"read every {POLL_S:g} s instead; what is renamed there is told anew"
        self._troubles.add("watches", "", reason)
