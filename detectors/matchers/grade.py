"""A number in [0, 1] of what an event has: by a distance, in tiers, by likeness to a text, by the
share of what was to be there.

All in bounded time, and the same on any machine: sums of at most some thousand terms, rounded to 12
digits.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

from detectors.matchers.faults import answers
from detectors.matchers.plain import normal, number
from detectors.matchers.text import TEXT_FORM, TextMatch
from detectors.matchers.typed_base import (
    NUMBER,
    KeyedForm,
    Option,
    number_of,
    parsed_type,
    read_each,
)
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema
from detectors.model.json_types import number as bounded_number
from detectors.model.json_value import as_items, is_number
from detectors.model.types import Json
from detectors.model.validation import Path

Way = Literal["linear", "tiers", "f1", "bleu", "share"]
MAX_TIERS = 16
MAX_ITEMS = 64
"""Items of a share, and texts to be like."""
MAX_LISTED = 1000
"""Items or lines of a value in which they are looked for."""
MAX_CHARACTERS = 20_000
"""Characters of a text that is graded by likeness; of a longer one those at its beginning."""
MAX_WORDS = 4
"""Words of the longest runs that BLEU counts."""
_WORD = re.compile(r"\w+(?:[.,'-]\w+)*")
_LEVEL = Option(bounded_number(0, below=1, hint="from where on a likeness or a share pays"), 0.0)
_ENDS = KeyedForm(
    "{from, to}: the number worth nothing, and that worth all",
    {"from": Option(NUMBER, required=True), "to": Option(NUMBER, required=True)},
)
_TIER = KeyedForm(
    "{at_most or at_least or both, pays}, pays above 0, at most 1",
    {
        "at_most": Option(NUMBER, math.inf),
        "at_least": Option(NUMBER, -math.inf),
        "pays": Option(NUMBER, required=True),
    },
    minimum=2,
)


@dataclass(frozen=True, slots=True)
class GradeTier:
    """What a number of at most, or at least, so much is worth."""

    at_most: float
    at_least: float
    pays: float

    def holds(self, value: float) -> bool:
        """Return whether the number is in the tier."""
        return self.at_least <= value <= self.at_most


@dataclass(frozen=True, slots=True)
class Grade:
    """How a value is graded. ``numbers``: of linear the two ends, of a share its whole; ``begin``:
    up to this likeness or share nothing is paid, and from there on it is stretched to [0, 1]."""

    way: Way
    numbers: tuple[float, ...] = ()
    tiers: tuple[GradeTier, ...] = ()
    texts: tuple[str, ...] = ()
    items: tuple[TextMatch, ...] = ()
    begin: float = 0.0

    WANTED: ClassVar[str] = (
        "one of {linear: {from, to}}, {tiers: [{at_most or at_least, pays}]}, {f1: text}, {bleu:"
        " text}, {share: number or list}, the last three with from beside it"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of the ways to grade."""
        return {"anyOf": [form.schema() for form in _FORMS.values()]}

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> Grade:
        """Make it of its JSON form. Raises `SpecError`."""
        named = [way for way in _FORMS if isinstance(spec, dict) and way in spec]
        if len(named) != 1:
            raise SpecError(path, spec, cls.WANTED)
        given = _FORMS[named[0]].read(spec, path)
        grade: Grade = given[named[0]]
        return replace(grade, begin=given.get("from", 0.0))

    @property
    def reads_numbers(self) -> bool:
        """Whether it grades a number; else a text, or the items of a list."""
        return self.way in ("linear", "tiers") or (self.way == "share" and not self.items)

    @answers(None)
    def level(self, value: object) -> float | None:
        """Return the level of ``value`` in [0, 1]; None where it is nothing that can be graded: no
        number (or text of one), no text, no list."""
        if self.reads_numbers:
            found = as_number(value)
            return None if found is None else round(self._level_of_number(found), 12)
        if self.way == "share":
            return self._stretched(share_of(self.items, value))
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return None
        measure = f1 if self.way == "f1" else bleu
        return self._stretched(max(measure(str(value), text) for text in self.texts))

    def _level_of_number(self, value: float) -> float:
        if self.way == "tiers":
            return max((tier.pays for tier in self.tiers if tier.holds(value)), default=0.0)
        if self.way == "share":
            return self._stretched(min(1.0, max(0.0, value / self.numbers[0]))) or 0.0
        nothing, all_of_it = self.numbers
        return min(1.0, max(0.0, (value - nothing) / (all_of_it - nothing)))

    def _stretched(self, level: float | None) -> float | None:
        if level is None:
            return None
        return round(max(0.0, (level - self.begin) / (1 - self.begin)), 12)


def as_number(value: object) -> float | None:
    """Return a JSON number, or the number that the whole of a text is; None for anything else."""
    found = number(value) if isinstance(value, str) else number_of(value)
    return float(found) if found is not None and math.isfinite(found) else None


def f1(text: str, reference: str) -> float:
    """Return the F1 of the words that two texts share, each as often as in both: 2pr / (p + r)."""
    said, expected = Counter(words(text)), Counter(words(reference))
    shared = sum((said & expected).values())
    if not shared:
        return float(not said and not expected)
    precision, recall = shared / said.total(), shared / expected.total()
    return 2 * precision * recall / (precision + recall)


