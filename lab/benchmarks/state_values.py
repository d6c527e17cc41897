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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from agentd.masking import Masker
from api.suggestions.drawn_texts import UUID, looks_drawn, parts_of
from detectors.model.json_value import JsonObject, JsonValue, is_number
from lab.benchmarks.dates import (
    day_of,
    is_minute_named,
    is_named,
    is_shown_time,
    minute_of,
    shown_dates,
    shown_days,
)
from lab.benchmarks.state_place import json_text

Kind = Literal["asked", "day", "when", "count", "drawn", "begun", "masked", "reference"]
"""``day``: asked by its day; ``begun``: by what stands before a part that was drawn; ``masked``:
the daemon shows no such value; ``reference``: the id that a new row was given, asked as one that is
not an old row's."""
_UNNAMED_DAY = "asked, though the instruction does not name it: another day than that of doing"
_REMARKS = {
    "when": "may be wanted, not asked: it is the day of doing, and the instruction does not name"
    " it",
    "when done": "not asked: when it was done",
    "masked": "not asked: the daemon masks it",
    "drawn": "not asked: the application draws it",
    "begun": "asked by how it begins: the application draws a part of it",
    "asked": _UNNAMED_DAY,
    "day": _UNNAMED_DAY,
}
"""What is said at import of a value of a kind."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SYSTEM = frozenset(
    "created updated modified edited changed touched saved synced timestamp".split()
)
"""What any change of a thing sets."""
_DONE = _SYSTEM | frozenset("seen sent read paid made taken done written sold bought last".split())
_TIMES = frozenset(("at", "on", "date", "time", "timestamp", "day"))
_DONE_OR_TIMES = _DONE | _TIMES
_WANTED = frozenset(
    "due until expires expiry expiration deadline start end begin birth birthday dob next scheduled"
    " schedule planned target departure arrival checkin checkout effective valid snoozed reminder"
    " remind from to through".split()
)
"""What names a time that somebody chooses."""
ID_WORDS = frozenset(("id", "ids", "iid", "uuid", "guid"))
_SECRET = frozenset(
    "token secret uuid guid hash nonce otp checksum signature fingerprint salt etag".split()
)
"""What an application draws itself, where no one named the value."""
_NUMBERED = frozenset(
    "key code prefix suffix number reference ref confirmation tracking serial receipt".split()
)
"""What it may draw or number: where the values at the start are all different and have digits."""
_COUNTER = re.compile(
    r"_.*|.*[cC]ount|_?(?:next|last)\w*(?:[iI]d|[nN]umber|[nN]o|[sS]eq)"
    r"|version|revision|rev|etag|seq|sequence"
)
_MEASURED = frozenset("elapsed latency took".split())
"""What is measured while something is done."""
_ADDRESS = re.compile(r"[/#?]|[a-z]+://")
"""How an address begins."""
_SHARED = 3
"""From so many tasks of one application on, an unnamed point in time that they share is its
clock's."""


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
    is_wanted = not _WANTED.isdisjoint(words)
    if is_wanted or not any(map(_is_act, words)):
        return False
    names_act_or_time = not _DONE_OR_TIMES.isdisjoint(words)
    return names_act_or_time or len(words) == 1


def _is_act(word: str) -> bool:
    """Whether a word of a key says that something was done: one that is known for it, or any longer
    one that ends in ``ed``."""
    return word in _DONE or (len(word) > 4 and word.endswith("ed"))


def _names_time(key: str) -> bool:
    """Whether a number under ``key`` may be a time."""
    return is_done_time(key) or not (_TIMES | _WANTED).isdisjoint(words_of(key))


def is_masked(key: str, value: object) -> bool:
    """Whether the daemon masks ``value`` under ``key``, or a part of it: by its name or its
    shape."""
    return bool(Masker().mask_json(value, key) != value)


def leaves(value: JsonValue, key: str = "") -> Iterator[tuple[str, JsonValue]]:
    """(the key that it stands under, value) of all plain values in ``value``."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from leaves(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, key)
    else:
        yield key, value


class StateTask(NamedTuple):
    """A task as the benchmark has it; ``patch`` leads to its solved state, ``runs`` are patches of
    further runs."""

    id: str
    instruction: str
    patch: Sequence[JsonObject]
    runs: Sequence[Sequence[JsonObject]]
    expect_solved: bool
    """False where the task's own solution fails."""
    expect_seed: bool
    """Whether the start is solved already."""


