"""verl: `reward.custom_reward_function.path=pkg://milestoned_client.adapters.verl`, and nothing
else.

`extra_info` (the data set's column, and what an agent loop put into `extra_fields`) or the ground
truth says what is scored. Settings may be given as `reward.custom_reward_function.reward_kwargs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from milestoned_client.adapters.carried import label_of, last_text
from milestoned_client.adapters.paid import payout_of
from milestoned_client.adapters.scoring import number, score
from milestoned_client.adapters.settings import GivenSettings, settings
from milestoned_client.models import Sample

if TYPE_CHECKING:
    from milestoned_client.adapters.verl_manager import (
        EpisodeRewardManager as EpisodeRewardManager,  # noqa: PLC0414  # offered by this module
    )


async def compute_score(
    data_source: object = None,
    solution_str: str = "",
    ground_truth: object = None,
    extra_info: object = None,
    reward_router_address: object = None,
    reward_model_tokenizer: object = None,
    **given: Unpack[GivenSettings],
) -> dict[str, float]:
    """One sample's `score`, and numbers for verl's metrics under keys that never change.

    Raises `UnknownRewardError` where nobody knows and there is no fall-back; verl then drops the
    prompt's group.
    """
    asked = settings(**given)
    sample = Sample(label=label_of(extra_info, ground_truth), answer=last_text(solution_str))
    found = (await score([sample], asked))[0]
    return {"score": number(found, asked), **payout_of(found).logs()}


def __getattr__(name: str) -> object:
    """`EpisodeRewardManager` needs verl itself, so it is only made when it is asked for."""
    if name == "EpisodeRewardManager":
        from milestoned_client.adapters.verl_manager import EpisodeRewardManager

        return EpisodeRewardManager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