def bleu(text: str, reference: str) -> float:
    """Return the BLEU of one sentence (Papineni, Roukos, Ward and Zhu 2002): the geometric mean of
    the precisions of runs of one to four words, of more than one smoothed by 1 (Lin and Och 2004),
    times the brevity penalty. Of a reference of fewer words the runs are as long as that."""
    said, expected = words(text), words(reference)
    if not said or not expected:
        return float(said == expected)
    logs = []
    for n in range(1, min(MAX_WORDS, len(expected)) + 1):
        runs, wanted = _runs(said, n), _runs(expected, n)
        shared, total, smooth = sum((runs & wanted).values()), runs.total(), int(n > 1)
        if not shared + smooth:
            return 0.0
        logs.append(math.log((shared + smooth) / (total + smooth)))
    brevity = min(0.0, 1 - len(expected) / len(said))
    return min(1.0, math.exp(brevity + math.fsum(logs) / len(logs)))


def words(text: str) -> list[str]:
    """Return the words of a text, folded; punctuation but within a word is none."""
    return _WORD.findall(normal(text[:MAX_CHARACTERS]).casefold())


def share_of(items: Sequence[TextMatch], value: object) -> float | None:
    """Return which part of ``items`` stands in the value: as an item of a list, as a line of a
    text, as a value of an object; None for anything else."""
    if isinstance(value, str):
        listed: list[Any] = value.splitlines()[:MAX_LISTED]
    elif isinstance(value, Mapping):
        listed = list(value.values())[:MAX_LISTED]
    elif isinstance(value, list | tuple):
        listed = list(value)[:MAX_LISTED]
    else:
        return None
    return sum(any(item.matches_json(one) for one in listed) for item in items) / len(items)


def _runs(found: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(found[k:] for k in range(n)), strict=False))


def _read_linear(spec: Json, path: Path) -> Grade:
    ends = _ENDS.read(spec, path)
    if ends["from"] == ends["to"]:
        raise SpecError(path, spec, _ENDS.expected)
    return Grade("linear", (float(ends["from"]), float(ends["to"])))


def _read_tiers(spec: Json, path: Path) -> Grade:
    if not isinstance(spec, list) or not 0 < len(spec) <= MAX_TIERS:
        raise SpecError(path, spec, f"a list of 1 to {MAX_TIERS} {{at_most or at_least, pays}}")
    return Grade("tiers", tiers=read_each(_read_tier, spec, path))


def _read_tier(spec: Json, path: Path) -> GradeTier:
    tier = _TIER.read(spec, path)
    if not 0 < tier["pays"] <= 1 or tier["at_least"] > tier["at_most"]:
        raise SpecError(path, spec, _TIER.expected)
    return GradeTier(float(tier["at_most"]), float(tier["at_least"]), float(tier["pays"]))


def _read_texts(way: Way, spec: Json, path: Path) -> Grade:
    given = as_items(spec)
    texts = tuple(text for text in given if isinstance(text, str) and words(text))
    if len(texts) < len(given) or not 0 < len(texts) <= MAX_ITEMS:
        raise SpecError(path, spec, "a text with a word in it, or a list of them")
    return Grade(way, texts=texts)


def _read_share(spec: Json, path: Path) -> Grade:
    if is_number(spec) and spec > 0:
        return Grade("share", (float(spec),))
    if not isinstance(spec, list) or not 0 < len(spec) <= MAX_ITEMS:
        expected = f"the number that is all of it, or a list of 1 to {MAX_ITEMS} texts"
        raise SpecError(path, spec, expected)
    return Grade("share", items=read_each(TextMatch.parse, spec, path))


def _list_of(items: Schema, maximum: int) -> Schema:
    return {"type": "array", "minItems": 1, "maxItems": maximum, "items": items}


_LIKE: Schema = {
    "anyOf": [{"type": "string", "minLength": 1}, _list_of({"type": "string"}, MAX_ITEMS)]
}
_OF_WHOLE: Schema = {
    "anyOf": [{"type": "number", "exclusiveMinimum": 0}, _list_of(TEXT_FORM, MAX_ITEMS)]
}
_FROM = {"from": _LEVEL}
_WAYS: Sequence[tuple[Way, Callable[[Json, Path], Grade], Schema, Mapping[str, Option]]] = (
    ("linear", _read_linear, _ENDS.schema(), {}),
    ("tiers", _read_tiers, _list_of(_TIER.schema(), MAX_TIERS), {}),
    ("f1", partial(_read_texts, "f1"), _LIKE, _FROM),
    ("bleu", partial(_read_texts, "bleu"), _LIKE, _FROM),
    ("share", _read_share, _OF_WHOLE, _FROM),
)
"""Each way with how its value is read, that one's JSON Schema, and what may stand beside it."""
_FORMS: Mapping[str, KeyedForm] = {
    way: KeyedForm(
        Grade.WANTED,
        {way: Option(parsed_type(read, Grade.WANTED, schema), required=True), **beside},
    )
    for way, read, schema, beside in _WAYS
}
