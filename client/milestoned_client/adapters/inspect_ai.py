"""Inspect: `Task(..., scorer=milestoned())`, with
`milestoned_client.adapters.inspect_ai.milestoned`.

What is scored is said by the sample's `store` (`store["episode_id"]`, which a solver that opened
one leaves there), its metadata, or its id.
"""

from __future__ import annotations

from typing import Unpack

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from milestoned_client.adapters.carried import REFERENCE, label_of, last_text
from milestoned_client.adapters.paid import payout_of
from milestoned_client.adapters.scoring import score as scored
from milestoned_client.adapters.scoring import worth
from milestoned_client.adapters.settings import GivenSettings, settings
from milestoned_client.models import Sample


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]  # Inspect is not installed here
def milestoned(**given: Unpack[GivenSettings]) -> Scorer:
    """The sample's reward. ``given``: settings (`milestoned_client.adapters.settings`).

    What nobody can know is `Score.unscored`, which Inspect leaves out of its metrics, unless a
    fall-back is configured.
    """
    asked = settings(**given)

    async def score(state: TaskState, target: Target) -> Score:
        left = {name: state.store.get(name) for name in REFERENCE}
        label = label_of(left, state.metadata, str(state.sample_id))
        answer = last_text(state.output.completion)
        found = (await scored([Sample(label=label, answer=answer)], asked))[0]
        value, paid = worth(found, asked), payout_of(found)
        told: dict[str, object] = {**paid.logs(), "components": dict(paid.components)}
        if value is None:
            return Score.unscored(
                reason="milestoned", answer=answer, explanation=paid.reason, metadata=told
            )
        return Score(value=value, answer=answer, explanation=paid.reason, metadata=told)

    return score
