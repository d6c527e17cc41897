"""verl: `reward.custom_reward_function.path=pkg://milestoned_client.adapters.verl`, and nothing
else.

`extra_info` (the data set's column, and what an agent loop put into `extra_fields`) or the ground
truth says what is scored. Settings may be given as `reward.custom_reward_function.reward_kwargs`.
"""

from __future__ import annotations

from typing import Any

from milestoned_client.adapters.carried import label_of, last_text
from milestoned_client.adapters.paid import payout_of
from milestoned_client.adapters.scoring import number, score
from milestoned_client.adapters.settings import settings
from milestoned_client.scores import Sample


async def compute_score(
    data_source: Any = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Any = None,
    reward_router_address: Any = None,
    reward_model_tokenizer: Any = None,
    **given: Any,
) -> dict[str, float]:
    """One sample's `score`, and numbers for verl's metrics under keys that never change.

    Raises `UnknownRewardError` where nobody knows and there is no fall-back; verl then drops the
    prompt's group.
    """
    asked = settings(**given)
    sample = Sample(label=label_of(extra_info, ground_truth), answer=last_text(solution_str))
    found = (await score([sample], asked))[0]
    return {"score": number(found, asked), **payout_of(found).logs()}


def __getattr__(name: str) -> Any:
    """`EpisodeRewardManager` needs verl itself, so it is only made when it is asked for."""
    if name == "EpisodeRewardManager":
        from milestoned_client.adapters.verl_manager import EpisodeRewardManager

        return EpisodeRewardManager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
