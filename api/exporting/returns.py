"""Returns-to-go with a discount: what a step's future was worth, where that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Return(NamedTuple):
    """``value`` is Gₜ, None where it is not known; ``seen`` counts the known rewards alone;
    ``unknown`` how many of this and the later steps are masked."""

    value: float | None
    seen: float
    unknown: int


def returns_to_go(rewards: Sequence[float | None], gamma: float, closed: bool) -> list[Return]:
    """Gₜ = rₜ + γ·Gₜ₊₁ for each step (Sutton and Barto, Reinforcement Learning, 2nd edition, eq.
    3.8 and 3.9).

    A masked step has no reward, which is not a reward of 0: no return that it is part of is known.
    Neither is any of an episode that is not closed, since its future is not. ``seen`` = Σ γᵏ·rₜ₊ₖ
    over the known rewards is no return; it is there for whoever decides to read it as one.
    """
    found: list[Return] = []
    value: float | None = 0.0 if closed else None
    seen, unknown = 0.0, 0
    for reward in reversed(rewards):
        value = None if reward is None or value is None else reward + gamma * value
        seen = (reward or 0.0) + gamma * seen
        unknown += reward is None
        found.append(Return(value, seen, unknown))
    return found[::-1]
