"""Whole numbers, percentages, money, durations and distances."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from detectors.matchers import third_party
from detectors.matchers.plain import KEYS_WITH_DIGITS, keys_of_amount, normal, number
from detectors.matchers.typed_base import About, Form, Path, number_of, plain
from detectors.model.caches import cache_short
from detectors.model.errors import SpecError
from detectors.model.types import Json

SECONDS = {
    1e-3: "ms millisecond milliseconds msec",
    1.0: "s sec secs second seconds",
    60.0: "m min mins minute minutes",
    3600.0: "h hr hrs hour hours",
    86400.0: "d day days",
    604800.0: "w wk wks week weeks",
}
METRES = {
    1e-3: "mm millimetre millimetres millimeter millimeters",
    1e-2: "cm centimetre centimetres centimeter centimeters",
    1.0: "m metre metres meter meters",
    1000.0: "km kilometre kilometres kilometer kilometers",
    0.0254: "in inch inches",
    0.3048: "ft foot feet",
    0.9144: "yd yard yards",
    1609.344: "mi mile miles",
    1852.0: "nmi nm",
}
# By hand: seven units are a table, and what a library of units adds (prefixes, algebra, files of
# definitions) is not wanted in a text that an agent wrote.
MAX_WHOLE = 40
MAX_AMOUNT = 40
"""Characters from the first digit of an amount to its last: a decimal has 28 digits before it is
rounded."""
_AMOUNT = re.compile(r"(\D*)(\d(?:.*\d)?)(\D*)", re.DOTALL)
"""What stands before the first digit, from there to the last one, and behind that."""
_PART = re.compile(r"([\d.,]+) ?([A-Za-z]+)[, ]*")
_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d))?")
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


def _by_name(table: Mapping[float, str]) -> dict[str, float]:
    return {name: factor for factor, names in table.items() for name in names.split()}


_SECONDS, _METRES = _by_name(SECONDS), _by_name(METRES)


@dataclass(frozen=True, slots=True)
class Quantity(Form):
    """A number that a reader finds in the text, which it folds itself; ``bare``: a number without a
    sign or unit is one."""

    wanted: About
    read: Callable[[str], float | None]
    bare: bool = False

    def matches(self, text: str) -> bool:
        """Whether the text says the number."""
        return self.wanted.matches(self.read(text))

    def matches_json(self, value: object) -> bool:
        """Whether a JSON number is the number."""
        return self.bare and self.wanted.matches(number_of(value))

    def text_keys(self) -> tuple[str, ...]:
        """Those of a number's digits; a sum of parts such as 1 h 30 min has others than its
        value."""
        return self.wanted.text_keys() if self.bare else KEYS_WITH_DIGITS


@dataclass(frozen=True, slots=True)
class Whole(Form):
    """A whole number, to its last digit unless a tolerance is given."""

    wanted: int
    tolerance: float

    def matches(self, text: str) -> bool:
        """Whether the text says the number."""
        folded = normal(text)
        if "." in folded or len(folded) > MAX_WHOLE or number(folded) is None:
            return False
        return self._is(int(folded.replace(",", "")))

    def matches_json(self, value: object) -> bool:
        """Whether a JSON number is the number; 42.0 is 42."""
        found = number_of(value)
        return found is not None and float(found).is_integer() and self._is(int(found))

    def text_keys(self) -> tuple[str, ...]:
        """Those of the wanted number's digits."""
        return keys_of_amount(float(self.wanted), self.tolerance)

    def _is(self, found: int) -> bool:
        return found == self.wanted or abs(found - self.wanted) <= self.tolerance


def integer(value: object, options: Mapping[str, Json], path: Path) -> Whole:
    """A whole number: "42", "1,234"; not "42.0", not "42 lamps"."""
    if type(value) is not int or not abs(value) < 2**63:
        raise SpecError(path, value, "a whole number of at most 63 bits")
    return Whole(value, options["tolerance"])


def percentage(value: object, options: Mapping[str, Json], path: Path) -> Quantity:
    """ "12.5 %", "12.5 percent", "12.5"; the value is in per cent."""
    return Quantity(About(plain(value, path), options["tolerance"]), _percent, bare=True)


@cache_short(256, 512)
def _percent(written: str) -> float | None:
    text = normal(written)
    sign = next((sign for sign in ("%", "percent", "per cent") if text.endswith(sign)), "")
    return number(text.removesuffix(sign).rstrip())


