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
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from detectors.matchers.faults import answers
from detectors.matchers.plain import normal, number
from detectors.matchers.text import TEXT_FORM, TextMatch
from detectors.matchers.typed_base import number_of
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, object_schema
from detectors.model.validation import Path, is_number

Way = Literal["linear", "tiers", "f1", "bleu", "share"]
WAYS = ("linear", "tiers", "f1", "bleu", "share")
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
_NUMBER: Schema = {"type": "number"}
_TEXTS: Schema = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": {"type": "string"}},
    ]
}
_LEVEL: Schema = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
_TIER: Schema = {
    **object_schema({"at_most": _NUMBER, "at_least": _NUMBER, "pays": _NUMBER}, ["pays"]),
    "minProperties": 2,
}
_SCHEMAS: Mapping[Way, dict[str, Schema]] = {
    "linear": {"linear": object_schema({"from": _NUMBER, "to": _NUMBER}, ["from", "to"])},
    "tiers": {"tiers": {"type": "array", "minItems": 1, "maxItems": MAX_TIERS, "items": _TIER}},
    "f1": {"f1": _TEXTS, "from": _LEVEL},
    "bleu": {"bleu": _TEXTS, "from": _LEVEL},
    "share": {
        "share": {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": TEXT_FORM},
            ]
        },
        "from": _LEVEL,
    },
}


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
        return {"anyOf": [object_schema(body, [way]) for way, body in _SCHEMAS.items()]}

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> Grade:
        """Make it of its JSON form. Raises `SpecError`."""
        named = [way for way in WAYS if isinstance(spec, dict) and way in spec]
        if not isinstance(spec, dict) or len(named) != 1 or set(spec) - {named[0], "from"}:
            raise SpecError(path, spec, cls.WANTED)
        way, begin = named[0], spec.get("from", 0.0)
        if "from" in spec and (
            way in ("linear", "tiers") or not is_number(begin) or not 0 <= begin < 1
        ):
            raise SpecError((*path, "from"), begin, "a number from 0, below 1, of a likeness")
        return _READERS[way](spec[way], (*path, way), float(begin))

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


def _read_linear(spec: object, path: Path, begin: float) -> Grade:
    ends = [spec.get(end) if isinstance(spec, dict) else None for end in ("from", "to")]
    is_whole = isinstance(spec, dict) and len(spec) == 2
    if not is_whole or not all(map(is_number, ends)) or ends[0] == ends[1]:
        raise SpecError(path, spec, "{from, to}: the number worth nothing, and that worth all")
    return Grade("linear", tuple(float(end) for end in ends if end is not None))


def _read_tiers(spec: object, path: Path, begin: float) -> Grade:
    if not isinstance(spec, list) or not 0 < len(spec) <= MAX_TIERS:
        raise SpecError(path, spec, f"a list of 1 to {MAX_TIERS} {{at_most or at_least, pays}}")
    return Grade("tiers", tiers=tuple(_read_tier(one, (*path, n)) for n, one in enumerate(spec)))


def _read_tier(spec: object, path: Path) -> GradeTier:
    expected = "{at_most or at_least or both, pays}, pays above 0, at most 1"
    if not isinstance(spec, dict) or set(spec) - {"at_most", "at_least", "pays"} or len(spec) < 2:
        raise SpecError(path, spec, expected)
    most, least = spec.get("at_most", math.inf), spec.get("at_least", -math.inf)
    limits = [spec[name] for name in ("at_most", "at_least") if name in spec]
    pays = spec.get("pays")
    if not is_number(pays) or not 0 < pays <= 1 or not all(map(is_number, limits)) or least > most:
        raise SpecError(path, spec, expected)
    return GradeTier(float(most), float(least), float(pays))


def _read_texts(way: Literal["f1", "bleu"]) -> Callable[[object, Path, float], Grade]:
    def read(spec: object, path: Path, begin: float) -> Grade:
        given: list[object] = spec if isinstance(spec, list) else [spec]
        texts = tuple(text for text in given if isinstance(text, str) and words(text))
        if len(texts) < len(given) or not 0 < len(texts) <= MAX_ITEMS:
            raise SpecError(path, spec, "a text with a word in it, or a list of them")
        return Grade(way, texts=texts, begin=begin)

    return read


def _read_share(spec: object, path: Path, begin: float) -> Grade:
    if is_number(spec) and spec > 0:
        return Grade("share", (float(spec),), begin=begin)
    if not isinstance(spec, list) or not 0 < len(spec) <= MAX_ITEMS:
        expected = f"the number that is all of it, or a list of 1 to {MAX_ITEMS} texts"
        raise SpecError(path, spec, expected)
    items = tuple(TextMatch.parse(one, (*path, n)) for n, one in enumerate(spec))
    return Grade("share", items=items, begin=begin)


_READERS: Mapping[str, Callable[[object, Path, float], Grade]] = {
    "linear": _read_linear,
    "tiers": _read_tiers,
    "f1": _read_texts("f1"),
    "bleu": _read_texts("bleu"),
    "share": _read_share,
}
