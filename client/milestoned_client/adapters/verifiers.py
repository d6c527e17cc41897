"""verifiers v1: `[task.rewards.milestoned] fn = "milestoned_client.adapters.verifiers:reward"` in
the run's TOML.

`trace.info`, the task's own fields, a NeMo Gym row, or at last the task's `id` says what is scored.
"""

from __future__ import annotations

from typing import Protocol

from milestoned_client.adapters.carried import NESTED, REFERENCE, label_of, last_text
from milestoned_client.adapters.paid import payout_of
from milestoned_client.adapters.scoring import number, score
from milestoned_client.adapters.settings import settings
from milestoned_client.models import Sample


class Trace(Protocol):
    """What is used of a rollout's trace."""

    info: object
    last_reply: object

    def record_metric(self, name: str, value: float, /) -> object: ...


async def reward(task: object, trace: Trace) -> float:
    """The rollout's reward. Raises `UnknownRewardError`: verifiers notes it on the trace, and no
    reward is 0."""
    asked = settings()
    fields = {name: getattr(task, name, None) for name in (*REFERENCE, *NESTED)}
    label = label_of(trace.info, fields, getattr(task, "row", None), getattr(task, "id", None))
    found = (await score([Sample(label=label, answer=last_text(trace.last_reply))], asked))[0]
    value = number(found, asked)
    for name, part in payout_of(found).logs().items():
        trace.record_metric(f"milestoned_{name}", part)
    return value
