"""What a value of a solved state is to a task: asked, or the application's own (when, how often,
what it drew).

An application writes another time of doing than the benchmark's own solution, counts otherwise, and
draws other codes and ids. A point in time is asked where the instruction names its day, where it
was copied from the start, and where it is another day than the one on which the task was done. The
day of doing is read from what names an act that was done (``createdAt``, ``resolvedDate``), and
from points in time that tasks of one application share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import orjson

from lab.benchmarks.dates import day_of, is_minute_named, is_named, minute_of

Kind = Literal["asked", "day", "when", "count", "drawn", "masked", "reference"]
"""``day``: asked by its day; ``masked``: the daemon shows no such value; ``reference``: the id that a new row was
given, asked as one that is not an old row's."""
MASK = "***"
"""What the daemon writes in place of a secret."""

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SYSTEM = frozenset(
    (
        "created",
        "updated",
        "modified",
        "edited",
        "changed",
        "touched",
        "saved",
        "synced",
        "timestamp",
    )
)
"""What any change of a thing sets."""
_DONE = _SYSTEM | frozenset(
    ("seen", "sent", "read", "paid", "made", "taken", "done", "written", "sold", "bought", "last")
)
_TIMES = frozenset(("at", "on", "date", "time", "timestamp", "day"))
_WANTED = frozenset(
    "due until expires expiry expiration deadline start end begin birth birthday dob next scheduled"
    " schedule planned target departure arrival checkin checkout effective valid snoozed reminder"
    " remind from to through".split()
)
"""What names a time that somebody chooses."""
_IDS = frozenset(("id", "iid", "uuid", "guid"))
_SECRET = frozenset(
    "token secret uuid guid hash nonce otp checksum signature fingerprint salt etag".split()
)
"""What an application draws itself, where no one named the value."""
_NUMBERED = frozenset(
    "key code prefix suffix number reference ref confirmation tracking serial receipt".split()
)
"""What it may draw or number: where the values at the start are all different and have digits in them."""
_MASKED = re.compile(
    r".*(?:password|passwd|pwd|passphrase|passcode).*|.*(?:token|secret|(?:api|secret|access|private|signing|encryption)key|"
    r"onetime(?:code|password)|(?:verification|mfa|2fa|otp|recovery|security|card)code|card(?:number|no)|creditcard|"
    r"cc(?:number|num|csc)|sess(?:ion)?id|authorization|credential|xamzsignature|xgoogsignature)\d*|pw|pass"
)
_MASKED_LAST = frozenset("otp totp cvc cvv csc jwt sid bearer".split())
_COUNTER = re.compile(
    r"_.*|.*[cC]ount|_?(?:next|last)\w*(?:[iI]d|[nN]umber|[nN]o|[sS]eq)|version|revision|rev|etag|seq|sequence"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_GROUPS = re.compile(r"[A-Z0-9]{3,}(?:-[A-Z0-9]{3,})+")
_RUN = re.compile(r"[A-Za-z0-9_~+/=.-]{16,}")
_HEX = re.compile(r"[0-9a-f]{12,}|[0-9A-F]{12,}")
_SHARED = 3
"""Tasks of one application in which an unnamed point in time stands, from which on it is its clock's."""


def words_of(key: str) -> list[str]:
    """The words of a key in camel or snake case, lower case."""
    return [word.lower() for word in _WORDS.findall(key)]


def is_counter(key: str) -> bool:
    """Whether a key names a counter, or a version."""
    return _COUNTER.fullmatch(key) is not None


def is_system_time(key: str) -> bool:
    """Whether a key names a time that any change of the thing sets."""
    words = words_of(key)
    return bool(_SYSTEM & {*words}) and not _WANTED & {*words}


def is_done_time(key: str) -> bool:
    """Whether a key names when something was done, as ``resolvedDate`` does and ``dueDate`` does
    not."""
    words = words_of(key)
    if not words or _WANTED & {*words}:
        return False
    done = bool(_DONE & {*words}) or any(len(word) > 4 and word.endswith("ed") for word in words)
    return done and (len(words) == 1 or bool({*words} & (_TIMES | _DONE)))


def is_masked(key: str) -> bool:
    """Whether the daemon masks what stands under ``key``: a secret by its name."""
    words = [word for word in words_of(key) if not word.isdigit()]
    return bool(words) and (
        _MASKED.fullmatch("".join(words_of(key))) is not None or words[-1] in _MASKED_LAST
    )


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(the key that it stands under, value) of all plain values in ``value``."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from leaves(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, key)
    else:
        yield key, value


def patch_leaves(patch: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """`leaves` of what a patch adds or replaces."""
    for operation in patch:
        steps = [
            step
            for step in str(operation.get("path", "")).split("/")
            if step and not step.isdecimal()
        ]
        yield from leaves(operation.get("value"), steps[-1] if steps else "")


def clock_days(seed: Any, tasks: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The days on which an application's ``tasks`` (instruction and patch) were done.

    Those of what names an act that was done, and of times of day that several tasks share; where
    there are none, those of all times of day that nobody names. What stands in ``seed`` was copied,
    not done.
    """
    copied = {json_text(value) for _, value in leaves(seed)}
    done: set[str] = set()
    sharing: dict[str, set[int]] = defaultdict(set)
    for number, task in enumerate(tasks):
        for key, value in patch_leaves(task["patch"]):
            day = day_of(value)
            if day is None or is_named(day, task["instruction"]) or json_text(value) in copied:
                continue
            if is_done_time(key):
                done.add(day)
            elif minute_of(value) and not _WANTED & {*words_of(key)}:
                sharing[day].add(number)
    done |= {day for day, found in sharing.items() if len(found) >= _SHARED}
    return frozenset(done or sharing)


@dataclass(frozen=True, slots=True)
class Start:
    """An application's start: its plain values as JSON, the texts under each key, and its days of
    doing."""

    known: frozenset[str]
    texts: Mapping[str, Sequence[str]]
    clock: frozenset[str]

    @classmethod
    def from_seed(cls, seed: Any, tasks: Sequence[Mapping[str, Any]]) -> Start:
        """Read the start state ``seed`` and its ``tasks``."""
        texts: dict[str, list[str]] = defaultdict(list)
        known = set()
        for key, value in leaves(seed):
            known.add(json_text(value))
            if isinstance(value, str):
                texts[key].append(value)
        return cls(frozenset(known), dict(texts), clock_days(seed, tasks))


@dataclass(frozen=True, slots=True)
class Context:
    """One task: its ``instruction``, the days on which it was done, its application's ``start``,
    ids of new rows (as JSON, each with the ids of the rows that were there), and (key, JSON) of
    values that a further run had otherwise. ``notes`` collects what is to be said at import: kind →
    path → value."""

    instruction: str
    days: frozenset[str]
    start: Start
    references: Mapping[str, Sequence[Any]]
    varying: frozenset[tuple[str, str]]
    notes: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def from_task(
        cls,
        start: Start,
        task: Mapping[str, Any],
        references: Mapping[str, Sequence[Any]],
    ) -> Context:
        """``task``: its ``instruction``, ``patch`` and, where there are some, ``runs``: patches of
        further runs."""
        values = list(patch_leaves(task["patch"]))
        days = {day_of(value) for key, value in values if is_done_time(key)}
        told = {(key, json_text(value)) for key, value in values}
        others = [
            {(key, json_text(value)) for key, value in patch_leaves(run)}
            for run in task.get("runs") or ()
        ]
        varying = frozenset(one for one in told if any(one not in other for other in others))
        own = frozenset(day for day in days if day in start.clock)
        return cls(task["instruction"], own or start.clock, start, references, varying)

    def kind(self, path: str, key: str, value: Any) -> Kind:
        """What ``value`` under ``key`` is; ``path``: where it stands, for what is said of it."""
        kind = self._kind(key, value)
        if (key, json_text(value)) in self.varying and kind in ("asked", "day"):
            kind = "when" if day_of(value) else "drawn"
        if kind == "when" and not is_done_time(key):
            self.note(
                "may be wanted, not asked: it is the day of doing, and the instruction does not"
                " name it",
                path,
                value,
            )
        elif kind == "when":
            self.note("not asked: when it was done", path, value)
        elif kind == "masked":
            self.note("not asked: the daemon masks it", path, "a value")
        elif kind == "drawn":
            self.note("not asked: the application draws it", path, value)
        elif kind in ("asked", "day") and day_of(value) and not self._is_told(value):
            self.note(
                "asked, though the instruction does not name it: another day than that of doing",
                path,
                value,
            )
        return kind

    def note(self, what: str, path: str, value: Any) -> None:
        """Remember what is to be said at import about ``path``."""
        self.notes.setdefault(what, {}).setdefault(path, f"{value!r:.60}")

    def remarks(self) -> tuple[str, ...]:
        """Sentences, one a kind of note."""
        return tuple(
            f"{what}: " + ", ".join(f"{path} {value}" for path, value in paths.items())
            for what, paths in self.notes.items()
        )

    def minute(self, value: Any) -> bool:
        """Whether the time of day of ``value`` is asked too."""
        minute = minute_of(value)
        return minute is not None and is_minute_named(minute, self.instruction)

    def _is_told(self, value: Any) -> bool:
        day = day_of(value)
        return json_text(value) in self.start.known or (
            day is not None and is_named(day, self.instruction)
        )

    def _kind(self, key: str, value: Any) -> Kind:
        if is_counter(key):
            return "count"
        if (
            is_masked(key)
            and isinstance(value, str | int | float)
            and not isinstance(value, bool)
            and value != ""
        ):
            return "masked"
        text = json_text(value)
        if text in self.references and (
            isinstance(value, str) or {*words_of(key)} & (_IDS | {"ids"})
        ):
            return "reference"
        day = day_of(value)
        if day is not None and (
            isinstance(value, str) or is_done_time(key) or {*words_of(key)} & (_TIMES | _WANTED)
        ):
            return self._time(key, value, day)
        return "drawn" if isinstance(value, str) and self._is_drawn(key, value) else "asked"

    def _time(self, key: str, value: Any, day: str) -> Kind:
        clock = day in self.days
        if is_named(day, self.instruction) and not (clock and is_system_time(key)):
            return "day" if isinstance(value, str) else "asked"
        if clock:
            return "when"
        if is_system_time(key) and not self.days:
            return "when"
        return (
            "asked" if json_text(value) in self.start.known or not isinstance(value, str) else "day"
        )

    def _is_drawn(self, key: str, value: str) -> bool:
        if json_text(value) in self.start.known or value.lower() in self.instruction.lower():
            return False
        if _UUID.fullmatch(value):
            return True
        digits = sum(letter.isdigit() for letter in value)
        if " " in value or "@" in value or "://" in value or len(value) < 4:
            return False
        if _SECRET & {*words_of(key)} or (
            _NUMBERED & {*words_of(key)} and self._is_numbered(key, digits)
        ):
            return True
        if _HEX.fullmatch(value) or _GROUPS.fullmatch(value):
            return digits >= 2
        return bool(_RUN.fullmatch(value)) and digits >= 3 and _is_mixed(value)

    def _is_numbered(self, key: str, digits: int) -> bool:
        """Whether the texts under ``key`` at the start are codes: all different, most with a digit
        in them."""
        texts = self.start.texts.get(key, ())
        if len(texts) < 2:
            return digits > 0
        return len({*texts}) == len(texts) and 2 * sum(
            any(map(str.isdigit, text)) for text in texts
        ) > len(texts)


def _is_mixed(value: str) -> bool:
    """Whether letters and digits change places as often as in a text that was drawn."""
    kinds = ["d" if letter.isdigit() else "a" for letter in value if letter.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes >= 4


def json_text(value: Any) -> str:
    """A value as JSON, for comparison."""
    return orjson.dumps(value).decode()
