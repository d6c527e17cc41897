"""slime: `--custom-rm-path milestoned_client.adapters.slime.custom_rm`, and
`--custom-reward-post-process-path milestoned_client.adapters.slime.post_process_rewards`.

The sample's `metadata` (where a custom generate function puts its `episode_id`) or its `label` says
what is scored. With the second function in place a sample that is not known is masked; without it
slime has no mask, and such a sample is left out or fails the rollout.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar, Unpack

from milestoned_client.adapters.carried import label_of, last_text
from milestoned_client.adapters.paid import payout_of
from milestoned_client.adapters.paid_turns import close_and_read_turns
from milestoned_client.adapters.scoring import Found, UnknownRewardError, number, score
from milestoned_client.adapters.settings import AdapterSettings, GivenSettings, settings
from milestoned_client.adapters.turn_rewards import advantages_by_turn
from milestoned_client.models import Sample

Payout = float | dict[str, float]
"""A reward, or with `--reward-key` an object that holds it."""

POST_PROCESS = "milestoned_client.adapters.slime.post_process_rewards"
NORMALIZED = ("grpo", "gspo", "reinforce_plus_plus_baseline")
"""The advantage estimators for which slime takes a group's mean off its rewards."""
SCALED = ("grpo", "gspo")
"""Those of them for which it divides by the group's deviation too."""
SLIME_STD_FLOOR = 1e-6
MARK = "milestoned"
"""Where a sample's `metadata` says which turn it is, and why its reward is not known."""


class SlimeSample(Protocol):
    """What is read of slime's own `Sample`, and written to one that is not known."""

    metadata: object
    label: object
    response: str
    remove_sample: bool
    group_index: int | None


class TurnSample(Protocol):
    """What `pay_turns` reads and writes of slime's own `Sample`."""

    metadata: object
    reward: Payout | None
    remove_sample: bool
    group_index: int | None


class PaidSample(Protocol):
    """What `post_process_rewards` reads of slime's own `Sample`."""

    metadata: object
    reward: Payout | None
    group_index: int | None


AnyTurnSample = TypeVar("AnyTurnSample", bound=TurnSample)


async def pay_turns(
    args: object, samples: list[AnyTurnSample], episode: str, **given: Unpack[GivenSettings]
) -> list[AnyTurnSample]:
    """Close an episode whose turns are ``samples``, one each, in order; give each the reward of its
    turn, and return them. For the end of a custom generate function.

    slime keeps rewards that are there already. With `post_process_rewards` as slime's
    post-processing a turn that is not known is returned too, masked, as are all turns of a rollout
    that is not known. Without it, and in slime's evaluation, such a turn is left out (slime would
    use any number in its place), and `UnknownRewardError` is raised where the rollout is not known
    and there is no fall-back. Raises `TurnMismatchError` where the samples are not the steps of the
    episode.
    """
    try:
        paid = await close_and_read_turns(episode, len(samples), settings(**given))
    except UnknownRewardError as error:
        if not all(_is_masking(args, sample) for sample in samples):
            raise
        rewards: list[float | None] = [None] * len(samples)
        logs: dict[str, float] = {}
        reason = str(error)
    else:
        rewards, logs, reason = paid.rewards, paid.whole.logs(), "the turn is not known"
    kept = []
    for turn, (sample, reward) in enumerate(zip(samples, rewards, strict=True)):
        is_masking = _is_masking(args, sample)
        if is_masking:
            _mark(sample, episode=episode, turn=turn)
        if reward is not None:
            _unmask(sample)
            sample.reward = _payout(args, reward, logs)
        elif is_masking:
            sample.reward = _mask(args, sample, reason)
        else:
            continue
        kept.append(sample)
    return kept


async def custom_rm(
    args: object, sample: SlimeSample | list[SlimeSample], **_more: object
) -> Payout | list[Payout]:
    """One sample's reward, or a list of them for a list (slime's group mode). With `--reward-key`
    an object each.

    A sample of which nobody knows the reward, where there is no fall-back: with
    `post_process_rewards` as slime's post-processing it is masked. Without it, and in slime's
    evaluation, which averages rewards and knows no mask, `UnknownRewardError` is raised, and slime
    fails the rollout.
    """
    asked = settings()
    samples = sample if isinstance(sample, list) else [sample]
    found = await score([_sample(one) for one in samples], asked)
    paid = [_paid(args, one, each, asked) for one, each in zip(samples, found, strict=True)]
    return paid if isinstance(sample, list) else paid[0]


