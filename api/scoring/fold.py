"""Step rewards as the one number that most trainers take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Fold = Literal["sum", "last", "discounted"]
FOLDS: tuple[Fold, ...] = ("sum", "last", "discounted")


def fold(rewards: Sequence[float | None], how: Fold = "sum", gamma: float = 1.0) -> float | None:
    """``sum``: Σ r_t; ``last``: r_T; ``discounted``: Σ γ^t r_t, t from 0. None as soon as a part of it is not known:
    a missing step is no 0."""
    parts = rewards[-1:] if how == "last" else rewards
    if not parts or any(part is None for part in parts):
        return None
    factor = gamma if how == "discounted" else 1.0
    return sum((part or 0.0) * factor**t for t, part in enumerate(parts))
