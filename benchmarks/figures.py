"""A figure: what one row of a benchmark is in a run's text and in its JSON, and what it is wanted to
be."""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from benchmarks.measure import Estimate

RATIO = "ratio"
Better = Literal["lower", "higher", "neither"]
"""Which of two values is the better one; neither, where a row only says what was measured."""
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Wanted(NamedTuple):
    """Which values are better, and the bound that is wanted, None where there is none."""

    better: Better
    bound: float | None = None


LOWER, HIGHER, NEITHER = Wanted("lower"), Wanted("higher"), Wanted("neither")


def at_most(bound: float) -> Wanted:
    """Return what says that lower is better, and no more than ``bound`` is wanted."""
    return Wanted("lower", bound)


def at_least(bound: float) -> Wanted:
    """Return what says that higher is better, and no less than ``bound`` is wanted."""
    return Wanted("higher", bound)


class Figure(BaseModel):
    """One measured row. ``low`` and ``high``: the ends of its 95 % interval, both None where they
    are not known; ``noise``: the share of the value to each side that is noise from run to run at
    least; ``reference``: what the value is measured beside in the same run, empty where it
    stands alone; ``rounds``: of how many samples it was made."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    part: str
    row: str
    value: Finite
    low: Finite | None
    high: Finite | None
    noise: Finite
    unit: str
    reference: str
    better: Better
    bound: Finite | None
    rounds: int

    @property
    def is_missed(self) -> bool:
        """Whether there is a bound, and the value is on its wrong side."""
        if self.bound is None or self.better == "neither":
            return False
        return self.value > self.bound if self.better == "lower" else self.value < self.bound

    def __str__(self) -> str:
        text = f"  {self.row:<62} {self._value_text():>34}  {self._bound_text():<22}"
        return f"{text}  {self.reference and f'beside {self.reference}'}".rstrip()

    def _value_text(self) -> str:
        unit = "" if self.unit == RATIO else f" {self.unit}"
        text = f"{format_value(self.value)}{unit}"
        if self.low is None or self.high is None or self.low == self.high:
            return text
        return f"{text} ({format_value(self.low)} to {format_value(self.high)})"

    def _bound_text(self) -> str:
        if self.bound is None:
            return ""
        sign = "<=" if self.better == "lower" else ">="
        return f"wanted {sign} {self.bound:g}{', missed' if self.is_missed else ''}"


def make_figure(
    part: str, row: str, estimate: Estimate, unit: str, wanted: Wanted, reference: str
) -> Figure:
    """Make a figure of what was measured. Raises `ValueError` for a value that is no number."""
    if not math.isfinite(estimate.value):
        raise ValueError(f"{part}: {row}: expected a number, got {estimate.value}")
    return Figure(
        part=part,
        row=row,
        value=float(estimate.value),
        low=None if estimate.low is None else float(estimate.low),
        high=None if estimate.high is None else float(estimate.high),
        noise=estimate.noise,
        unit=unit,
        reference=reference,
        better=wanted.better,
        bound=wanted.bound,
        rounds=estimate.rounds,
    )


def format_value(value: float) -> str:
    """Format a number with about three digits."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"
