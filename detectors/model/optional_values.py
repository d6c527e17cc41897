"""Values that may be missing: the known ones among several, entries by key, an end, a mean."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def without_none(values: Iterable[_Value | None]) -> list[_Value]:
    """Return those of ``values`` that are not None, in their order."""
    return [value for value in values if value is not None]


def entries_without_none(entries: Mapping[_Key, _Value | None]) -> dict[_Key, _Value]:
    """Return the entries of a mapping whose value is not None, in their order."""
    return {key: value for key, value in entries.items() if value is not None}


def drop_empty(entries: Mapping[_Key, _Value | None]) -> dict[_Key, _Value]:
    """Return the entries of a mapping whose value says something: no None, False, 0, nor what is
    empty."""
    return {key: value for key, value in entries.items() if value}


def pick_keys(entries: Mapping[_Key, _Value], keys: Iterable[_Key]) -> dict[_Key, _Value]:
    """Return the entries under those of ``keys`` that there are, in the order of ``keys``."""
    return {key: entries[key] for key in keys if key in entries}


def drop_keys(entries: Mapping[_Key, _Value], keys: Container[_Key]) -> dict[_Key, _Value]:
    """Return the entries of a mapping but for those under ``keys``, in their order."""
    return {key: value for key, value in entries.items() if key not in keys}


def first_or_none(values: Sequence[_Value]) -> _Value | None:
    """Return the first of ``values``, None where there is none."""
    return values[0] if values else None


def last_or_none(values: Sequence[_Value]) -> _Value | None:
    """Return the last of ``values``, None where there is none."""
    return values[-1] if values else None


def ratio_or_none(part: float, whole: float) -> float | None:
    """Return ``part`` divided by ``whole``, None where ``whole`` is 0."""
    return part / whole if whole else None


def mean_or_none(values: Collection[float]) -> float | None:
    """Return the arithmetic mean of ``values`` (exactly summed), None where there is none."""
    return ratio_or_none(math.fsum(values), len(values))