def post_process_rewards(
    args: object, samples: Sequence[PaidSample]
) -> tuple[list[float], list[float]]:
    """slime's rewards before and after the group's mean is taken off, one of each for each sample.

    Samples of one `group_index` are a group, and those of one episode a rollout of it, in the order
    of its turns. The advantage is that of `advantages_by_turn`; for rollouts of one sample that is
    slime's own. A sample that is not known moves no mean and no deviation, and has the advantage
    0.0, which its mask (`remove_sample`) keeps out of the loss; in the first list, which slime only
    logs, it has the mean of the known ones.

    slime's own normalisation takes all samples of a batch for one group as soon as rollouts have
    more than one sample. Raises `ValueError` for a sample without a `group_index`, and
    `UnknownRewardError` where no sample is known.
    """
    rewards = [_value(args, sample) for sample in samples]
    known = [reward for reward in rewards if reward is not None]
    if not samples:
        return [], []
    if not known:
        raise UnknownRewardError(
            f"rewards: none of {len(samples)} samples is known: {_reason_of(samples[0])}"
        )
    mean = math.fsum(known) / len(known)
    raw = [mean if reward is None else reward for reward in rewards]
    estimator = getattr(args, "advantage_estimator", None)
    if estimator in NORMALIZED and getattr(args, "rewards_normalization", True):
        is_scaled = estimator in SCALED and getattr(args, "grpo_std_normalization", True)
        advantages = _normalize(samples, rewards, is_scaled=is_scaled)
    else:
        advantages = rewards
    # 0.0 stands for a masked sample, whose tokens are in no loss.
    return raw, [0.0 if advantage is None else advantage for advantage in advantages]


def _normalize(
    samples: Sequence[PaidSample], rewards: Sequence[float | None], *, is_scaled: bool
) -> list[float | None]:
    """Return the advantage of each sample in the group of its prompt, None where its reward is."""
    normalized: list[float | None] = [None] * len(samples)
    for rollouts in _groups_of(samples).values():
        group = [[rewards[at] for at in turns] for turns in rollouts.values()]
        advantages = advantages_by_turn(group, scale=is_scaled, std_floor=SLIME_STD_FLOOR)
        for turns, values in zip(rollouts.values(), advantages, strict=True):
            for at, value in zip(turns, values, strict=True):
                normalized[at] = value
    return normalized


def _groups_of(samples: Sequence[PaidSample]) -> dict[int, dict[Hashable, list[int]]]:
    """Return the indices of the samples, by group and then by rollout, in their order."""
    groups: dict[int, dict[Hashable, list[int]]] = {}
    for at, sample in enumerate(samples):
        if sample.group_index is None:
            raise ValueError(f"samples[{at}].group_index: expected the prompt's number, got None")
        rollout = _marks_of(sample).get("episode", at)
        groups.setdefault(sample.group_index, {}).setdefault(rollout, []).append(at)
    return groups


def _is_masking(args: object, sample: SlimeSample | TurnSample) -> bool:
    """Whether a mask of this sample is read: by our post-processing, which slime does not call in
    its evaluation. Samples for training have a group, those of an evaluation have none."""
    path = getattr(args, "custom_reward_post_process_path", None)
    return path == POST_PROCESS and sample.group_index is not None


def _reward_key(args: object) -> str | None:
    return getattr(args, "reward_key", None)


def _marks_of(sample: PaidSample | TurnSample | SlimeSample) -> dict[str, Hashable]:
    metadata = sample.metadata
    marks = metadata.get(MARK) if isinstance(metadata, dict) else None
    return marks if isinstance(marks, dict) else {}


def _mark(sample: TurnSample | SlimeSample, **marks: Hashable) -> None:
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    sample.metadata = {**metadata, MARK: {**_marks_of(sample), **marks}}


def _mask(args: object, sample: TurnSample | SlimeSample, reason: str) -> Payout:
    """Mask a sample, and return what stands in its reward's place: 0.0, which is no reward."""
    if "unknown" not in _marks_of(sample):
        _mark(sample, removed_before=sample.remove_sample)
    _mark(sample, unknown=reason)
    sample.remove_sample = True
    return _payout(args, 0.0, {})


def _unmask(sample: TurnSample | SlimeSample) -> None:
    """Take back a mask of ours, if there is one: the sample was asked about again and is known."""
    marks = dict(_marks_of(sample))
    if "unknown" not in marks or not isinstance(sample.metadata, dict):
        return
    del marks["unknown"]
    sample.remove_sample = bool(marks.pop("removed_before", False))
    sample.metadata = {**sample.metadata, MARK: marks}


def _payout(args: object, reward: float, logs: dict[str, float]) -> Payout:
    key = _reward_key(args)
    return {**logs, key: reward} if key else reward


def _value(args: object, sample: PaidSample) -> float | None:
    """A sample's reward, None where it is not known."""
    if "unknown" in _marks_of(sample) or sample.reward is None:
        return None
    return (
        sample.reward[_reward_key(args) or ""] if isinstance(sample.reward, dict) else sample.reward
    )


def _reason_of(sample: PaidSample) -> Hashable:
    return _marks_of(sample).get("unknown", "it has no reward")


def _sample(sample: SlimeSample) -> Sample:
    return Sample(label=label_of(sample.metadata, sample.label), answer=last_text(sample.response))


def _paid(args: object, sample: SlimeSample, found: Found, asked: AdapterSettings) -> Payout:
    try:
        value = number(found, asked)
    except UnknownRewardError as error:
        if not _is_masking(args, sample):
            raise
        return _mask(args, sample, str(error))
    _unmask(sample)
    return _payout(args, value, payout_of(found).logs())
