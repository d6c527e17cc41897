"""A reward curve as the numbers of an SVG: running total and returns-to-go as lines, each step's
components as a stacked bar, milestones as flags, what is not known as a hatched band (pure)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from api.exporting.returns import returns_to_go
from api.pages.render import unpaid
from detectors.model.optional_values import without_none
from detectors.model.rewards import RewardJson

WIDTH = 960.0
HEIGHT = 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 12.0, 18.0, 22.0
_MAX_TICKS = 10


class Bar(NamedTuple):
    """One component's part in one step."""

    component: str
    x: float
    y: float
    width: float
    height: float


class Flag(NamedTuple):
    """A milestone that was reached. ``unpaid``: why it has not paid its worth; empty where it
    has."""

    step: int
    id: str
    worth: float
    unpaid: str
    x: float
    y: float


class Tick(NamedTuple):
    """A number beside an axis."""

    at: float
    text: str


class RewardCurve(NamedTuple):
    """``line``: the points of the running total, up to the first step that is not known; ``to_go``:
    of what was still to come of all that is sealed, the step's own reward with it, after the last
    step that is not known; ``masked``: (x, width) of steps whose reward is null; ``slot``: how wide
    a step is; ``left``: where the first is."""

    line: str
    to_go: str
    bars: list[Bar]
    flags: list[Flag]
    masked: list[tuple[float, float]]
    steps: list[Tick]
    levels: list[Tick]
    zero: float
    slot: float
    left: float


class Scale(NamedTuple):
    """Where steps and values stand in the picture."""

    low: float
    high: float
    slot: float

    def x(self, place: float) -> float:
        """Where a step stands, by its place from 0; with a fraction, inside its slot."""
        return round(_LEFT + self.slot * place, 2)

    def y(self, value: float) -> float:
        """How far from the top a value stands."""
        part = (self.high - value) / (self.high - self.low)
        return round(_TOP + part * (HEIGHT - _TOP - _BOTTOM), 2)


def curve(rewards: Sequence[RewardJson]) -> RewardCurve | None:
    """Return the curve of sealed rewards in the order of their steps; None where there are none."""
    if not rewards:
        return None
    values = [step["reward"] for step in rewards]
    to_go = [part.value for part in returns_to_go(values, 1.0, closed=True)]
    heights = _flag_heights(rewards)
    drawn = [*heights, *without_none(to_go)]
    scale = Scale(
        low=min(0.0, *drawn, *_stack_heights(rewards, -1)),
        high=max(1.0, *drawn, *_stack_heights(rewards, 1)),
        slot=(WIDTH - _LEFT - _RIGHT) / len(rewards),
    )
    return RewardCurve(
        line=_points(running_totals(values), scale),
        to_go=_points(to_go, scale),
        bars=_all_bars(rewards, scale),
        flags=_flags(rewards, heights, scale),
        masked=_masked(values, scale),
        steps=_step_ticks(rewards, scale),
        levels=[
            Tick(scale.y(value), f"{value:.1f}")
            for value in (scale.low, (scale.low + scale.high) / 2, scale.high)
        ],
        zero=scale.y(0.0),
        slot=scale.slot,
        left=_LEFT,
    )


def _all_bars(rewards: Sequence[RewardJson], scale: Scale) -> list[Bar]:
    bars: list[Bar] = []
    for place, step in enumerate(rewards):
        bars += _bars(step, scale.x(place + 0.2), scale.slot * 0.6, scale)
    return bars


def _flags(rewards: Sequence[RewardJson], heights: Sequence[float], scale: Scale) -> list[Flag]:
    """A flag for each milestone, but for those that were reached at first."""
    flags = []
    for place, step in enumerate(rewards):
        x, y = scale.x(place + 0.5), scale.y(heights[place])
        for milestone in step["milestones"]:
            if not milestone["baseline"]:
                why = unpaid(milestone, step)
                flags.append(Flag(step["step"], milestone["id"], milestone["worth"], why, x, y))
    return flags


def _masked(values: Sequence[float | None], scale: Scale) -> list[tuple[float, float]]:
    width = round(scale.slot, 2)
    return [(scale.x(place), width) for place, value in enumerate(values) if value is None]


def _step_ticks(rewards: Sequence[RewardJson], scale: Scale) -> list[Tick]:
    every = max(1, math.ceil(len(rewards) / _MAX_TICKS))
    places = range(0, len(rewards), every)
    return [Tick(scale.x(place + 0.5), str(rewards[place]["step"])) for place in places]


def _points(values: Sequence[float | None], scale: Scale) -> str:
    return " ".join(
        f"{scale.x(place + 0.5)},{scale.y(value)}"
        for place, value in enumerate(values)
        if value is not None
    )


def running_totals(rewards: Sequence[float | None]) -> list[float | None]:
    """Return the running total, step by step; None from the first reward on that is not known."""
    return list(accumulate(rewards, _sum))


def _sum(before: float | None, reward: float | None) -> float | None:
    """Add a reward to a total; not known once one of them is not."""
    return None if before is None or reward is None else before + reward


def _flag_heights(rewards: Sequence[RewardJson]) -> list[float]:
    """How high the flag of each step stands: the sum of what is known, which no line draws."""
    return list(accumulate(step["reward"] or 0.0 for step in rewards))


def _parts(step: RewardJson) -> list[tuple[str, float]]:
    """The components of a step that are known and not 0."""
    return [(name, value) for name, value in step["components"].items() if value]


def _stack_heights(rewards: Sequence[RewardJson], sign: int) -> list[float]:
    """How far each step's stacked components reach up (1) or down (-1)."""
    return [sum(value for _, value in _parts(step) if value * sign > 0) for step in rewards]


def _bars(step: RewardJson, x: float, width: float, scale: Scale) -> list[Bar]:
    """Stack a step's components: what is positive up from zero, what is negative down."""
    bars: list[Bar] = []
    up = down = 0.0
    for component, value in _parts(step):
        base = up if value > 0 else down
        top = scale.y(max(base, base + value))
        bottom = scale.y(min(base, base + value))
        bars.append(Bar(component, x, top, round(max(width, 1.0), 2), round(bottom - top, 2)))
        if value > 0:
            up += value
        else:
            down += value
    return bars
