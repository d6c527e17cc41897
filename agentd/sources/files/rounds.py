"""Looking at the disk again where notifications do not suffice.

After folders changed: made and renamed faster than they can be watched, they may hide a file. After
the kernel's queue overflowed, or something was mounted. And now and then: folders of which the
kernel does not tell, files that have a second name outside.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Executor
from typing import TypeVar

from agentd.sources.files.facts import FileGlance
from agentd.sources.files.fold import Do, Raw, RootFold, When
from agentd.sources.files.places import POLL_S, Places
from agentd.sources.files.walk import Root, glances, within

T = TypeVar("T")

REVIEW_S = 0.2
"""How long after the last change of folders a root is read anew, in seconds."""
AT_LAST = 10
"""How many times as long that may take where folders go on changing."""
SHARED = 1000
"""How many files with a second name are looked at now and then."""


class Rounds:
    """Reads folders again and compares them with the folds.

    ``take`` is given what the folds make of what is found, ``over`` is called after each round,
    ``failed`` with the error that ends the attachment.
    """

    def __init__(
        self,
        roots: Mapping[str, Root],
        folds: Mapping[str, RootFold],
        places: Places,
        threads: Executor,
        take: Callable[[str, list[Do]], None],
        over: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._roots = roots
        self._folds = folds
        self._places = places
        self._threads = threads
        self._take = take
        self._over = over
        self._failed = failed
        self._due: dict[str, tuple[float, float]] = {}
        self._reviewing: dict[str, asyncio.Task[None]] = {}
        self._reading: set[str] = set()
        self._reviewed = asyncio.Event()
        self._reviewed.set()
        self._changed: dict[str, set[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._settled = asyncio.Event()
        self._settled.set()

    def start(self) -> None:
        """Begin to read every `POLL_S` seconds what the kernel does not report."""
        self._begin(self._poll_for_ever())

    def stop(self) -> None:
        """Cancel the rounds, and the reads that they have begun."""
        for task in (*self._reviewing.values(), *self._tasks):
            task.cancel()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, work: Callable[..., T], *args: object) -> T:
        return await self._loop.run_in_executor(self._threads, work, *args)

    # -- a whole root

    def review(self, root: str) -> None:
        """Read a root anew once its folders have rested for `REVIEW_S`."""
        now = self._loop.time()
        first = self._due[root][0] if root in self._due else now
        self._due[root] = (first, min(now + REVIEW_S, first + AT_LAST * REVIEW_S))
        self._reviewed.clear()
        if root not in self._reviewing:
            self._reviewing[root] = self._loop.create_task(
                self._review(root), name=f"review {root}"
            )

    @property
    def reviewing(self) -> bool:
        """Whether some root is still to be read anew."""
        return bool(self._reviewing)

    async def reviewed(self) -> None:
        """Wait until every root is read that was to be read anew."""
        await self._reviewed.wait()

    async def _review(self, root: str) -> None:
        """Read a root anew once its folders rest, and compare all of it with what is known."""
        try:
            while root in self._due:
                due = self._due[root]
                await asyncio.sleep(due[1] - self._loop.time())
                if self._due[root] != due:
                    continue  # folders went on changing
                del self._due[root]
                began = self._loop.time()
                self._reading.add(root)
                found, closed = await self._run(self._places.refresh, self._roots[root])
                self._reading.discard(root)
                self._compare(root, found, closed)
                if not self._due and not self._reading:
                    self._reviewed.set()
                # A large root takes a while to read: that must not become all that the daemon does.
                await asyncio.sleep(4 * (self._loop.time() - began))
        except OSError as error:
            self._failed(error)
        finally:
            del self._reviewing[root]
        self._over()

    def _compare(self, root: str, found: list[FileGlance], closed: list[str]) -> None:
        """Compare all of a root with its fold; ``closed``: folders that may not be read."""
        there = {entry.path for entry in found}
        self._reconcile(root, found, "soon")
        known = [path for path in self._folds[root].tree.below("") if path not in there]
        self._check_missing(
            root, [path for path in known if not any(within(path, folder) for folder in closed)]
        )

    # -- what the kernel does not report

    async def _poll_for_ever(self) -> None:
        """Poll again and again; an error of the disk ends the source."""
        try:
            while True:
                await asyncio.sleep(POLL_S)
                await self.poll()
        except OSError as error:
            self._failed(error)

    async def poll(self) -> None:
        """Read the folders that the kernel does not report, and files that have a second name."""
        async with self._turn:
            if self._places.polled:
                for root, folder, listed in await self._run(self._places.read_polled):
                    self._compare_folder(root, folder, listed)
            for root, fold in self._folds.items():
                if fold.shared:
                    await self._look_at_shared(root, fold)
        self._over()

    def _compare_folder(self, root: str, folder: str, listed: list[FileGlance]) -> None:
        """Compare a folder's files with those that are known there, and make sure of missing
        ones."""
        self._reconcile(root, listed, "rested")
        there = {entry.path for entry in listed}
        known = self._folds[root].tree.directly_in(folder)
        self._check_missing(root, [path for path in known if path not in there])

    async def _look_at_shared(self, root: str, fold: RootFold) -> None:
        """Look at files with a second name, which change unnoticed; too many are a trouble."""
        troubles = self._roots[root].troubles
        if len(fold.shared) > SHARED:
            reason = (
                f"{root}: more than {SHARED} files have a second name; changes under it are not"
                " seen of all"
            )
            troubles.add("links", root, reason)
        else:
            troubles.remove("links", root)
        found = await self._glance(root, sorted(fold.shared)[:SHARED])
        self._reconcile(root, _present(found), "rested")

    async def _glance(self, root: str, paths: list[str]) -> list[tuple[str, FileGlance | None]]:
        """Return what stands at each path, None where there is nothing."""
        return await self._run(lambda: list(glances(self._roots[root], paths)))

    # -- permissions

    def changed(self, root: str, path: str) -> None:
        """Look whether a file's permissions changed."""
        if not self._changed:
            self._settled.clear()
            self._begin(self._look_at_changed())
        self._changed.setdefault(root, set()).add(path)

    async def settled(self) -> None:
        """Wait until the permissions are looked at of all files of which they may have changed."""
        await self._settled.wait()

    async def _look_at_changed(self) -> None:
        """Look at files that changed while nobody could look."""
        while self._changed:
            root, paths = next(iter(self._changed.items()))
            batch = sorted(paths)
            with contextlib.suppress(OSError):  # the kernel reports that a root is gone
                self._reconcile(root, _present(await self._glance(root, batch)), "now")
            paths.difference_update(batch)
            if not paths:
                del self._changed[root]
        self._settled.set()

    # -- what was found

    def _reconcile(self, root: str, found: Iterable[FileGlance], when: When) -> None:
        """Hand over what is different from what is known of these files."""
        for entry in found:
            changes = self._folds[root].reconcile(entry, when)
            if changes:
                self._take(root, changes)

    def _check_missing(self, root: str, paths: list[str]) -> None:
        """Look once more for what was not found: the disk may have changed since it was read."""
        fold = self._folds[root]
        unknown = []
        for path in paths:
            if path in fold.known:
                self._take(root, fold.notice(Raw("closed", path)))
            elif not fold.is_pending(path):
                unknown.append(path)
        if unknown:
            self._begin(self._make_sure(root, unknown))

    async def _make_sure(self, root: str, paths: list[str]) -> None:
        """Report those of the paths that are really gone."""
        fold = self._folds[root]
        with contextlib.suppress(OSError):
            for path, entry in await self._glance(root, paths):
                if entry is None:
                    is_folder = path in fold.folders
                    self._take(root, fold.notice(Raw("gone", path, folder=is_folder)))


def _present(found: list[tuple[str, FileGlance | None]]) -> list[FileGlance]:
    """Return the glances at what is there."""
    return [entry for _, entry in found if entry is not None]
