"""slime: `--custom-rm-path milestoned_client.adapters.slime.custom_rm`.

The sample's `metadata` (where a custom generate function puts its `episode_id`) or its `label` says
what is scored.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, Unpack

from milestoned_client.adapters.carried import label_of, last_text
from milestoned_client.adapters.paid import payout_of
from milestoned_client.adapters.paid_turns import close_and_read_turns
from milestoned_client.adapters.scoring import Found, number, score
from milestoned_client.adapters.settings import AdapterSettings, GivenSettings, settings
from milestoned_client.models import Sample

Payout = float | dict[str, float]
"""A reward, or with `--reward-key` an object that holds it."""


class SlimeSample(Protocol):
    """What is read of slime's own `Sample`."""

    metadata: object
    label: object
    response: str


class PaidSample(Protocol):
    """What `pay_turns` writes of slime's own `Sample`."""

    reward: Payout | None


TurnSample = TypeVar("TurnSample", bound=PaidSample)


async def pay_turns(
    args: object, samples: list[TurnSample], episode: str, **given: Unpack[GivenSettings]
) -> list[TurnSample]:
    """Close an episode whose turns are ``samples``, one each, in order; give each the reward of its
    turn, and return those that are known. For the end of a custom generate function.

    slime keeps rewards that are there already. A turn that is not known is left out: slime would
    use any number in its place. Raises `UnknownRewardError` where the rollout is not known and
    there is no fall-back, `TurnMismatchError` where the samples are not the steps of the episode.
    """
    paid = await close_and_read_turns(episode, len(samples), settings(**given))
    key = getattr(args, "reward_key", None)
    kept = []
    for sample, reward in zip(samples, paid.rewards, strict=True):
        if reward is not None:
            sample.reward = {**paid.whole.logs(), key: reward} if key else reward
            kept.append(sample)
    return kept


async def custom_rm(
    args: object, sample: SlimeSample | list[SlimeSample], **_more: object
) -> Payout | list[Payout]:
    """One sample's reward, or a list of them for a list (slime's group mode). With `--reward-key`
    an object each.

    Raises `UnknownRewardError` where nobody knows and there is no fall-back; slime then fails the
    rollout.
    """
    asked = settings()
    samples = sample if isinstance(sample, list) else [sample]
    found = await score([_sample(one) for one in samples], asked)
    paid = [_paid(args, one, asked) for one in found]
    return paid if isinstance(sample, list) else paid[0]


def _sample(sample: SlimeSample) -> Sample:
    return Sample(label=label_of(sample.metadata, sample.label), answer=last_text(sample.response))


def _paid(args: object, found: Found, asked: AdapterSettings) -> Payout:
    value, key = number(found, asked), getattr(args, "reward_key", None)
    return {**payout_of(found).logs(), key: value} if key else value
