"""From raw notifications to what happened to files: pure, no clock and no disk, tested by tables.

The fold never looks at a file. It asks for a look, at once (the writer has closed it) or after a
quiet moment, and is told what was found. A ticket tells an answer that is still wanted from one
that was overtaken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from agentd.sources.files.facts import FileFacts, Found
from agentd.sources.files.names import PARTIAL, mark_beside, scaffold
from agentd.sources.files.tree import PathTree

Op = Literal["appeared", "written", "closed", "arrived", "moved", "gone"]
When = Literal["now", "soon", "rested", "left"]
"""``soon``: it may be complete already, but nobody said so; ``rested``: its writer has not closed it; ``left``: it has
a temporary name, which it may be about to lose."""


class Raw(NamedTuple):
    """One notification: paths relative to the root; ``dest`` only of a move, ``folder``: it is a
    directory."""

    op: Op
    path: str
    dest: str = ""
    folder: bool = False


class Look(NamedTuple):
    """Wanted: the facts of ``path``, at once or after it was left alone for a moment."""

    path: str
    ticket: int
    when: When


class FileObservation(NamedTuple):
    """Happened: an event's kind and its data, all but the root."""

    kind: str
    data: dict[str, Any]


Do = Look | FileObservation
_WHEN: dict[Op, When] = {"appeared": "soon", "written": "rested", "closed": "now", "arrived": "now"}


@dataclass
class _Pending:
    via: str
    ticket: int
    empty: bool = False
    """Whether it was found empty once: a creation may be followed by its content."""
    new: bool = False
    """Whether it came just now, so that it is said to have been there even if nothing is left to look at."""
    written: bool = False
    """Whether somebody wrote or closed it: then it is a plain file, no pipe or socket."""


@dataclass
class _Temp:
    """A file with a temporary name."""

    open: bool = False
    """Whether somebody writes it: then it is still in the making."""
    was: FileFacts | None = None
    """What is known of it and not said: what it held when the watching began, or that it is empty or a mark."""
    new: bool = True