def patch_leaves(patch: Sequence[JsonObject]) -> Iterator[tuple[str, JsonValue]]:
    """`leaves` of what a patch adds or replaces."""
    for operation in patch:
        steps = str(operation.get("path", "")).split("/")
        names = [step for step in steps if not step.isdecimal()]
        key = next(filter(None, reversed(names)), "")
        yield from leaves(operation.get("value"), key)


def clock_days(seed: JsonValue, tasks: Iterable[StateTask]) -> frozenset[str]:
    """The days on which an application's ``tasks`` were done.

    Those of what names an act that was done, and of times of day that several tasks share; where
    there are none, those of all times of day that nobody names. What stands in ``seed`` was copied,
    not done.
    """
    copied = {json_text(value) for _, value in leaves(seed)}
    done: set[str] = set()
    sharing: dict[str, set[int]] = defaultdict(set)
    for number, task in enumerate(tasks):
        for key, value, day in _unnamed_days(task, copied):
            may_be_clock = minute_of(value) is not None and _WANTED.isdisjoint(words_of(key))
            if is_done_time(key):
                done.add(day)
            elif may_be_clock:
                sharing[day].add(number)
    done |= {day for day, numbers in sharing.items() if len(numbers) >= _SHARED}
    return frozenset(done or sharing)


def _unnamed_days(task: StateTask, copied: Collection[str]) -> Iterator[tuple[str, JsonValue, str]]:
    """(key, value, day) of each point in time that a task's patch sets, that its instruction does
    not name, and that is not among ``copied``, values as JSON."""
    for key, value in patch_leaves(task.patch):
        if json_text(value) in copied:
            continue
        for day in _days_of(value):
            if not is_named(day, task.instruction):
                yield key, value, day


def _days_of(value: object) -> list[str]:
    """The days that a value may be: one, unless it is written in another way than ISO 8601's."""
    day = day_of(value)
    if day is not None:
        return [day]
    return shown_days(value) if isinstance(value, str) else []


@dataclass(frozen=True, slots=True)
class Start:
    """An application's start: its plain values as JSON, the texts and whole numbers under each key,
    the words and parts of addresses in its texts, and its days of doing."""

    known: frozenset[str]
    texts: Mapping[str, Sequence[str]]
    parts: frozenset[str]
    clock: frozenset[str]

    @classmethod
    def from_seed(cls, seed: JsonValue, tasks: Sequence[StateTask]) -> Start:
        """Read the start state ``seed`` and its ``tasks``."""
        plain = list(leaves(seed))
        texts: dict[str, list[str]] = defaultdict(list)
        for key, value in plain:
            if type(value) in (str, int):
                texts[key].append(str(value))
        words = [value for _, value in plain if isinstance(value, str)]
        return cls(
            known=frozenset(json_text(value) for _, value in plain),
            texts=dict(texts),
            parts=frozenset(part for text in words for _, part in parts_of(text)),
            clock=clock_days(seed, tasks),
        )


