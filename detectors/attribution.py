"""Which step a milestone is credited to, where the task says that it is the one that caused it.

Sealed rewards never change, so what a download brings stands in the step in which it came. For those who assign credit
over a whole episode this is the other view of the same sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from detectors.rewards import total
from detectors.types import Reward, Task


def attributed(rewards: Sequence[Reward], task: Task) -> dict[int, float | None]:
    """Step → what is credited to it; None for a masked one, to which nothing is moved either. The sum is the same."""
    to_cause = {m.id for m in task.milestones if m.credit_to == "cause"}
    parts: dict[int, list[float] | None] = {r.step: None if r.mask else [] for r in rewards}
    for reward in rewards:
        for m in () if reward.mask else reward.milestones:
            cause = m.cause_step if m.id in to_cause and m.cause_step is not None else reward.step
            target = parts.get(cause)
            found = parts[reward.step] if target is None else target
            if found is not None:
                found.append(m.worth)
    return {step: None if worths is None else total(worths) for step, worths in parts.items()}
