"""Small charts of one value a version, as the numbers of an SVG: a line with its points, or components stacked (pure).

What is not known is a gap in the line, never a zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from api.pages.curve import Bar, Tick

WIDTH, WIDE, HEIGHT = 420.0, 960.0, 170.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 12.0, 26.0
_MOST_TICKS = 5
_LONGEST = 12


class Dot(NamedTuple):
    """One known value of a version."""

    x: float
    y: float
    name: str
    value: float


class Plot(NamedTuple):
    """``lines``: the points of each unbroken part; ``names`` below the axis, ``levels`` beside it."""

    lines: list[str]
    dots: list[Dot]
    bars: list[Bar]
    names: list[Tick]
    levels: list[Tick]
    zero: float


def line(names: Sequence[str], values: Sequence[float | None], top: float | None = None) -> Plot | None:
    """A value a version, in order; the axis reaches from 0 to ``top`` at least. None where nothing is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    scale = _Scale(len(names), min(0.0, *known), max(top or 0.0, *known))
    dots = [
        Dot(scale.x(place), scale.y(value), names[place], value)
        for place, value in enumerate(values)
        if value is not None
    ]
    parts: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            parts.append([])
        else:
            parts[-1].append(f"{scale.x(place)},{scale.y(value)}")
    lines = [" ".join(part) for part in parts if len(part) > 1]
    return Plot(lines, dots, [], _ticks(names, scale), scale.levels(), scale.y(0.0))


def stacked(names: Sequence[str], parts: Sequence[Mapping[str, float]]) -> Plot | None:
    """The components of a version as one bar, those below zero hanging; None where nothing was paid."""
    if not any(value for one in parts for value in one.values()):
        return None
    reach = [sum(v for v in one.values() if v > 0) for one in parts]
    depth = [sum(v for v in one.values() if v < 0) for one in parts]
    scale = _Scale(len(names), min(0.0, *depth), max(0.0, *reach))
    bars = [bar for place, one in enumerate(parts) for bar in _bars(one, place, scale)]
    return Plot([], [], bars, _ticks(names, scale), scale.levels(), scale.y(0.0))


def together(names: Sequence[str], series: Sequence[Sequence[float]]) -> Plot:
    """Lines over one axis, the longest of them as long as ``names``; one begins where the others do."""
    values = [value for one in series for value in one]
    scale = _Scale(len(names), min(0.0, *values), max(1.0, *values), WIDE)
    lines = [" ".join(f"{scale.x(place)},{scale.y(value)}" for place, value in enumerate(one)) for one in series]
    return Plot(lines, [], [], _ticks(names, scale), scale.levels(), scale.y(0.0))


class _Scale:
    def __init__(self, places: int, low: float, high: float, width: float = WIDTH) -> None:
        self._low, self._high = low, high if high > low else low + 1.0
        self.slot = (width - _LEFT - _RIGHT) / places

    def x(self, place: float) -> float:
        return round(_LEFT + self.slot * (place + 0.5), 2)

    def y(self, value: float) -> float:
        part = (self._high - value) / (self._high - self._low)
        return round(_TOP + part * (HEIGHT - _TOP - _BOTTOM), 2)

    def levels(self) -> list[Tick]:
        return [Tick(self.y(v), f"{v:.3g}") for v in (self._low, (self._low + self._high) / 2, self._high)]


def _ticks(names: Sequence[str], scale: _Scale) -> list[Tick]:
    every = max(1, -(-len(names) // _MOST_TICKS))
    return [Tick(scale.x(place), _short(names[place])) for place in range(0, len(names), every)]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _bars(one: Mapping[str, float], place: int, scale: _Scale) -> list[Bar]:
    width = round(min(scale.slot * 0.6, 46.0), 2)
    bars, up, down = [], 0.0, 0.0
    for component, value in one.items():
        base = up if value > 0 else down
        top, bottom = scale.y(max(base, base + value)), scale.y(min(base, base + value))
        if value:
            bars.append(Bar(component, round(scale.x(place) - width / 2, 2), top, width, round(bottom - top, 2)))
        up, down = (up + value, down) if value > 0 else (up, down + value)
    return bars
