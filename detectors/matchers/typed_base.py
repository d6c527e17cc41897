"""What the typed forms share: checks of their options, and a number with a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from detectors.model.codec import canonical
from detectors.model.errors import SpecError

Path = tuple[str | int, ...]
MAX_EXACT = 2.0**53
"""Whole numbers below it are the same as floats."""


class Form:
    """A typed form, compiled."""

    __slots__ = ()

    def matches(self, text: str) -> bool:
        """Whether the text means what the author asked for."""
        raise NotImplementedError

    def matches_json(self, value: object) -> bool:
        """Whether a JSON value that is neither a text nor null does: a number, true or false by its
        JSON text, unless the form reads values."""
        return not isinstance(value, list | dict) and self.matches(json_text(value))


def json_text(value: object) -> str:
    """A JSON value as JSON; 42.0 is 42, since JSON has one type of number. "" for what is nested
    too deep to write (254 levels)."""
    try:
        return canonical(_whole(value)).decode()
    except (TypeError, RecursionError):
        return ""


def _whole(value: object) -> object:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < MAX_EXACT else value
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list | tuple) else value


def number_of(value: object) -> float | int | None:
    """The number that a JSON value is; None for a text, null, true and false."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class About:
    """A number, give or take."""

    value: float
    tolerance: float

    def matches(self, found: float | None) -> bool:
        """Whether ``found`` is near enough; a hair is given for what binary fractions can't say."""
        return found is not None and abs(found - self.value) <= self.tolerance + 1e-12 * max(
            1.0, abs(self.value)
        )


def plain(value: object, path: Path, wanted: str = "a number") -> float:
    """``value`` as a number. Raises `SpecError`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise SpecError(path, value, wanted)
    return float(value)


def tolerance(options: Mapping[str, object], path: Path, default: float = 0.0) -> float:
    """Read the option ``tolerance``, a number from 0. Raises `SpecError`."""
    found = plain(options.get("tolerance", default), (*path[:-1], "tolerance"), "a number from 0")
    if found < 0:
        raise SpecError((*path[:-1], "tolerance"), found, "a number from 0")
    return found


def flag(options: Mapping[str, object], name: str, path: Path, default: bool = False) -> bool:
    """An option that is true or false. Raises `SpecError`."""
    found = options.get(name, default)
    if not isinstance(found, bool):
        raise SpecError((*path[:-1], name), found, "true or false")
    return found


def text_of(value: object, path: Path, wanted: str) -> str:
    """``value`` as a text with something in it. Raises `SpecError`."""
    if not isinstance(value, str) or not value.strip():
        raise SpecError(path, value, wanted)
    return value
