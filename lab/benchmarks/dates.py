"""Days: those that an instruction names, and the one that a value of an application's state is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from detectors.model.json_value import is_number

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?\b"
_YEAR = r"(?:,?\s+(\d{4})\b)?"
_MONTH_FIRST = re.compile(rf"\b{_MONTH}\s+{_DAY}{_YEAR}", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_SLASHED = re.compile(r"(?<![\d/.-])(\d{1,2})[/.-](\d{1,2})(?:[/.-](\d{4}|\d{2}))?(?![\d/])")
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::\d\d(?:[.,]\d+)?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?"
)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b|\b(\d{1,2}):(\d\d)\b", re.IGNORECASE)
_CLOCK_TEXT = re.compile(
    r"\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s*[ap]\.?m\b\.?)?", re.IGNORECASE
)
_AROUND_DATE = re.compile(
    r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|\bat\b|(?:\bgmt|\butc)?[+-]\d\d:?\d\d\b|\bgmt\b|\butc\b|"
    r"\([a-z ]*\)|[\s,.;]+",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"(?:just )?now|today|yesterday|"
    r"(?:an?|\d+) ?(?:s|sec|m|min|h|hr|d|second|minute|hour|day)s?\.?(?: ago)?",
    re.IGNORECASE,
)
_MAX_SHOWN = 80
_SECONDS = (1e9, 4e9)
"""Numbers that are a time in seconds since 1970: 2001 to 2096."""


def day_of(value: object) -> str | None:
    """The day of a point in time, as 2026-03-08; None for what is none.

    A text is one as ISO 8601 has it, with a time of day or without. A number is one in seconds or
    in milliseconds since 1970, from 2001 to 2096.
    """
    if isinstance(value, str):
        found = _STAMP.fullmatch(value)
        day = "" if found is None else found[1]
        return day if _is_day(day) else None
    if not is_number(value):
        return None
    earliest, latest = _SECONDS
    for unit in (1, 1000):  # seconds, milliseconds
        if earliest * unit <= value <= latest * unit:
            return datetime.fromtimestamp(value / unit, UTC).date().isoformat()
    return None


def shown_dates(text: str) -> list[tuple[int | None, int, int]]:
    """(year or None, month, day) of a text that is one date as people read it, with a time of day
    or without: ``Mar 6, 2026, 12:00 PM``, ``06/03/2026`` (told both ways). Empty for others."""
    if len(text) > _MAX_SHOWN:
        return []
    for pattern in (_ISO, _MONTH_FIRST, _DAY_FIRST, _SLASHED):
        found = pattern.search(text)
        if found is not None:
            rest = f"{text[: found.start()]} {text[found.end() :]}"
            is_date = not _AROUND_DATE.sub("", _CLOCK_TEXT.sub("", rest))
            return list(_dates(found[0])) if is_date else []
    return []


def shown_days(text: str) -> list[str]:
    """The days, as 2026-03-08, that a text of `shown_dates` may be; none without a year."""
    days = []
    for year, month, day in shown_dates(text):
        if year is not None:
            full = f"{year + 2000 * (year < 100):04}-{month:02}-{day:02}"
            days += [full] * _is_day(full)
    return days


def is_shown_time(text: str) -> bool:
    """Whether a text is a time of day alone (``12:04 PM``), or how long ago something was."""
    return bool(_CLOCK_TEXT.fullmatch(text.strip()) or _SINCE.fullmatch(text.strip()))


def minute_of(value: object) -> str | None:
    """The time of day of a text that is a point in time, as 08:30; None for a day alone."""
    found = _STAMP.fullmatch(value) if isinstance(value, str) else None
    return found[2] if found else None


def is_named(day: str, text: str) -> bool:
    """Whether ``text`` names ``day``: a date without its year names that day of every year."""
    year, *month_and_day = map(int, day.split("-"))
    years = (None, year, year % 100)
    return any([m, d] == month_and_day and y in years for y, m, d in _dates(text))


def is_minute_named(minute: str, text: str) -> bool:
    """Whether ``text`` names the time of day ``minute`` (HH:MM), in 12 or 24 hours."""
    return minute in set(_minutes(text))


def _dates(text: str) -> Iterator[tuple[int | None, int, int]]:
    """(year or None, month, day) of all dates; one of two numbers is told both ways, as America's
    and as Europe's."""
    for y, m, d in _ISO.findall(text):
        yield int(y), int(m), int(d)
    for name, d, y in _MONTH_FIRST.findall(text):
        yield _year(y), _month(name), int(d)
    for d, name, y in _DAY_FIRST.findall(text):
        yield _year(y), _month(name), int(d)
    for first, second, y in _SLASHED.findall(text):
        yield _year(y), int(first), int(second)
        yield _year(y), int(second), int(first)


def _year(digits: str) -> int | None:
    return int(digits) if digits else None


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _minutes(text: str) -> Iterator[str]:
    """Yield each time of day in a text, as 17:05, also where it is written as 5:05 p.m."""
    for hour, minute, half, hour_24, minute_24 in _CLOCK.findall(text):
        if not half:
            yield f"{int(hour_24):02}:{minute_24}"
            continue
        noon = 12 if half in "pP" else 0
        whole = int(hour) % 12 + noon
        yield f"{whole:02}:{minute or '00'}"


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
