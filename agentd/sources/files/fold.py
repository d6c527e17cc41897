"""From raw notifications to what happened to files: pure, no clock and no disk, tested by tables.

The fold never looks at a file. It asks for a `Look`, at once (the writer has closed it) or after a
quiet moment, and is given what was found. By its ticket an answer that is still wanted differs from
one that was overtaken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agentd.sources.files.facts import FileFacts, FileGlance
from agentd.sources.files.names import PARTIAL, mark_beside, scaffold
from agentd.sources.files.tree import PathTree
from detectors.model.optional_values import entries_without_none

Op = Literal["appeared", "written", "closed", "arrived", "moved", "gone"]
When = Literal["now", "soon", "rested", "left"]
"""``soon``: it may be complete already, but nobody said so; ``rested``: its writer has not closed
it; ``left``: it has a temporary name, which it may be about to lose."""


class Raw(NamedTuple):
    """One notification: paths relative to the root; ``dest`` only of a move, ``folder``: it is a
    directory; ``unseen``: a new one, in which something came and went before it was watched."""

    op: Op
    path: str
    dest: str = ""
    folder: bool = False
    unseen: bool = False


class Look(NamedTuple):
    """A request for the facts of ``path``, at once or after it was left alone for a moment."""

    path: str
    ticket: int
    when: When


class FileObservation(NamedTuple):
    """Something that happened: an event's kind and its data, all but the root."""

    kind: str
    data: dict[str, object]


Do = Look | FileObservation
_WHEN: dict[Op, When] = {"appeared": "soon", "written": "rested", "closed": "now", "arrived": "now"}


@dataclass
class _Pending:
    via: str
    ticket: int
    empty: bool = False
    """Whether it was found empty once: a creation may be followed by its content."""
    new: bool = False
    """Whether it came just now: then it is reported even if nothing is left to look at."""
    written: bool = False
    """Whether somebody wrote or closed it: then it is a plain file, no pipe or socket."""
    missing: bool = False
    """Whether a look found nothing there once: the kernel may be about to say where it went."""


@dataclass
class _Temp:
    """A file with a temporary name."""

    open: bool = False
    """Whether somebody writes it: then it is still in the making."""
    was: FileFacts | None = None
    """What is known of it and not reported: what it held when the watching began, or that it is
    empty or a mark."""
    new: bool = True
    unsettled: FileGlance | None = None
    """What was reported of it while somebody held it open at the close."""