@dataclass(frozen=True, slots=True)
class Context:
    """One task: its ``instruction``, the days on which it was done, its application's ``start``,
    ids of new rows (as JSON, each with the ids of the rows that were there), and (key, JSON) of
    values that a further run had otherwise, with the keys and ids of a patch's places that it had
    not. ``notes`` collects what is to be said at import: kind → path → value."""

    instruction: str
    days: frozenset[str]
    start: Start
    references: Mapping[str, Sequence[JsonValue]]
    varying: frozenset[tuple[str, str]]
    varying_keys: frozenset[str] = frozenset()
    notes: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def from_task(
        cls, start: Start, task: StateTask, references: Mapping[str, Sequence[JsonValue]]
    ) -> Context:
        """Read ``task``, whose new rows have the ids ``references``."""
        done = (
            day
            for key, value in patch_leaves(task.patch)
            if is_done_time(key)
            for day in _days_of(value)
        )
        days = start.clock.intersection(done)
        own = _leaf_texts(task.patch)
        varying = own - own.intersection(*map(_leaf_texts, task.runs))
        keys = _keys_of(task.patch)
        varying_keys = keys - keys.intersection(*map(_keys_of, task.runs))
        return cls(task.instruction, days or start.clock, start, references, varying, varying_keys)

    def kind(self, path: str, key: str, value: object) -> Kind:
        """What ``value`` under ``key`` is; ``path``: where it stands, for what is said of it."""
        kind = self._kind(key, value)
        varies = (key, json_text(value)) in self.varying
        if varies and kind in ("asked", "day"):
            kind = "when" if day_of(value) else "drawn"
        remark = self._remark(kind, key, value)
        if remark is not None:
            shown = "a value" if kind == "masked" else value
            self.note(remark, path, shown)
        return kind

    def note(self, what: str, path: str, value: object) -> None:
        """Remember what is to be said at import about ``path``."""
        self.notes.setdefault(what, {}).setdefault(path, f"{value!r:.60}")

    def remarks(self) -> tuple[str, ...]:
        """Sentences, one a kind of note."""
        return tuple(
            f"{what}: " + ", ".join(f"{path} {value}" for path, value in paths.items())
            for what, paths in self.notes.items()
        )

    def minute(self, value: object) -> bool:
        """Whether the time of day of ``value`` is asked too."""
        minute = minute_of(value)
        return minute is not None and is_minute_named(minute, self.instruction)

    def _remark(self, kind: Kind, key: str, value: object) -> str | None:
        """What is to be said at import of a value of that kind, None for nothing."""
        if kind == "when" and is_done_time(key):
            return _REMARKS["when done"]
        if kind not in ("asked", "day"):
            return _REMARKS.get(kind)
        day = day_of(value)
        if day is None or self._is_known(value):
            return None
        if is_named(day, self.instruction):
            return None
        return _REMARKS[kind]

    def _is_known(self, value: object) -> bool:
        """Whether the value stands in the start state."""
        return json_text(value) in self.start.known

    def _kind(self, key: str, value: object) -> Kind:
        """What ``value`` under ``key`` is, as far as this run alone tells."""
        if is_counter(key):
            return "count"
        if is_masked(key, value):
            return "masked"
        is_text = isinstance(value, str)
        may_be_id = is_text or not ID_WORDS.isdisjoint(words_of(key))
        if may_be_id and json_text(value) in self.references:
            return "reference"
        day = day_of(value)
        may_be_time = is_text or _names_time(key)
        if may_be_time and day is not None:
            return self._time(key, value, day)
        if isinstance(value, str):
            return self._text(key, value)
        if self._is_drawn_number(key, value):
            return "drawn"
        return "asked"

    def _text(self, key: str, value: str) -> Kind:
        """What a text is that is no point in time as machines write it."""
        if self._is_shown_time(key, value):
            return "when"
        if self._is_drawn(key, value):
            return "begun" if self.start_of(value) else "drawn"
        return "asked"

    def _time(self, key: str, value: object, day: str) -> Kind:
        """What a point in time is that falls on ``day``."""
        is_clock = day in self.days
        is_system = is_system_time(key)
        by_day: Kind = "day" if isinstance(value, str) else "asked"
        may_be_asked = not (is_clock and is_system)
        if may_be_asked and is_named(day, self.instruction):
            return by_day
        has_no_clock = not self.days
        if is_clock or (is_system and has_no_clock):
            return "when"
        if self._is_known(value):
            return "asked"
        return by_day

    def _is_shown_time(self, key: str, value: str) -> bool:
        """Whether a text is the time of doing in the words of people, as the key or the clock
        says."""
        if self._is_from_elsewhere(value):
            return False
        if is_shown_time(value):
            return is_done_time(key)
        dates = shown_dates(value)
        is_asked = any(is_named(day, self.instruction) for day in shown_days(value))
        if is_asked or not dates:
            return False
        if not self.days:
            return is_system_time(key)
        return any(_may_be(shown, day) for shown in dates for day in self.days)

    def _is_told(self, text: str) -> bool:
        """Whether the instruction has the text."""
        return text.lower() in self.instruction.lower()

    def _is_from_elsewhere(self, value: object) -> bool:
        """Whether the start or the instruction has the value, so that the application did not make
        it up."""
        return self._is_known(value) or self._is_told(str(value))

    def _is_drawn(self, key: str, value: str) -> bool:
        """Whether the application drew a text, or a part of it, by its looks and its key; what the
        start or the instruction has was not drawn."""
        if self._is_from_elsewhere(value):
            return False
        if UUID.fullmatch(value) or _is_environment(key):
            return True
        if self._drawn_place(value) is not None:
            return True
        is_words_or_address = any(sign in value for sign in (" ", "@", "://"))
        if is_words_or_address or len(value) < 4:
            return False
        digits = sum(map(str.isdigit, value))
        return self._is_named_code(key, digits) or looks_drawn(value)

    def start_of(self, value: str) -> str:
        """What stands in a text before the first part that was drawn; empty where no part was."""
        return value[: self._drawn_place(value) or 0]

    def _drawn_place(self, value: str) -> int | None:
        """Where the first word of a text, or part of an address, stands that was drawn, or, in an
        address, is a new row's id; None for no such part."""
        is_address = _ADDRESS.match(value) is not None
        for place, part in parts_of(value):
            is_new_id = is_address and self._is_reference(part)
            is_new = is_new_id or looks_drawn(part)
            is_old = part in self.start.parts or self._is_told(part)
            if is_new and not is_old:
                return place
        return None

    def _is_reference(self, text: str) -> bool:
        """Whether a text is the id of a new row, a number's digits among them."""
        return json_text(text) in self.references or text in self.references

    def _is_drawn_number(self, key: str, value: object) -> bool:
        """Whether the application drew, counted or measured a number, by its key; what the start or
        the instruction has was not drawn."""
        if not is_number(value) or self._is_from_elsewhere(value):
            return False
        words = {*words_of(key)}
        is_duration = words >= {"duration", "ms"}
        if is_duration or _MEASURED & words:
            return True
        names_code = not _NUMBERED.isdisjoint(words)
        if not names_code or isinstance(value, float):
            return False
        others = self.start.texts.get(key, ())
        return len(others) > 1 and self._is_numbered(key, 1)

    def is_given_key(self, key: str) -> bool:
        """Whether the key of an object's new member is one that the application gave it: a new
        row's id, or one that looks drawn or that further runs lack. What the instruction names was
        given by somebody else."""
        is_named_key = len(key) > 2 and self._is_told(key)
        if is_named_key:
            return False
        is_new_id = self._is_reference(key)
        return is_new_id or looks_drawn(key) or key in self.varying_keys

    def _is_named_code(self, key: str, digits: int) -> bool:
        """Whether a key names a secret, or a number or code in a list of such."""
        words = {*words_of(key)}
        is_code = bool(_NUMBERED & words) and self._is_numbered(key, digits)
        return is_code or bool(_SECRET & words)

    def _is_numbered(self, key: str, digits: int) -> bool:
        """Whether the texts under ``key`` at the start are codes: all different, most with a digit
        in them."""
        texts = self.start.texts.get(key, ())
        if len(texts) < 2:
            return digits > 0
        with_digit = sum(any(map(str.isdigit, text)) for text in texts)
        return len({*texts}) == len(texts) and 2 * with_digit > len(texts)


