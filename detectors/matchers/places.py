"""Coordinates, and postal addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from detectors.matchers.plain import normal
from detectors.matchers.typed_base import About, Form, Path, number_of, plain, text_of
from detectors.model.caches import cache_short
from detectors.model.errors import SpecError
from detectors.model.types import Json

_DECIMAL = re.compile(r"\(?([+-]?\d{1,3}(?:\.\d+)?)°?[, ] ?([+-]?\d{1,3}(?:\.\d+)?)°?\)?")
_MARKED = re.compile(
    r"(\d{1,3}(?:\.\d+)?)° ?(?:(\d{1,2}(?:\.\d+)?)['′’] ?)?(?:(\d{1,2}(?:\.\d+)?)[\"″”]"
    r" ?)?([NSEW])[, ]*"
)
_WORDS = re.compile(r"[^\W_]+")
# The commonest of the US Postal Service's (Publication 28, appendices B and C).
_SHORT = dict(
    pair.split(":")
    for pair in (
        "avenue:ave boulevard:blvd circle:cir court:ct drive:dr highway:hwy lane:ln parkway:pkwy"
        " place:pl road:rd square:sq street:st terrace:ter trail:trl apartment:apt building:bldg"
        " floor:fl suite:ste north:n south:s east:e west:w northeast:ne northwest:nw southeast:se"
        " southwest:sw"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Coordinates(Form):
    """A place on Earth, in degrees; longitudes meet at ±180."""

    latitude: About
    longitude: About

    def matches(self, text: str) -> bool:
        """Whether the text is that place: "48.8566, 2.3522" or 48°51′24″N 2°21′8″E."""
        found = degrees(_read(text))
        return found is not None and self._is(*found)

    def matches_json(self, value: object) -> bool:
        """Whether a JSON value is that place: a list of two numbers, latitude first."""
        if not isinstance(value, list) or len(value) != 2:
            return False
        latitude, longitude = map(number_of, value)
        if latitude is None or longitude is None:
            return False
        return abs(latitude) <= 90 and abs(longitude) <= 180 and self._is(latitude, longitude)

    def _is(self, latitude: float, longitude: float) -> bool:
        turned = (longitude, longitude - 360, longitude + 360)
        return self.latitude.matches(latitude) and any(map(self.longitude.matches, turned))


def _read(text: str) -> str:
    # Not NFKC: it takes the marks of minutes and seconds apart.
    return " ".join(text.split())


@cache_short(256, 512)
def degrees(text: str) -> tuple[float, float] | None:
    """Latitude and longitude that the whole text says; None where it says none."""
    decimal = _DECIMAL.fullmatch(text)
    found = _both_marked(text) if decimal is None else (float(decimal[1]), float(decimal[2]))
    if found is None or abs(found[0]) > 90 or abs(found[1]) > 180:
        return None
    return found


def _both_marked(text: str) -> tuple[float, float] | None:
    """Latitude and longitude where the text is both, in whichever order, each with its side."""
    first = _MARKED.match(text)
    second = None if first is None else _MARKED.fullmatch(text, first.end())
    if first is None or second is None:
        return None
    by_side = {part[4] in "NS": _marked(part) for part in (first, second)}
    return (by_side[True], by_side[False]) if len(by_side) == 2 else None


def _marked(part: re.Match[str]) -> float:
    degrees = float(part[1]) + float(part[2] or 0) / 60 + float(part[3] or 0) / 3600
    return -degrees if part[4] in "SW" else degrees


def coordinates(value: object, options: Mapping[str, Json], path: Path) -> Coordinates:
    """``{coordinates: [48.8566, 2.3522], tolerance: 0.001}``; latitude first, in degrees, 0.0005 of
    them by default."""
    if not isinstance(value, list) or len(value) != 2:
        raise SpecError(path, value, "a list of latitude and longitude")
    near = options["tolerance"]
    latitude, longitude = (plain(part, path) for part in value)
    if abs(latitude) > 90 or abs(longitude) > 180:
        raise SpecError(path, value, "a latitude up to 90 and a longitude up to 180")
    return Coordinates(About(latitude, near), About(longitude, near))


@dataclass(frozen=True, slots=True)
class PostalAddress(Form):
    """A postal address as its words: punctuation, case and usual abbreviations do not count, order
    does."""

    words: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Whether the text is that address, whole."""
        return _words(text) == self.words


@cache_short(256, 512)
def _words(text: str) -> tuple[str, ...]:
    found = _WORDS.findall(normal(text).casefold())
    return tuple(_SHORT.get(word, word) for word in found)


def address(value: object, options: Mapping[str, Json], path: Path) -> PostalAddress:
    """``{address: "5000 Forbes Avenue, Pittsburgh, PA 15213"}``: "5000 Forbes Ave. Pittsburgh PA
    15213"."""
    words = _words(text_of(value, path, "an address"))
    if not words:
        raise SpecError(path, value, "an address")
    return PostalAddress(words)