class RootFold:
    """One root's files.

    ``known``: settled and reported, everything else is on its way; ``shared``: those of ``known``
    that have another name somewhere, under which they may change unseen.
    """

    def __init__(self) -> None:
        self.known: dict[str, FileFacts] = {}
        self.folders: set[str] = set()
        self.shared: set[str] = set()
        self.tree = PathTree()
        self._empty: set[str] = set()  # folders that came, and in which nothing was seen
        self._pending: dict[str, _Pending] = {}
        self._temps: dict[str, _Temp] = {}
        self._ticket = 0

    # -- the baseline

    def present(self, path: str, facts: FileFacts, told: bool = False) -> list[Do]:
        """Take in a file of the baseline.

        ``told``: an attachment before reported it as there; then this one does so too, even under a
        temporary name.
        """
        self._track(path)
        if scaffold(path):
            self._temps[path] = _Temp(was=facts, new=False)
            if not told:
                return []
        self._know(path, facts)
        return [FileObservation("file.present", describe(path, facts) | {"baseline": True})]

    def present_folder(self, path: str) -> None:
        """Take in a folder of the baseline, which is not reported."""
        self.folders.add(path)
        self._track(path)

    # -- notifications and what the disk shows

    def notice(self, raw: Raw) -> list[Do]:
        """Apply one inotify notification to what is known of its path."""
        if raw.folder:
            return self._folder(raw)
        if raw.op == "moved":
            return self._moved(raw.path, raw.dest)
        if raw.op == "gone":
            return self._remove(raw.path) or self._vanish_unseen(raw.path)
        if scaffold(raw.path):
            return self._temporary(raw)
        how = "rename" if raw.op == "arrived" else "write"
        look = self._want(raw.path, how, _WHEN[raw.op], new=raw.path not in self.known)
        self._pending[raw.path].written |= raw.op in ("written", "closed")
        return [look]

    def reconcile(self, found: FileGlance, when: When = "rested") -> list[Do]:
        """Take in what a glance shows, for whatever reason somebody glanced.

        What stands as it was leads to nothing. ``when``: when to look at what changed.
        """
        path = found.path
        if found.what == "folder":
            return [] if path in self.folders else [*self._remove(path), *self._create(path)]
        changes: list[Do] = []
        if path in self.folders:
            changes = self._folder(Raw("gone", path, folder=True))
        if found.what != "other":
            return changes + self._reconcile_file(found, when)
        if path in self._pending:
            self._pending[path].new = False
        return changes + self._remove(path)

    def _reconcile_file(self, found: FileGlance, when: When) -> list[Do]:
        """Compare a file with what is known of it, and want a look where it is another one."""
        path = found.path
        temp = self._temps.get(path)
        known = self.known.get(path)
        if known is None and temp is not None:
            known = temp.was
        if path in self._pending or (known is not None and known.stands(found)):
            return []
        if temp is not None and temp.open:
            return []  # a glance does not show that its writer has closed it
        if scaffold(path):
            return self.notice(Raw("appeared", path))
        if known is None:
            return [self._want(path, "write", when, new=True)]
        return self._reconcile_known(known, found, when)

    def _reconcile_known(self, known: FileFacts, found: FileGlance, when: When) -> list[Do]:
        """Take over what a glance shows of a known file; want a look where its content may be
        other."""
        path = found.path
        mode = found.mode if found.what == "file" else known.mode
        now = known._replace(ctime=found.ctime, mode=mode, links=found.links)
        self._know(path, now)
        changes = _permitted(path, known, now)
        before = (known.inode, known.size, known.mtime)
        is_other = before != (found.inode, found.size, found.mtime)
        # Who wrote it under another name may have set its times back; the inode's own moved.
        is_touched = known.links > 1 and known.ctime != found.ctime and known.mode == mode
        if is_other or is_touched or known.unread == "denied":
            changes.append(self._want(path, "write", when))
        return changes

    def finish_look(self, path: str, ticket: int, facts: FileFacts | None) -> list[Do]:
        """Take in what a look found; None: no such file, or neither a file nor a link."""
        pending = self._pending.get(path)
        if pending is None or pending.ticket != ticket:
            return []
        if facts is None:
            return self._handle_missing(path, pending)
        changes: list[Do] = []
        before = self.known.get(path)
        if before is not None and (before.link is None) != (facts.link is None):
            # A link in a file's place is not that file.
            before = None
            changes.append(self._replace(path, pending))
        if before is None and path in self._temps:
            if self._is_silent(path, facts, self._temps[path]):
                del self._pending[path]
                return changes
        elif before is None and facts.size == 0:
            look = self._await_content(path, pending)
            if look is not None:
                return changes + look
        del self._pending[path]
        self._know(path, facts)
        return changes + self._report(path, before, facts, pending.via)

    def _handle_missing(self, path: str, pending: _Pending) -> list[Do]:
        """Handle a look that found no file.

        The look may be ahead of the notification that a new file was renamed. It is repeated once,
        so that what was written under the old name is known under the new one.
        """
        pending.new &= pending.written  # else it may be there, and be no file
        if not pending.new or pending.missing:
            return self._remove(path)
        pending.missing = True
        return [Look(path, pending.ticket, "soon")]

    def _replace(self, path: str, pending: _Pending) -> Do:
        """Report the known entry at ``path`` as deleted, and treat what stands there now as new."""
        self._unknow(path)
        pending.new = True
        if path in self._temps:
            self._temps[path] = _Temp()
        return FileObservation("file.deleted", _named(path))

    def _report(self, path: str, before: FileFacts | None, facts: FileFacts, via: str) -> list[Do]:
        """Return what is reported of a file whose facts are ``facts`` and were ``before``."""
        if before is not None and before.same(facts):
            return _permitted(path, before, facts)
        data = describe(path, facts) | {"via": via}
        if before is not None:
            return [FileObservation("file.modified", data), *_permitted(path, before, facts)]
        temp = self._temps.get(path)
        kind = "file.created" if temp is None or temp.new else "file.modified"
        return [FileObservation(kind, data)]

    def note_overflow(self) -> list[Do]:
        """Take in that notifications were lost, some perhaps that say that a temporary name's
        writer has closed it."""
        open_ = [path for path, temp in self._temps.items() if temp.open]
        for path in open_:
            self._temps[path].open = False
        return [self._want(path, "write", "left") for path in open_]

    def open_temporaries(self) -> list[str]:
        """Return the temporary names that somebody writes, whose content is reported by nothing
        else."""
        return [path for path, temp in self._temps.items() if temp.open]

    def finish_unsettled(self, found: FileGlance) -> list[Do]:
        """Take in how a file with an open temporary name stands at the close.

        It is reported without its content, which is in the making: a guard must not take it for
        nothing. What is empty, a mark or as it was reported is left out.
        """
        path, temp = found.path, self._temps.get(found.path)
        if temp is None or not temp.open or found.what != "file" or temp.unsettled == found:
            return []
        known = self.known.get(path, temp.was)
        is_known = known is not None and known.stands(found)
        if is_known or not found.size or self._is_mark(path, found.size):
            return []
        temp.unsettled = found
        return [FileObservation("file.unsettled", _named(path) | {"size": found.size})]

    def is_pending(self, path: str) -> bool:
        """Return whether a look at that path is on its way."""
        return path in self._pending

    def pending_ticket(self, path: str) -> int | None:
        """Return the ticket of the look at that path that is on its way; safe from any thread."""
        pending = self._pending.get(path)
        return None if pending is None else pending.ticket

    def is_wanted(self, path: str, ticket: int) -> bool:
        """Return whether that look was not overtaken; safe from any thread."""
        return self.pending_ticket(path) == ticket

    # -- files

    def _temporary(self, raw: Raw) -> list[Do]:
        """Follow a temporary name: it is reported if it keeps the name once nobody writes it."""
        temp = self._temps.setdefault(raw.path, _Temp())
        self._track(raw.path)
        if raw.op != "written":
            temp.open = False
            return [self._want(raw.path, "rename" if raw.op == "arrived" else "write", "left")]
        temp.open = True
        self._pending.pop(raw.path, None)
        return []

    def _is_silent(self, path: str, facts: FileFacts, temp: _Temp) -> bool:
        """Return whether a file with a temporary name that stays is not reported all the same."""
        if temp.was is not None and temp.was.same(facts):
            return True
        is_empty = facts.size == 0 and facts.link is None
        if is_empty or self._is_mark(path, facts.size):
            temp.was = facts
            return True
        return False

    def _is_mark(self, path: str, size: int) -> bool:
        """Return whether the file is an office program's mark beside a file that is there."""
        folder = path[: path.rfind("/") + 1]

        def stands(name: str) -> bool:
            """Whether a file of that name stands beside, known or wanted."""
            beside = folder + name
            return (beside in self.known or beside in self._pending) and not scaffold(name)

        def ending(end: str) -> Iterator[str]:
            """Yield the names in the folder that end so."""
            return (one[len(folder) :] for one in self.tree.ending(folder.rstrip("/"), end))

        return mark_beside(path, size, ending, stands)

    def _await_content(self, path: str, pending: _Pending) -> list[Do] | None:
        """Return how an empty new file is waited for; None: it is empty still, and stays so."""
        if any(path + suffix in self._temps for suffix in PARTIAL):
            return []  # a browser holds the name; its download will be renamed onto it
        if pending.empty:
            return None
        pending.empty = True
        return [Look(path, pending.ticket, "soon")]

    def _want(self, path: str, via: str, when: When, *, new: bool = False) -> Look:
        """Ask for a look, in place of one that is on its way."""
        self._ticket += 1
        pending = _Pending(via, self._ticket, new=new)
        before = self._pending.get(path)
        if before is not None:
            if via == "write":
                pending.via = before.via
            pending.new |= before.new
            pending.written = before.written
        self._pending[path] = pending
        self._track(path)
        return Look(path, self._ticket, when)

    def _moved(self, path: str, dest: str) -> list[Do]:
        """Handle a file that got another name: a real move, or what a temporary file becomes."""
        if scaffold(dest):
            return self._move_to_temporary(path, dest)
        via = scaffold(path)
        if path in self.known and via is None:
            return self._renamed(path, dest)
        # A temporary name that was reported has ended; under its own name the file is new, and how
        # it came is reported.
        changes: list[Do] = []
        if path in self.known:
            changes.append(FileObservation("file.deleted", _named(path)))
        self._unknow(path)
        self._temps.pop(path, None)
        awaited = self._pending.pop(path, None)
        self._forget(path)
        changes.append(self._want(dest, via or "rename", "now", new=dest not in self.known))
        self._pending[dest].written |= awaited is not None and awaited.written
        return changes

    def _move_to_temporary(self, path: str, dest: str) -> list[Do]:
        """Handle a file that was put aside, as editors do; it is gone only if nothing comes in its
        place."""
        temp = self._temps.pop(path) if path in self._temps else _Temp()
        self._temps[dest] = temp
        self._track(dest)
        if scaffold(path) is None:
            # Put aside, as editors do before they write anew: gone only if nothing comes in its
            # place.
            return [self._want(path, "rename", "soon"), self._want(dest, "rename", "left")]
        if path in self.known:
            return self._renamed(path, dest)
        self._pending.pop(path, None)
        self._forget(path)
        return [] if temp.open else [self._want(dest, "rename", "left")]

    def _renamed(self, path: str, dest: str) -> list[Do]:
        """Report a move, and look at what it may have replaced."""
        facts = self.known[path]
        is_replaced = dest in self.known or dest in self._pending
        self._unknow(path)
        self._know(dest, facts)
        self._pending.pop(dest, None)
        was_pending = self._pending.pop(path, None) is not None
        changes: list[Do] = [FileObservation("file.moved", describe(dest, facts) | {"from": path})]
        if was_pending or is_replaced:
            changes.append(self._want(dest, "write", "now"))
        if is_replaced:
            # The two may have changed places: then what stood at the one stands at the other.
            changes.append(self._want(path, "rename", "now"))
        self._forget(path)
        return changes

    def _remove(self, path: str) -> list[Do]:
        """Handle a file that went; a partial download that went leaves its name free."""
        self._temps.pop(path, None)
        changes = self._leave(path)
        suffix = next((suffix for suffix in PARTIAL if path.endswith(suffix)), "")
        held = path.removesuffix(suffix)
        if held != path and held in self._pending:
            changes.append(self._want(held, "write", "soon"))
            # Only the browser's hold on the name, for a download that did not come.
            self._pending[held].new = False
        return changes

    def _leave(self, path: str) -> list[Do]:
        """Report that a known file was deleted, or that a new one was gone before it could be
        read."""
        pending = self._pending.pop(path, None)
        was_known = path in self.known
        self._unknow(path)
        self._forget(path)
        if was_known:
            return [FileObservation("file.deleted", _named(path))]
        if pending is not None and pending.new and not scaffold(path):
            return [FileObservation("file.vanished", _named(path))]
        return []

    def _vanish_unseen(self, path: str) -> list[Do]:
        """Report that a file is gone that came into a new folder before this was looked into."""
        folder = path.rpartition("/")[0]
        if folder not in self._empty or scaffold(path):
            return []
        self._empty.discard(folder)
        return [FileObservation("file.vanished", _named(path))]

    # -- folders

    def _folder(self, raw: Raw) -> list[Do]:
        """Handle what happened to a folder: it went, it moved, or it came."""
        if raw.op == "gone":
            return self._remove_folder(raw.path)
        if raw.op == "moved":
            return self._move_folder(raw.path, raw.dest)
        return self._create(raw.path, is_unseen=raw.unseen)

    def _remove_folder(self, folder: str) -> list[Do]:
        """Report the files in a folder as gone, then its folders, the innermost first."""
        inside = list(self.tree.below(folder))
        changes: list[Do] = []
        for path in inside:
            if path not in self.folders:
                changes += self._remove(path)
        for path in reversed([folder, *inside]):
            if path in self.folders:
                changes.append(self._unmade(path))
        return changes

    def _move_folder(self, folder: str, dest: str) -> list[Do]:
        """Report a folder's move, and that of all that is in it."""
        inside = list(self.tree.below(folder))
        changes = self._remade(folder, dest)
        for path in inside:
            moved = dest + path.removeprefix(folder)
            is_folder = path in self.folders
            changes += self._remade(path, moved) if is_folder else self._moved(path, moved)
        return changes

    def _create(self, path: str, *, is_unseen: bool = False) -> list[Do]:
        """Report a new folder, unless it is known already; ``is_unseen``: something came and went
        in it before it was watched."""
        if path in self.folders:
            return []
        self.present_folder(path)
        self._empty.add(path)
        unseen = {"unseen": True} if is_unseen else {}
        return [FileObservation("folder.created", _named(path) | unseen)]

    def _unmade(self, path: str) -> Do:
        """Report that a folder is gone: of one that came empty, what came and went in it before it
        was looked at is not known."""
        self.folders.discard(path)
        self._forget(path)
        data = _named(path)
        if path in self._empty:
            self._empty.discard(path)
            data["unseen"] = True
        return FileObservation("folder.deleted", data)

    def _remade(self, path: str, dest: str) -> list[Do]:
        """Report a folder under its new name; a new one where it was not known."""
        if path not in self.folders:
            return self._create(dest)
        self.folders.discard(path)
        self._forget(path)
        self.present_folder(dest)
        if path in self._empty:
            self._empty.discard(path)
            self._empty.add(dest)
        return [FileObservation("folder.moved", _named(dest) | {"from": path})]

    # -- what is tracked

    def _track(self, path: str) -> None:
        """Have a path in the tree; a folder in which it stands is not empty."""
        self.tree.add(path)
        self._empty.discard(path.rpartition("/")[0])

    def _know(self, path: str, facts: FileFacts) -> None:
        """Note what a file is now, and whether it has a second name."""
        self.known[path] = facts
        self._track(path)
        if facts.links > 1:
            self.shared.add(path)
        else:
            self.shared.discard(path)

    def _unknow(self, path: str) -> None:
        self.known.pop(path, None)
        self.shared.discard(path)

    def _forget(self, path: str) -> None:
        """Drop a path from the tree once nothing is known of it."""
        tracked = (self.known, self._pending, self._temps, self.folders)
        if not any(path in table for table in tracked):
            self.tree.discard(path)


def _permitted(path: str, before: FileFacts, now: FileFacts) -> list[Do]:
    """Report another mode of a file; links have none of their own."""
    if now.link is not None or before.mode == now.mode:
        return []
    return [FileObservation("file.mode_changed", _named(path) | {"mode": f"{now.mode:04o}"})]


def _named(path: str) -> dict[str, object]:
    return {"path": path, "name": path.rpartition("/")[2]}


def describe(path: str, facts: FileFacts) -> dict[str, object]:
    """Return an event's data of a file with content, or of a link."""
    data = _named(path) | {"size": facts.size, "sha256": facts.sha256}
    if facts.link is not None:
        return data | {"link": facts.link}
    optional = {
        "mime": facts.mime,
        "links": facts.links if facts.links > 1 else None,
        "unread_reason": facts.unread,
    }
    return data | {"mode": f"{facts.mode:04o}"} | entries_without_none(optional)
