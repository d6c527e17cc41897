"""What one check of OpenComputer's is to us: a condition, or why it is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from detectors.model.json_value import JsonObject, JsonValue

HOME = "/home/user/"
"""The agent's home there; ours is the watched folder with the label ``home``."""
Way = Literal["told", "as meant", "true at the start", "unobservable"]
"""How a check is told: as it compares; as it was meant, where its own command can't be right;
nothing, since it holds before anybody did anything; not at all."""
WAYS: tuple[Way, ...] = ("told", "as meant", "true at the start", "unobservable")


class UntoldCheckError(ValueError):
    """No event, file or probe tells what a check asks; the message says what that is."""


@dataclass(frozen=True, slots=True)
class TaskOf:
    """What checks need of their task. ``document``: the file that an office program works on, below
    the home; ``given``: files that lie there at the start."""

    app: str
    document: str | None
    given: frozenset[str]


@dataclass(frozen=True, slots=True)
class UpstreamCheck:
    """One check: ``words`` of its command, what is expected, the Python expression instead."""

    words: Sequence[str]
    expected: JsonValue
    expression: str | None

    def word(self, place: int) -> str:
        """An argument, from 1. Raises `UntoldCheckError` where it is not there."""
        if place >= len(self.words):
            raise UntoldCheckError(f"its command lacks an argument: {self.words[0]}")
        return self.words[place]

    def words_from(self, place: int) -> str:
        """All arguments from this one on, as one text: what a person meant without quotes."""
        self.word(place)
        return " ".join(self.words[place:])


@dataclass(frozen=True, slots=True)
class Told:
    """A check as a condition. ``argv``: the command that it asks, where it needs one; ``is_past``:
    what it asks is that it was so once, such as a visit."""

    when: JsonObject | None
    way: Way = "told"
    argv: tuple[str, ...] = ()
    is_past: bool = False


Reader = Callable[[UpstreamCheck, TaskOf], Told]
Readers = Mapping[str, Reader]


def below_home(path: str) -> str:
    """A path of theirs below the watched home. Raises `UntoldCheckError`."""
    if not path.startswith(HOME) or ".." in path.split("/"):
        raise UntoldCheckError(f"a file outside of the home: {path}")
    return path.removeprefix(HOME).rstrip("/")


def document_of(task: TaskOf) -> str:
    """The file that the task's office program works on. Raises `UntoldCheckError`."""
    if task.document is None:
        raise UntoldCheckError("a document whose file nobody names")
    return task.document


def in_file(rule: str, path: str, **more: JsonValue) -> JsonObject:
    """A rule about what stands in a file below the home."""
    return {rule: {"path": path, "root": "home", **more}}


def facts(path: str, wanted: JsonObject, format: str | None = None) -> JsonObject:
    """A file whose reported facts are so."""
    more: JsonObject = {} if format is None else {"format": format}
    return in_file("file_is", path, facts=wanted, **more)


def has_text(path: str, text: JsonValue, **more: JsonValue) -> JsonObject:
    """A file, read as it is written, in which a text stands."""
    return in_file("file_text", path, text=text, format="text", **more)


def contains(text: str, *, any_case: bool = True) -> JsonObject:
    """A text matcher: it stands somewhere in it."""
    return {"contains": text, "ignore_case": True} if any_case else {"contains": text}


def equals(text: str) -> JsonObject:
    """A text matcher: the whole, in any case."""
    return {"one_of": [text], "ignore_case": True}


def whole_number(text: str) -> int:
    """A number of a command. Raises `UntoldCheckError`."""
    if not re.fullmatch(r"-?\d+", text):
        raise UntoldCheckError(f"no number: {text}")
    return int(text)


def all_of(*conditions: JsonObject) -> JsonObject:
    """All of the conditions at the same time."""
    return {"all_of": {"holding": True, "of": [*conditions]}}


def any_of(*conditions: JsonObject) -> JsonObject:
    """One of the conditions, at least."""
    return {"any_of": {"of": [*conditions]}}


def without(path: str, condition: JsonObject, format: str | None = None) -> JsonObject:
    """A file that was read whole, and is not so."""
    more: JsonObject = {} if format is None else {"format": format}
    return all_of({"none_of": {"of": [condition]}}, in_file("file_is", path, whole=True, **more))


def query(path: str, sql: str, format: str = "sqlite") -> JsonObject:
    """A database of which SQL gives 1."""
    cell: JsonObject = {"A2": {"number": 1}}
    return in_file("table_cells", path, format=format, query=sql, cells=cell)


def like(text: str) -> str:
    """A text as an SQL literal that is looked for with LIKE."""
    return "'%" + text.replace("'", "''") + "%'"


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def exists(path: str, task: TaskOf) -> Told:
    """A file is there that was not."""
    where = below_home(path)
    if where in task.given:
        return Told(None, "true at the start")
    return Told(in_file("file_created", where))


def written(path: str) -> JsonObject:
    """A file was written: made, changed, or put in the place of the old one."""
    kinds = ("file.created", "file.modified", "file.moved")
    seen: list[JsonObject] = [
        {"observed": {"kind": kind, "where": {"path": path, "root": "home"}}} for kind in kinds
    ]
    return any_of(*seen)


def truth(check: UpstreamCheck) -> bool:
    """Whether the check wants its command to be so. Raises `UntoldCheckError` for another
    value."""
    if check.expected not in (True, False):
        raise UntoldCheckError(f"a value of its own: {check.expected!r}")
    return bool(check.expected)


def require_true(check: UpstreamCheck) -> None:
    """Raise `UntoldCheckError` for a check that it is not so, where only that it is can be told."""
    if not truth(check):
        raise UntoldCheckError(f"that it is not so: {check.words[0]}")


def apply_truth(
    check: UpstreamCheck, path: str, condition: JsonObject, format: str | None = None
) -> JsonObject:
    """The condition, or that it is not so of a file that was read whole."""
    return condition if truth(check) else without(path, condition, format)
