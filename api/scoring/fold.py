"""Step rewards as the one number that most trainers take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from api.blame.masking import MaskCause
from detectors.model.optional_values import mean_or_none, without_none
from detectors.model.rewards import total

Fold = Literal["sum", "last", "discounted", "known"]
FOLDS: tuple[Fold, ...] = ("sum", "last", "discounted", "known")
MIN_KNOWN = 0.5
"""Share of known steps below which `known` masks a rollout, unless the caller sets another."""


@dataclass(frozen=True, slots=True)
class RewardFolding:
    """How step rewards become one number. ``gamma``: 0 to 1, of `discounted`; ``min_known``: 0 to
    1, of `known`; ``mask_causes``: what failed for one of these causes is null."""

    how: Fold = "sum"
    gamma: float = 1.0
    min_known: float = MIN_KNOWN
    mask_causes: frozenset[MaskCause] = frozenset()


def known_share(rewards: Sequence[float | None]) -> float | None:
    """Share of the steps whose reward is known, from 0 to 1; None without a step."""
    return mean_or_none([reward is not None for reward in rewards])


def fold(
    rewards: Sequence[float | None], how: RewardFolding, penalties: Sequence[float] = ()
) -> float | None:
    """``sum``: Σ r_t; ``last``: r_T; ``discounted``: Σ γ^t r_t, t from 0; ``known``: see
    `known_sum`.

    The first three are None as soon as a part of them is not known: a missing step is no 0.
    """
    if how.how == "known":
        return known_sum(rewards, penalties, how.min_known)
    parts = rewards[-1:] if how.how == "last" else rewards
    if not parts or any(part is None for part in parts):
        return None
    factor = how.gamma if how.how == "discounted" else 1.0
    return sum((part or 0.0) * factor**t for t, part in enumerate(parts))


def known_sum(
    rewards: Sequence[float | None], penalties: Sequence[float], min_known: float
) -> float | None:
    """Σ of the known rewards and of ``penalties`` (each at most 0), those that were seen in steps
    that are not known.

    None where nothing is known, or less than ``min_known`` of the steps; but never where a penalty
    is known, so that nobody is better off for steps that could not be observed.
    """
    known = without_none(rewards)
    punished = any(part < 0 for part in (*known, *penalties))
    if punished or (known and len(known) >= min_known * len(rewards)):
        return total((*known, *penalties))
    return None