def _may_be(shown: tuple[int | None, int, int], day: str) -> bool:
    """Whether a date as people write it, perhaps without its year, is that day."""
    year, *month_and_day = map(int, day.split("-"))
    return shown[0] in (None, year, year % 100) and [*shown[1:]] == month_and_day


def _is_environment(key: str) -> bool:
    """Whether a key names where the one who did it sat: an address of the network, a browser."""
    words = words_of(key)
    return "ip" in words or ("user", "agent") in pairwise(words)


def _leaf_texts(patch: Sequence[JsonObject]) -> frozenset[tuple[str, str]]:
    """(key, JSON) of all plain values that a patch adds or replaces."""
    return frozenset((key, json_text(value)) for key, value in patch_leaves(patch))


def _keys_of(patch: Sequence[JsonObject]) -> frozenset[str]:
    """The keys in a patch: those on the way to each of its places, and those of what it sets
    there."""
    keys: set[str] = set()
    for operation in patch:
        steps = str(operation.get("path", "")).split("/")
        keys.update(step.replace("~1", "/").replace("~0", "~") for step in steps)
        keys.update(_keys_within(operation.get("value")))
    return frozenset(keys)


def _keys_within(value: JsonValue) -> Iterator[str]:
    """Yield every key of every object in ``value``, however deep it stands."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _keys_within(part)
    elif isinstance(value, list):
        for part in value:
            yield from _keys_within(part)