@dataclass(frozen=True, slots=True)
class Money(Form):
    """An amount in a currency, written as in one locale: before or after the number, sign, code or
    name."""

    wanted: About
    locale: str
    names: frozenset[str]

    def matches(self, text: str) -> bool:
        """Whether the text is that much of that currency; where none was asked for, a number
        alone."""
        found = _read_amount(text, self.locale)
        if found is None or not self._is_currency(found.names):
            return False
        return self.wanted.matches(found.value)

    def _is_currency(self, names: tuple[str, ...]) -> bool:
        """Whether what stands around the number names the currency, once; without one that is
        asked for, nothing may stand there."""
        if not names:
            return not self.names
        return len(names) == 1 and names[0] in self.names

    def matches_json(self, value: object) -> bool:
        """Whether a JSON number is that much; where a currency was asked for, a number says too
        little."""
        return not self.names and self.wanted.matches(number_of(value))

    def text_keys(self) -> tuple[str, ...]:
        """Those of the wanted amount's digits."""
        return self.wanted.text_keys()


class _Amount(NamedTuple):
    """A number, and what stands before and behind it, as far as there is anything."""

    value: float
    names: tuple[str, ...]


@cache_short(256, 512)
def _read_amount(text: str, locale: str) -> _Amount | None:
    """Read the whole text as an amount, written as in a locale; None where it is none."""
    folded = normal(text)
    signed = folded[:1] in ("+", "-")
    bare = folded[1:].lstrip() if signed else folded.lstrip()
    parts = _AMOUNT.fullmatch(bare)
    if parts is None:
        return None
    before, amount, after = parts.groups()
    if any(c.isalpha() or c == "_" for c in amount) or len(amount) > MAX_AMOUNT:
        return None
    minus = "-" if folded.startswith("-") else ""
    value = third_party.decimal(minus + amount, locale)
    if value is None:
        return None
    names = (before.strip().casefold(), after.strip().casefold())
    return _Amount(float(value), tuple(name for name in names if name))


def money(value: object, options: Mapping[str, Json], path: Path) -> Money:
    """``{money: 1234.5, currency: USD, locale: en}``: "$1,234.50", "1,234.50 USD"; a text without
    currency if none is asked for."""
    locale, code = options["locale"], options["currency"]
    names = None if code is None else third_party.currency(str(code), locale)
    return Money(About(plain(value, path), options["tolerance"]), locale, names or frozenset())


def _sum_parts(signed: str, units: Mapping[str, float]) -> float | None:
    """Read "1 h 30 min": numbers with units, one after the other, and nothing else; each unit once.
    A sign stands before the whole alone: "1 h -30 min" is nothing that anybody writes."""
    text = signed[1:] if signed[:1] in ("+", "-") else signed
    at, found, seen = 0, 0.0, set[float]()
    while at < len(text) and (part := _PART.match(text, at)):
        value = number(part[1])
        factor = units.get(part[2], units.get(part[2].lower()))
        if value is None or factor is None or factor in seen:
            return None
        seen.add(factor)
        at, found = part.end(), found + value * factor
    if not seen or at != len(text):
        return None
    return -found if signed.startswith("-") else found


@cache_short(256, 512)
def _metres(written: str) -> float | None:
    return _sum_parts(normal(written), _METRES)


@cache_short(256, 512)
def _lasting(written: str) -> float | None:
    text = normal(written)
    if clock := _CLOCK.fullmatch(text):  # h:mm or h:mm:ss
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return hours * 3600.0 + minutes * 60 + seconds
    if (iso := _ISO.fullmatch(text)) and any(iso.groups()):
        return sum(
            float(part or 0) * factor
            for part, factor in zip(iso.groups(), (86400, 3600, 60, 1), strict=True)
        )
    return _sum_parts(text, _SECONDS)


def _of_units(
    value: object,
    options: Mapping[str, Json],
    path: Path,
    read: Callable[[str], float | None],
    unit: str,
) -> Quantity:
    wanted = read(value) if isinstance(value, str) else plain(value, path, f"a text, or {unit}")
    if wanted is None:
        raise SpecError(path, value, f"a text with units that are known, or {unit}")
    return Quantity(About(wanted, options["tolerance"]), read)


def duration(value: object, options: Mapping[str, Json], path: Path) -> Quantity:
    """ "1 h 30 min", "90 minutes", "1:30:00", "PT1H30M"; a number is in seconds, as is the
    tolerance."""
    return _of_units(value, options, path, _lasting, "a number of seconds")


def distance(value: object, options: Mapping[str, Json], path: Path) -> Quantity:
    """ "5 km", "3.1 miles", "6 ft 2 in"; a number is in metres, as is the tolerance."""
    return _of_units(value, options, path, _metres, "a number of metres")
