"""What a closed episode paid turn by turn, asked of the service: for trainers that place rewards
token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from milestoned_client.adapters.paid import Paid, payout_of
from milestoned_client.adapters.scoring import (
    UNANSWERED,
    Found,
    score,
    score_now,
    shared_async,
    shared_client,
)
from milestoned_client.adapters.settings import AdapterSettings
from milestoned_client.adapters.turn_rewards import rewards_of_turns
from milestoned_client.errors import ClientError
from milestoned_client.models import Reward, Sample, Score

BY_TURN = ("sum", "known")
"""The folds that are a sum, so that each turn has a part of it."""


@dataclass(frozen=True, slots=True)
class PaidTurns:
    """What a rollout paid: the ``whole`` of it, and ``rewards`` turn by turn (None: not known).

    The known turns add up to the whole. A rollout that is not known pays the configured fall-back
    on its last turn.
    """

    rewards: list[float | None]
    whole: Paid


def check_fold(settings: AdapterSettings) -> None:
    """Raise `ValueError` for a fold that is not the sum of what the turns paid."""
    if settings.fold not in BY_TURN:
        raise ValueError(
            f"fold: expected one of {', '.join(BY_TURN)} for rewards by turn, got {settings.fold!r}"
        )


async def close_and_read_turns(
    episode: str, turns: int, settings: AdapterSettings, turn_of_step: Sequence[int] | None = None
) -> PaidTurns:
    """Close an episode and return what each of its ``turns`` paid; ``turn_of_step``: see
    `rewards_of_turns`.

    Raises `UnknownRewardError` where the rollout is not known (also while a step still waits for a
    judge after ``wait_s``) and there is no fall-back, `TurnMismatchError` where its turns are not
    the steps of the episode, `ValueError` for a fold that is not a sum.
    """
    check_fold(settings)
    client, gate = shared_async(settings)
    opened = client.episode(episode)
    try:
        async with gate:
            status = await opened.status()
            if status.status == "open" and status.step is not None:
                # A close would seal at once.
                await opened.reward(status.step, wait_s=settings.wait_s)
            await opened.close("the rollout ended", wait_s=settings.wait_s)
        found = (await score([Sample(episode=episode)], settings))[0]
        if not isinstance(found, Score) or found.reward is None:
            return _unknown_turns(found, turns, settings)
        async with gate:
            rewards = await client.rewards(_steps_of(found))
            begun = await opened.events(kind="step.began")
    except UNANSWERED as error:
        return _unknown_turns(error, turns, settings)
    return _known_turns(found, rewards, len(begun), turns, turn_of_step)


def close_and_read_turns_now(
    episode: str, turns: int, settings: AdapterSettings, turn_of_step: Sequence[int] | None = None
) -> PaidTurns:
    """Return what `close_and_read_turns` returns, over blocking connections."""
    check_fold(settings)
    client = shared_client(settings)
    opened = client.episode(episode)
    try:
        status = opened.status()
        if status.status == "open" and status.step is not None:
            opened.reward(status.step, wait_s=settings.wait_s)
        opened.close("the rollout ended", wait_s=settings.wait_s)
        found = score_now([Sample(episode=episode)], settings)[0]
        if not isinstance(found, Score) or found.reward is None:
            return _unknown_turns(found, turns, settings)
        rewards = client.rewards(_steps_of(found))
        begun = opened.events(kind="step.began")
    except UNANSWERED as error:
        return _unknown_turns(error, turns, settings)
    return _known_turns(found, rewards, len(begun), turns, turn_of_step)


def _steps_of(score: Score) -> list[tuple[str, int]]:
    return [(str(score.episode), step) for step in range(len(score.step_rewards))]


def _known_turns(
    score: Score,
    rewards: Sequence[Reward | ClientError],
    begun: int,
    turns: int,
    turn_of_step: Sequence[int] | None,
) -> PaidTurns:
    steps: list[Reward] = []
    for reward in rewards:
        if not isinstance(reward, Reward):
            raise reward
        steps.append(reward)
    by_turn = rewards_of_turns(steps, begun, turns, score.reward, turn_of_step)
    return PaidTurns(by_turn, payout_of(score))


def _unknown_turns(found: Found, turns: int, settings: AdapterSettings) -> PaidTurns:
    whole = payout_of(found)
    fallback = whole.amount(settings)
    return PaidTurns([*[0.0] * (turns - 1), fallback] if turns else [], whole)
