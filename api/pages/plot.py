"""What a chart of one value a version shows, for Chart.js to draw: a line, or components stacked
(pure).

What is not known is null, a gap in the line, never a zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from api.pages.render import number, percent
from api.rewards.event_text import clip
from detectors.model.optional_values import last_or_none

_MAX_NAME_LENGTH = 13
"""How wide a name may be on the axis."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one component of every bar."""

    name: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class Plot:
    """``labels`` stand below the axis, ``names`` are the same as far as a table shows them; the
    axis reaches from 0 to ``top`` at least; ``share``: the values are parts of 1, told in percent.
    """

    kind: Literal["line", "bar"]
    labels: list[str]
    names: list[str]
    series: list[Series]
    top: float | None = None
    share: bool = False

    def to_json(self) -> str:
        """For an attribute, where the template escapes it."""
        return orjson.dumps(self).decode()

    def newest(self) -> str:
        """Where each series ends, in words: for who does not see the chart."""
        ends = [(one.name, last_or_none(one.values)) for one in self.series]
        if self.kind == "line" and len(ends) == 1:
            return self._describe(ends[0][1])
        return ", ".join(f"{name} {self._describe(value)}" for name, value in ends)

    def descriptions(self) -> list[str]:
        """Every place in words: for where nothing is drawn."""
        return [
            f"{name}: "
            + ", ".join(f"{one.name} {self._describe(one.values[place])}" for one in self.series)
            for place, name in enumerate(self.names)
        ]

    def _describe(self, value: float | None) -> str:
        """Return a point's value in words, as a share or a number."""
        if value is None:
            return "not known"
        return percent(value) if self.share else number(value)


def line(
    name: str,
    names: Sequence[str],
    values: Sequence[float | None],
    top: float | None = None,
    share: bool = False,
) -> Plot | None:
    """A value a version, in order. None where nothing is known."""
    if all(value is None for value in values):
        return None
    return _plot("line", names, [Series(name, list(values))], top, share)


def stacked_bar(names: Sequence[str], parts: Sequence[Mapping[str, float] | None]) -> Plot | None:
    """The components of a version as one bar, those below zero hanging, and none where they are not
    known (None); None where nothing was paid."""
    paid = sorted({component for one in parts if one for component, value in one.items() if value})
    series = [
        Series(name, [None if one is None else one.get(name, 0.0) for one in parts])
        for name in paid
    ]
    return _plot("bar", names, series) if series else None


def together(names: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> Plot:
    """Lines over one axis, the longest of them as long as ``names``; one begins where the others
    do."""
    return _plot(
        "line", names, [Series(clip(name), list(values)) for name, values in series.items()], 1.0
    )


def _plot(
    kind: Literal["line", "bar"],
    names: Sequence[str],
    series: list[Series],
    top: float | None = None,
    share: bool = False,
) -> Plot:
    """Return a chart with names short enough to be shown."""
    return Plot(
        kind,
        [clip(one, _MAX_NAME_LENGTH) for one in names],
        [clip(one) for one in names],
        series,
        top,
        share,
    )
