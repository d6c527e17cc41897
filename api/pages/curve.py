"""A reward curve as the numbers of an SVG: running total and returns-to-go as lines, each step's
components as a stacked bar, milestones as flags, what is not known as a hatched band (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from api.exporting.returns import returns_to_go

WIDTH, HEIGHT = 960.0, 150.0
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
    """A milestone that was reached."""

    step: int
    id: str
    worth: float
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


def curve(rewards: Sequence[Mapping[str, Any]]) -> RewardCurve | None:
    """The curve of sealed rewards in the order of their steps; None where there are none."""
    if not rewards:
        return None
    totals = running_totals([one["reward"] for one in rewards])
    seen = _seen(rewards)
    to_go = [
        one.value for one in returns_to_go([one["reward"] for one in rewards], 1.0, closed=True)
    ]
    known = [value for value in to_go if value is not None]
    low = min(0.0, *seen, *known, *_reach(rewards, -1))
    high = max(1.0, *seen, *known, *_reach(rewards, 1))
    slot = (WIDTH - _LEFT - _RIGHT) / len(rewards)

    def x(place: float) -> float:
        return round(_LEFT + slot * place, 2)

    def y(value: float) -> float:
        return round(_TOP + (high - value) / (high - low) * (HEIGHT - _TOP - _BOTTOM), 2)

    every = max(1, -(-len(rewards) // _MAX_TICKS))
    return RewardCurve(
        line=_points(totals, x, y),
        to_go=_points(to_go, x, y),
        bars=[
            bar
            for place, one in enumerate(rewards)
            for bar in _bars(one, x(place + 0.2), slot * 0.6, y)
        ],
        flags=[
            Flag(one["step"], earned["id"], earned["worth"], x(place + 0.5), y(seen[place]))
            for place, one in enumerate(rewards)
            for earned in one["milestones"]
            if not earned["baseline"]
        ],
        masked=[
            (x(place), round(slot, 2)) for place, one in enumerate(rewards) if one["reward"] is None
        ],
        steps=[
            Tick(x(place + 0.5), str(rewards[place]["step"]))
            for place in range(0, len(rewards), every)
        ],
        levels=[Tick(y(value), f"{value:.1f}") for value in (low, (low + high) / 2, high)],
        zero=y(0.0),
        slot=slot,
        left=_LEFT,
    )


def _points(
    values: Sequence[float | None], x: Callable[[float], float], y: Callable[[float], float]
) -> str:
    return " ".join(
        f"{x(place + 0.5)},{y(value)}" for place, value in enumerate(values) if value is not None
    )


def running_totals(rewards: Sequence[float | None]) -> list[float | None]:
    """The running total, step by step; None from the first step on whose reward is not known."""
    return list(accumulate(rewards, _sum))


def _sum(before: float | None, reward: float | None) -> float | None:
    return None if before is None or reward is None else before + reward


def _seen(rewards: Sequence[Mapping[str, Any]]) -> list[float]:
    """How high the flag of each step stands: the sum of what is known, which is drawn as no
    line."""
    return list(accumulate(one["reward"] or 0.0 for one in rewards))


def _parts(one: Mapping[str, Any]) -> list[tuple[str, float]]:
    return [(name, value) for name, value in one["components"].items() if value]


def _reach(rewards: Sequence[Mapping[str, Any]], sign: int) -> list[float]:
    return [sum(value for _, value in _parts(one) if value * sign > 0) for one in rewards]


def _bars(one: Mapping[str, Any], x: float, width: float, y: Callable[[float], float]) -> list[Bar]:
    bars: list[Bar] = []
    up = down = 0.0
    for component, value in _parts(one):
        base = up if value > 0 else down
        top, bottom = y(max(base, base + value)), y(min(base, base + value))
        bars.append(Bar(component, x, top, round(max(width, 1.0), 2), round(bottom - top, 2)))
        up, down = (up + value, down) if value > 0 else (up, down + value)
    return bars
