"""From raw notifications to what happened to files: pure, no clock and no disk, tested by tables.

The fold never looks at a file. It asks for a look, at once (the writer has closed it) or after a quiet moment,
and is told what was found. A ticket tells an answer that is still wanted from one that was overtaken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from agentd.sources.files.names import PARTIAL, scaffold

Op = Literal["appeared", "written", "closed", "arrived", "moved", "gone"]


class Raw(NamedTuple):
    """One notification: paths relative to the root; ``dest`` only of a move, ``folder``: it is a directory."""

    op: Op
    path: str
    dest: str = ""
    folder: bool = False


class Facts(NamedTuple):
    """A settled file: bytes, hex sha256 (None: too large or unreadable), mtime in ns, whether too large."""

    size: int
    sha256: str | None
    mtime: int
    cut: bool = False

    def same(self, other: Facts) -> bool:
        """Whether the content is the same, as far as anybody can tell."""
        if self.sha256 is None or other.sha256 is None:
            return self == other
        return self.sha256 == other.sha256


class Look(NamedTuple):
    """Wanted: the facts of ``path``; ``quiet``: only when nothing was written to it for a moment."""

    path: str
    ticket: int
    quiet: bool


class Say(NamedTuple):
    """Happened: an event's kind and its data, all but the root."""

    kind: str
    data: dict[str, Any]


Do = Look | Say


@dataclass
class _Pending:
    via: str
    ticket: int
    empty: bool = False
    """Whether it was found empty once: a creation may be followed by its content."""


class Fold:
    """One root's files. ``known``: settled and said; everything else is on its way."""

    def __init__(self) -> None:
        self.known: dict[str, Facts] = {}
        self._pending: dict[str, _Pending] = {}
        self._temps: set[str] = set()
        self._ticket = 0

    def present(self, path: str, facts: Facts) -> list[Do]:
        """A file of the baseline."""
        if scaffold(path):
            self._temps.add(path)
            return []
        self.known[path] = facts
        return [Say("file.present", describe(path, facts) | {"baseline": True})]

    def notice(self, raw: Raw) -> list[Do]:
        """Follow one notification."""
        if raw.folder:
            return [do for part in self._parts(raw) for do in self.notice(part)]
        if raw.op == "moved":
            return self._moved(raw.path, raw.dest)
        if raw.op == "gone":
            return self._gone(raw.path)
        if scaffold(raw.path):
            self._temps.add(raw.path)
            return []
        via = "rename" if raw.op == "arrived" else "write"
        return [self._want(raw.path, via, quiet=raw.op in ("appeared", "written"))]

    def looked(self, path: str, ticket: int, facts: Facts | None) -> list[Do]:
        """What a look found; None: no such file, or none of ours."""
        pending = self._pending.get(path)
        if pending is None or pending.ticket != ticket:
            return []
        before = self.known.get(path)
        if facts is None:
            return self._gone(path)
        if facts.size == 0 and before is None and (waits := self._await_content(path, pending)) is not None:
            return waits
        del self._pending[path]
        self.known[path] = facts
        if before is not None and before.same(facts):
            return []
        kind = "file.created" if before is None else "file.modified"
        return [Say(kind, describe(path, facts) | {"via": pending.via})]

    def _await_content(self, path: str, pending: _Pending) -> list[Do] | None:
        if any(path + suffix in self._temps for suffix in PARTIAL):
            return []  # a browser holds the name; its download will be renamed onto it
        if pending.empty:
            return None
        pending.empty = True
        return [Look(path, pending.ticket, quiet=True)]

    def _want(self, path: str, via: str, *, quiet: bool) -> Look:
        self._ticket += 1
        before = self._pending.get(path)
        if before is not None and via == "write":
            via = before.via
        self._pending[path] = _Pending(via, self._ticket)
        return Look(path, self._ticket, quiet)

    def _moved(self, path: str, dest: str) -> list[Do]:
        how = scaffold(path)
        if scaffold(dest):
            self._temps.add(dest)
            if how is not None:
                self._temps.discard(path)
                return []
            # Put aside, as editors do before they write anew: gone only if nothing comes in its place.
            return [self._want(path, "rename", quiet=True)]
        if path in self.known:
            return self._renamed(path, dest)
        self._temps.discard(path)
        self._pending.pop(path, None)
        return [self._want(dest, how or "rename", quiet=False)]

    def _renamed(self, path: str, dest: str) -> list[Do]:
        facts = self.known[dest] = self.known.pop(path)
        self._pending.pop(dest, None)
        said: list[Do] = [Say("file.moved", describe(dest, facts) | {"from": path})]
        if self._pending.pop(path, None) is not None:
            said.append(self._want(dest, "write", quiet=False))
        return said

    def _gone(self, path: str) -> list[Do]:
        self._temps.discard(path)
        for suffix in PARTIAL:
            held = path.removesuffix(suffix)
            if held != path and held in self._pending:
                return [self._want(held, "write", quiet=True)]
        self._pending.pop(path, None)
        if self.known.pop(path, None) is None:
            return []
        return [Say("file.deleted", {"path": path, "name": path.rpartition("/")[2]})]

    def _parts(self, raw: Raw) -> Iterator[Raw]:
        """A directory's move or removal as that of each file that was in it."""
        inside = raw.path + "/"
        for path in sorted({*self.known, *self._pending, *self._temps}):
            if path.startswith(inside):
                yield Raw(raw.op, path, raw.dest + "/" + path.removeprefix(inside) if raw.dest else "")


def describe(path: str, facts: Facts) -> dict[str, Any]:
    """An event's data of a file with content."""
    data = {"path": path, "name": path.rpartition("/")[2], "size": facts.size, "sha256": facts.sha256}
    return data | {"cut": True} if facts.cut else data