class RootFold:
    """One root's files. ``known``: settled and said; everything else is on its way. ``shared``:
    those of ``known`` that have another name somewhere, under which they may change unseen."""

    def __init__(self) -> None:
        self.known: dict[str, FileFacts] = {}
        self.folders: set[str] = set()
        self.shared: set[str] = set()
        self.tree = PathTree()
        self._pending: dict[str, _Pending] = {}
        self._temps: dict[str, _Temp] = {}
        self._ticket = 0

    # -- the baseline

    def present(self, path: str, facts: FileFacts, told: bool = False) -> list[Do]:
        """A file of the baseline. ``told``: it was said to be there before; so it is also with a
        temporary name."""
        self.tree.add(path)
        if scaffold(path):
            self._temps[path] = _Temp(was=facts, new=False)
            if not told:
                return []
        self._know(path, facts)
        return [FileObservation("file.present", describe(path, facts) | {"baseline": True})]

    def present_folder(self, path: str) -> None:
        """A folder of the baseline: known, not said."""
        self.folders.add(path)
        self.tree.add(path)

    # -- what is told

    def notice(self, raw: Raw) -> list[Do]:
        """Follow one notification."""
        if raw.folder:
            return self._folder(raw)
        if raw.op == "moved":
            return self._moved(raw.path, raw.dest)
        if raw.op == "gone":
            return self._remove(raw.path)
        if scaffold(raw.path):
            return self._temporary(raw)
        how = "rename" if raw.op == "arrived" else "write"
        look = self._want(raw.path, how, _WHEN[raw.op], new=raw.path not in self.known)
        self._pending[raw.path].written |= raw.op in ("written", "closed")
        return [look]

    def seen(self, found: Found, when: When = "rested") -> list[Do]:
        """Take in what a glance shows, for whatever reason somebody glanced; what stands as it was
        says nothing."""
        path, known = found.path, self.known.get(found.path)
        if found.what == "folder":
            return [] if path in self.folders else [*self._remove(path), *self._create(path)]
        said = self._folder(Raw("gone", path, folder=True)) if path in self.folders else []
        if found.what == "other":
            if path in self._pending:
                self._pending[path].new = False
            return said + self._remove(path)
        known = known or (self._temps[path].was if path in self._temps else None)
        if path in self._pending or (known is not None and known.stands(found)):
            return said
        if path in self._temps and self._temps[path].open:
            return said  # a glance is no word that its writer has closed it
        if scaffold(path):
            return said + self.notice(Raw("appeared", path))
        if known is None:
            return [*said, self._want(path, "write", when, new=True)]
        content = (known.inode, known.size, known.mtime) != (found.inode, found.size, found.mtime)
        mode = found.mode if found.what == "file" else known.mode
        self._know(path, known._replace(ctime=found.ctime, mode=mode, links=found.links))
        said += _permitted(path, known, self.known[path])
        return (
            [*said, self._want(path, "write", when)]
            if content or known.unread == "denied"
            else said
        )

    def looked(self, path: str, ticket: int, facts: FileFacts | None) -> list[Do]:
        """What a look found; None: no such file, or none of ours."""
        pending = self._pending.get(path)
        if pending is None or pending.ticket != ticket:
            return []
        before = self.known.get(path)
        said: list[Do] = []
        if facts is None:
            pending.new &= pending.written  # else it may be there, and none of ours
            return self._remove(path)
        if before is not None and (before.link is None) != (facts.link is None):
            before, said = (
                None,
                [FileObservation("file.deleted", _named(path))],
            )  # a link in a file's place is not that file
        if path in self._temps:
            if before is None and self._is_silent(path, facts, self._temps[path]):
                del self._pending[path]
                return said
        elif (
            facts.size == 0
            and before is None
            and (waits := self._await_content(path, pending)) is not None
        ):
            return waits
        del self._pending[path]
        self._know(path, facts)
        if before is None or not before.same(facts):
            new = before is None and (path not in self._temps or self._temps[path].new)
            kind = "file.created" if new else "file.modified"
            said.append(FileObservation(kind, describe(path, facts) | {"via": pending.via}))
        return said if before is None else said + _permitted(path, before, facts)

    def missed(self) -> list[Do]:
        """Notifications were lost: that a temporary name's writer has closed it may be among
        them."""
        open_ = [path for path, temp in self._temps.items() if temp.open]
        for path in open_:
            self._temps[path].open = False
        return [self._want(path, "write", "left") for path in open_]

    def pending(self, path: str) -> bool:
        """Whether a look at that path is on its way."""
        return path in self._pending

    def pending_ticket(self, path: str) -> int | None:
        """The ticket of the look at that path that is on its way; may be asked from any thread."""
        pending = self._pending.get(path)
        return None if pending is None else pending.ticket

    def wants(self, path: str, ticket: int) -> bool:
        """Whether that look was not overtaken; may be asked from any thread."""
        return self.pending_ticket(path) == ticket

    # -- files

    def _temporary(self, raw: Raw) -> list[Do]:
        """Something happens to a temporary name: it is said if it keeps the name once nobody writes
        it."""
        temp = self._temps.setdefault(raw.path, _Temp())
        self.tree.add(raw.path)
        if raw.op != "written":
            temp.open = False
            return [self._want(raw.path, "rename" if raw.op == "arrived" else "write", "left")]
        temp.open = True
        self._pending.pop(raw.path, None)
        return []

    def _is_silent(self, path: str, facts: FileFacts, temp: _Temp) -> bool:
        """Whether of a temporary name that stays nothing is said all the same."""
        if temp.was is not None and temp.was.same(facts):
            return True
        if (facts.size == 0 and facts.link is None) or mark_beside(
            path, facts.size, self._beside(path)
        ):
            temp.was = facts
            return True
        return False

    def _beside(self, path: str) -> list[str]:
        """The names of the files in the same folder."""
        folder = path[: path.rfind("/") + 1]
        inside = (
            one[len(folder) :] for one in (*self.known, *self._pending) if one.startswith(folder)
        )
        return [name for name in inside if "/" not in name and not scaffold(name)]

    def _await_content(self, path: str, pending: _Pending) -> list[Do] | None:
        if any(path + suffix in self._temps for suffix in PARTIAL):
            return []  # a browser holds the name; its download will be renamed onto it
        if pending.empty:
            return None
        pending.empty = True
        return [Look(path, pending.ticket, "soon")]

    def _want(self, path: str, via: str, when: When, *, new: bool = False) -> Look:
        self._ticket += 1
        before = self._pending.get(path)
        if before is not None and via == "write":
            via = before.via
        self._pending[path] = _Pending(
            via, self._ticket, new=new or (before is not None and before.new)
        )
        self._pending[path].written = before is not None and before.written
        self.tree.add(path)
        return Look(path, self._ticket, when)

    def _moved(self, path: str, dest: str) -> list[Do]:
        how = scaffold(path)
        if scaffold(dest):
            temp = self._temps[dest] = self._temps.pop(path) if path in self._temps else _Temp()
            self.tree.add(dest)
            if how is None:
                # Put aside, as editors do before they write anew: gone only if nothing comes in its
                # place.
                return [self._want(path, "rename", "soon"), self._want(dest, "rename", "left")]
            if path in self.known:
                return self._renamed(path, dest)
            self._pending.pop(path, None)
            self._forget(path)
            return [] if temp.open else [self._want(dest, "rename", "left")]
        if path in self.known and how is None:
            return self._renamed(path, dest)
        # A temporary name that was told has ended; under its own name the file is new, and how it
        # came is told.
        said: list[Do] = (
            [FileObservation("file.deleted", _named(path))] if path in self.known else []
        )
        self._unknow(path)
        self._temps.pop(path, None)
        self._pending.pop(path, None)
        self._forget(path)
        return [*said, self._want(dest, how or "rename", "now", new=dest not in self.known)]

    def _renamed(self, path: str, dest: str) -> list[Do]:
        facts = self.known[path]
        replaced = dest in self.known or dest in self._pending
        self._unknow(path)
        self._know(dest, facts)
        self._pending.pop(dest, None)
        said: list[Do] = [FileObservation("file.moved", describe(dest, facts) | {"from": path})]
        if self._pending.pop(path, None) is not None or replaced:
            said.append(self._want(dest, "write", "now"))
        if (
            replaced
        ):  # the two may have changed places: then what stood at the one stands at the other
            said.append(self._want(path, "rename", "now"))
        self._forget(path)
        return said

    def _remove(self, path: str) -> list[Do]:
        self._temps.pop(path, None)
        for suffix in PARTIAL:
            held = path.removesuffix(suffix)
            if held != path and held in self._pending:
                look = self._want(held, "write", "soon")
                self._pending[
                    held
                ].new = (
                    False  # only the browser's hold on the name, for a download that did not come
                )
                return [*self._leave(path), look]
        return self._leave(path)

    def _leave(self, path: str) -> list[Do]:
        pending = self._pending.pop(path, None)
        said = path in self.known
        self._unknow(path)
        self._forget(path)
        if not said and pending is not None and pending.new and not scaffold(path):
            return [FileObservation("file.vanished", _named(path))]
        return [FileObservation("file.deleted", _named(path))] if said else []

    # -- folders

    def _folder(self, raw: Raw) -> list[Do]:
        if raw.op == "gone":
            inside = list(self.tree.below(raw.path))
            said = [do for path in inside if path not in self.folders for do in self._remove(path)]
            return said + [
                self._unmade(path) for path in reversed([raw.path, *inside]) if path in self.folders
            ]
        if raw.op != "moved":
            return self._create(raw.path)
        inside = list(self.tree.below(raw.path))
        said = self._remade(raw.path, raw.dest)
        for path in inside:
            dest = raw.dest + path[len(raw.path) :]
            said += self._remade(path, dest) if path in self.folders else self._moved(path, dest)
        return said

    def _create(self, path: str) -> list[Do]:
        if path in self.folders:
            return []
        self.present_folder(path)
        return [FileObservation("folder.created", _named(path))]

    def _unmade(self, path: str) -> Do:
        self.folders.discard(path)
        self._forget(path)
        return FileObservation("folder.deleted", _named(path))

    def _remade(self, path: str, dest: str) -> list[Do]:
        if path not in self.folders:
            return self._create(dest)
        self.folders.discard(path)
        self._forget(path)
        self.present_folder(dest)
        return [FileObservation("folder.moved", _named(dest) | {"from": path})]

    # -- what is tracked

    def _know(self, path: str, facts: FileFacts) -> None:
        self.known[path] = facts
        self.tree.add(path)
        (self.shared.add if facts.links > 1 else self.shared.discard)(path)

    def _unknow(self, path: str) -> None:
        self.known.pop(path, None)
        self.shared.discard(path)

    def _forget(self, path: str) -> None:
        if not any(
            path in table for table in (self.known, self._pending, self._temps, self.folders)
        ):
            self.tree.discard(path)


def _permitted(path: str, before: FileFacts, now: FileFacts) -> list[Do]:
    if now.link is not None or before.mode == now.mode:
        return []
    return [FileObservation("file.permitted", _named(path) | {"mode": f"{now.mode:04o}"})]


def _named(path: str) -> dict[str, Any]:
    return {"path": path, "name": path.rpartition("/")[2]}


def describe(path: str, facts: FileFacts) -> dict[str, Any]:
    """An event's data of a file with content."""
    data = _named(path) | {"size": facts.size, "sha256": facts.sha256}
    if facts.link is not None:
        return data | {"link": facts.link}
    data["mode"] = f"{facts.mode:04o}"
    if facts.mime is not None:
        data["mime"] = facts.mime
    if facts.links > 1:
        data["links"] = facts.links
    return data if facts.unread is None else data | {"unread": facts.unread}
