"""What each milestone of a proposal is worth: its support among successes, times its lift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from detectors.task.value_types import COMPONENTS

_DIGITS = 4
"""Digits after the point of a weight."""
_UNITS: int = 10**_DIGITS
"""How many of the smallest weight make 1."""
EVEN_WEIGHTS: Mapping[str, float] = dict.fromkeys(COMPONENTS, 1.0)
"""Of a task that is only to be read or run: those of tools, windows and answers have no default."""
REST_UNITS = 4_000
"""What all components but the goal's share, in units of the smallest weight."""


@dataclass(frozen=True, slots=True)
class MilestoneWeight:
    """How much a condition says of success: it was met in ``in_good`` of ``good`` successes and in
    ``in_bad`` of ``bad`` failures.

    ``lift`` is how many times likelier a success meets it than a failure. Both likelihoods are
    counted with Laplace's rule of succession, a run more that met it and one that did not: of three
    recordings nobody knows that something never happens.
    """

    in_good: int
    good: int
    in_bad: int
    bad: int

    @property
    def support(self) -> float:
        """The share of the successes that met it."""
        return self.in_good / self.good

    @property
    def lift(self) -> float:
        among_good = (self.in_good + 1) / (self.good + 2)
        among_bad = (self.in_bad + 1) / (self.bad + 2)
        return among_good / among_bad

    @property
    def value(self) -> float:
        """The weight as a task file has it, above 0."""
        return max(round(self.support * self.lift, _DIGITS), 1 / _UNITS)

    def explain(self) -> str:
        """Return where the weight comes from, in one line."""
        return (
            f"weight: support {self.support:.4g} × lift {self.lift:.4g}, which is"
            f" {self.in_good + 1}/{self.good + 2} (of successes) over"
            f" {self.in_bad + 1}/{self.bad + 2} (of failures)"
        )


def share_components(milestones: Sequence[tuple[str, float]]) -> Mapping[str, float]:
    """Return a weight for each component, from the component and the weight of each milestone that
    is not the goal; they sum to 1, and the goal's is the largest.

    A component's part of `REST_UNITS` is in proportion to what its milestones weigh together, so
    that a weight is worth the same in every component. The largest part gets what rounding leaves.
    """
    if not milestones:
        return {"goal": 1.0}
    weighed: dict[str, float] = {}
    for component, weight in milestones:
        weighed[component] = weighed.get(component, 0.0) + weight
    whole = sum(weighed.values())
    units = {name: max(1, int(REST_UNITS * weighed[name] / whole)) for name in sorted(weighed)}
    largest = max(units, key=lambda name: units[name])
    units[largest] += REST_UNITS - sum(units.values())
    units["goal"] = _UNITS - REST_UNITS
    return {name: count / _UNITS for name, count in units.items()}
