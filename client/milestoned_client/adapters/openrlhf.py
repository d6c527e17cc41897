"""OpenRLHF: `--reward.remote_url` with a file that says `from milestoned_client.adapters.openrlhf
import reward_func`, `--train.agent_func_path` with one that imports `AgentExecutor`. (A URL,
without any file, does for the first.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from milestoned_client.adapters.carried import label_of, last_text
from milestoned_client.adapters.paid import Paid, payout_of
from milestoned_client.adapters.scoring import number, score_now
from milestoned_client.adapters.settings import settings
from milestoned_client.models import Sample

if TYPE_CHECKING:
    from milestoned_client.adapters.openrlhf_agent import (
        AgentExecutor as AgentExecutor,  # noqa: PLC0414  # offered by this module
    )
    from milestoned_client.adapters.openrlhf_agent import (
        RewardAgentInstance as RewardAgentInstance,  # noqa: PLC0414
    )


class RewardLists(TypedDict):
    """What OpenRLHF takes of a reward function: lists of the queries' length."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[object]
) -> RewardLists:
    """Lists of the queries' length, always, and in `extra_logs` numbers under keys that never
    change.

    Raises `ValueError` for lists of unlike length, and `UnknownRewardError` where nobody knows and
    there is no fall-back: OpenRLHF logs it, leaves the reward None and stops at the next batch.
    """
    asked = settings()
    samples = [
        Sample(label=label_of(label), answer=last_text(query.removeprefix(prompt)))
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    found = score_now(samples, asked)
    rewards = [number(one, asked) for one in found]
    told = [payout_of(one).logs() for one in found]
    return {
        "rewards": rewards,
        "scores": [min(1.0, max(0.0, one)) for one in rewards],
        "extra_logs": {key: [one[key] for one in told] for key in Paid(None).logs()},
    }


def __getattr__(name: str) -> object:
    """What needs OpenRLHF itself is only made when it is asked for."""
    if name in ("AgentExecutor", "RewardAgentInstance"):
        from milestoned_client.adapters import openrlhf_agent

        found: object = getattr(openrlhf_agent, name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
