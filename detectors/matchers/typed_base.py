"""What the typed forms share: checks of their options, and a number with a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from detectors.errors import SpecError

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class About:
    """A number, give or take."""

    value: float
    tolerance: float

    def matches(self, found: float | None) -> bool:
        """Whether ``found`` is near enough; a hair is given for what binary fractions can't say."""
        return found is not None and abs(found - self.value) <= self.tolerance + 1e-12 * max(1.0, abs(self.value))


def plain(value: Any, path: Path, wanted: str = "a number") -> float:
    """``value`` as a number. Raises `SpecError`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise SpecError(path, value, wanted)
    return float(value)


def tolerance(options: Mapping[str, Any], path: Path, default: float = 0.0) -> float:
    """The option ``tolerance``. Raises `SpecError`."""
    found = plain(options.get("tolerance", default), (*path[:-1], "tolerance"), "a number from 0")
    if found < 0:
        raise SpecError((*path[:-1], "tolerance"), found, "a number from 0")
    return found


def flag(options: Mapping[str, Any], name: str, path: Path, default: bool = False) -> bool:
    """An option that is true or false. Raises `SpecError`."""
    found = options.get(name, default)
    if not isinstance(found, bool):
        raise SpecError((*path[:-1], name), found, "true or false")
    return found


def text_of(value: Any, path: Path, wanted: str) -> str:
    """``value`` as a text with something in it. Raises `SpecError`."""
    if not isinstance(value, str) or not value.strip():
        raise SpecError(path, value, wanted)
    return value
