"""Dates and times of day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from detectors.matchers import third_party
from detectors.matchers.plain import KEYS_WITH_DIGITS, normal
from detectors.matchers.typed_base import Form, Path, text_of
from detectors.model.caches import cache_short
from detectors.model.errors import SpecError
from detectors.model.types import Json

MAX_DATE = 64
_DAY = 86_400
# A time is a grammar of one line; libraries of dates read a bare "12" or "5 May" as one, too.
_TIME = re.compile(r"(\d{1,2})(?::([0-5]\d))?(?::([0-5]\d))?(?: ?([AaPp])\.?[Mm]\.?)?")
_YEAR = re.compile(r"(?<![+\d])\d{4}(?!\d)")
_WORD = re.compile(r"[^\W\d_]+")
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_BESIDE = frozenset(
    (*_MONTHS, *(name[:3] for name in _MONTHS), "sept", *"st nd rd th of t z am pm utc gmt".split())
)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Date(Form):
    """One day, however it is written."""

    day: tuple[int, int, int]
    day_first: bool

    def matches(self, text: str) -> bool:
        """Whether the text is that day: year, month and day, and no more than a time beside
        them."""
        folded = normal(text)
        return len(folded) <= MAX_DATE and whole_day(folded, self.day_first) == self.day

    def text_keys(self) -> tuple[str, ...]:
        """Those of a text with a digit: a day is written in many ways."""
        return KEYS_WITH_DIGITS


@cache_short(256, MAX_DATE)
def whole_day(text: str, day_first: bool) -> tuple[int, int, int] | None:
    """Year, month and day that the whole text says, and no more than a time beside them."""
    if not any(c.isdecimal() for c in text) or len(_YEAR.findall(text)) > 1:
        return None  # the library takes the last of two dates
    if text[0] in "-+" or text[-1] in "-+,":
        return None
    # ISO 8601 is year, month, day, whatever the order of other writings.
    found = third_party.day(text, day_first and not _ISO.match(text))
    words = set(_WORD.findall(text.casefold())) - _BESIDE
    return found if found is not None and words <= _names_of(found) else None


def _names_of(day: tuple[int, int, int]) -> set[str]:
    """The names of that day in a week, by Zeller's congruence."""
    year, month, date = day
    if month < 3:
        year, month = year - 1, month + 12
    saturday_first = (
        date + 13 * (month + 1) // 5 + year + year // 4 - year // 100 + year // 400
    ) % 7
    name = _WEEKDAYS[(saturday_first + 5) % 7]
    return {name, name[:3], {"tue": "tues", "wed": "weds", "thu": "thurs"}.get(name[:3], name)}


def date(value: object, options: Mapping[str, Json], path: Path) -> Date:
    """``{date: 2024-05-06, day_first: false}``: "May 6, 2024", "05/06/2024", "6 May 2024"."""
    wanted = "a date such as 2024-05-06 (quoted)"
    found = whole_day(normal(text_of(value, path, wanted)), options["day_first"])
    if found is None:
        raise SpecError(path, value, wanted)
    return Date(found, options["day_first"])


@dataclass(frozen=True, slots=True)
class Time(Form):
    """A time of day, in seconds, on a clock that comes round at midnight."""

    seconds: int
    tolerance: float

    def matches(self, text: str) -> bool:
        """Whether the text is that time."""
        found = _seconds(text)
        if found is None:
            return False
        apart = abs(found - self.seconds)
        return min(apart, _DAY - apart) <= self.tolerance

    def text_keys(self) -> tuple[str, ...]:
        """Those of a text with a digit: an hour has two numbers."""
        return KEYS_WITH_DIGITS


@cache_short(256, 512)
def _seconds(written: str) -> int | None:
    text = normal(written)
    read = _TIME.fullmatch(text)
    if read is None or (read[2] is None and read[4] is None):
        return None
    hour, minute, second = int(read[1]), int(read[2] or 0), int(read[3] or 0)
    if read[4] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if read[4] in "Pp" else 0)
    return hour * 3600 + minute * 60 + second if hour < 24 else None


def time(value: object, options: Mapping[str, Json], path: Path) -> Time:
    """``{time: "14:30", tolerance: 60}``: "2:30 PM", "14:30:00"; the tolerance is in seconds."""
    wanted = 'a time such as "14:30" (quoted)'
    found = _seconds(text_of(value, path, wanted))
    if found is None:
        raise SpecError(path, value, wanted)
    return Time(found, options["tolerance"])
