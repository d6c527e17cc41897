"""Which step a milestone is credited to, where the task says that it is the one that caused it.

Sealed rewards never change, so what a download brings stands in the step in which it came. For
those who assign credit over a whole episode this is the other view of the same sums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from detectors.model.rewards import RewardJson, total
from detectors.task.language import Task

OwnCredit = Literal["as_paid", "cause", "spread"]
"""``as_paid``: each step has its own reward; ``cause``: what a milestone with ``credit_to: cause``
paid is with the step that set it in motion; ``spread``: what a step was paid is shared by the steps
that led to it."""
Credit = Literal[OwnCredit, "siblings"]
"""``siblings``: by what other episodes earned from the same point on (api/rewards/siblings.py)."""
OWN_CREDITS: tuple[OwnCredit, ...] = get_args(OwnCredit)
CREDITS: tuple[Credit, ...] = (*OWN_CREDITS, "siblings")


def credited_to_cause(task: Mapping[str, Any]) -> frozenset[str]:
    """The ids of the milestones that a task's JSON says are credited to their cause."""
    return frozenset(m["id"] for m in task.get("milestones", ()) if m.get("credit_to") == "cause")


def causes_of(task: Task) -> frozenset[str]:
    """Return the ids of the milestones of a task that are credited to their cause."""
    return frozenset(m.id for m in task.milestones if m.credit_to == "cause")


def attribute_rewards(
    rewards: Sequence[RewardJson], to_cause: Collection[str]
) -> dict[int, float | None]:
    """Step → what is credited to it, of the rewards of a closed episode as the wire has them.

    None for a step whose reward is not known, to which nothing is moved either. The sum is that of
    the rewards.
    """
    parts: dict[int, list[float] | None] = {
        one["step"]: None if one["reward"] is None else [one["reward"]] for one in rewards
    }
    for reward in rewards:
        own = parts[reward["step"]]
        for m in reward["milestones"] if own is not None else ():
            cause = (
                parts.get(m["cause_step"])
                if m["id"] in to_cause and m["cause_step"] is not None
                else None
            )
            if own is not None and cause is not None:
                own.append(-m["worth"])
                cause.append(m["worth"])
    return {step: None if worths is None else total(worths) for step, worths in parts.items()}


def spread_rewards(rewards: Sequence[Mapping[str, Any]]) -> dict[int, float | None]:
    """Step → what is credited to it where each positive reward is shared evenly by its own step and
    the steps since the one that was paid before it (uniform return redistribution, Gangwani et al.
    2020, from one milestone to the next).

    A negative reward stays with its step. A step whose reward is not known has no credit and takes
    no share. The sum is that of the rewards.
    """
    credits: dict[int, float | None] = {one["step"]: one["reward"] for one in rewards}
    waiting: list[int] = []
    for one in rewards:
        if one["reward"] is None:
            continue
        waiting.append(one["step"])
        if one["reward"] > 0:
            _share(credits, waiting, one["reward"])
            waiting = []
    return credits


def _share(credits: dict[int, float | None], steps: Sequence[int], reward: float) -> None:
    """Share the last step's ``reward`` evenly; it keeps what rounding leaves."""
    *earlier, own = steps
    part = total((reward / len(steps),))
    for step in earlier:
        credits[step] = total((credits[step] or 0.0, part))
    credits[own] = total((reward, -part * len(earlier)))


def credit(
    rewards: Iterable[RewardJson], to_cause: Collection[str], how: OwnCredit, *, closed: bool
) -> dict[int, float | None]:
    """Step → its credit in a view of the episode alone.

    Those of `cause` and `spread` are None throughout while the episode is not ``closed``: what
    comes later may still be credited to any step.
    """
    listed = list(rewards)
    if how == "as_paid":
        return {one["step"]: one["reward"] for one in listed}
    if not closed:
        return {one["step"]: None for one in listed}
    return spread_rewards(listed) if how == "spread" else attribute_rewards(listed, to_cause)
