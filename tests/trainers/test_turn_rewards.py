"""Rewards at their turn: the pure functions, and the same over a service in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from milestoned_client.adapters import scoring, slime
from milestoned_client.adapters.paid_turns import (
    PaidTurns,
    close_and_read_turns,
    close_and_read_turns_now,
)
from milestoned_client.adapters.scoring import UnknownRewardError
from milestoned_client.adapters.settings import settings
from milestoned_client.adapters.turn_rewards import (
    TurnMismatchError,
    UndecidedRewardError,
    advantages_by_turn,
    advantages_of_returns,
    place_rewards,
    rewards_of_turns,
    spans_of_mask,
)
from milestoned_client.models import Reward
from milestoned_client.results import read_model

from tests.api.service import ADMIN, TASK, Service, Store, running
from tests.api.test_score import BACK, DEAD, FINED
from tests.api.unknown import on_a_socket
from tests.client.test_calls import MILESTONE, REWARD
from tests.support.logs import clicked, episode, went


def paid(*rewards: float | None, status: str = "sealed") -> list[Reward]:
    """The steps of an episode that paid ``rewards``; one that is None was not observed."""
    return [
        step_of(at, reward, status if reward is not None else "unobserved")
        for at, reward in enumerate(rewards)
    ]


def step_of(at: int, reward: float | None, status: str, *worths: float) -> Reward:
    milestones = [{**MILESTONE, "worth": worth} for worth in worths]
    about = {"step": at, "reward": reward, "mask": reward is None, "status": status}
    return read_model(Reward, {**REWARD, **about, "milestones": milestones})


@pytest.mark.parametrize(
    ("mask", "spans"),
    [
        pytest.param([], [], id="no token"),
        pytest.param([0, 0], [], id="no turn"),
        pytest.param([1, 1, 0, 1], [(0, 2), (3, 4)], id="two turns"),
        pytest.param([0, 1, 1, 0, 0, 1, 0], [(1, 3), (5, 6)], id="tokens of tools around them"),
        pytest.param([1, 1, 1], [(0, 3)], id="nothing between two turns makes them one"),
    ],
)
def test_turns_of_a_mask(mask: list[int], spans: list[tuple[int, int]]) -> None:
    assert spans_of_mask(mask) == spans


@pytest.mark.parametrize(
    ("steps", "begun", "turns", "wanted"),
    [
        pytest.param(paid(0.1, 0.0, 0.3), 3, 3, [0.1, 0.0, 0.3], id="a reward a turn"),
        pytest.param(paid(0.1, 0.3, 0.2), 2, 2, [0.1, 0.5], id="the close pays the last turn"),
        pytest.param(paid(0.1, 0.3, 0.2), 2, 3, [0.1, 0.3, 0.2], id="a final answer has no step"),
        pytest.param(paid(0.2), 0, 1, [0.2], id="nothing but an answer"),
        pytest.param(paid(0.1, 0.3), 2, 3, [0.1, 0.3, 0.0], id="the close was in the last step"),
        pytest.param(paid(0.1, None), 2, 3, [0.1, None, None], id="and that is not known"),
        pytest.param(paid(0.1, None, 0.3), 3, 3, [0.1, None, 0.3], id="null stays null"),
        pytest.param(paid(0.1, 0.3, None), 2, 2, [0.1, 0.3], id="the known part of a turn"),
        pytest.param(paid(0.1, None, 0.2), 2, 2, [0.1, 0.2], id="of the close alone"),
        pytest.param(paid(None, None, None), 2, 2, [None, None], id="nothing"),
        pytest.param(paid(0.1, -0.25), 2, 2, [0.1, -0.25], id="a penalty"),
    ],
)
def test_rewards_of_turns(
    steps: list[Reward], begun: int, turns: int, wanted: list[float | None]
) -> None:
    assert rewards_of_turns(steps, begun, turns) == wanted


@pytest.mark.parametrize(
    ("steps", "turn_of_step", "turns", "wanted"),
    [
        pytest.param(paid(0.1, 0.2), [0, 2], 3, [0.1, 0.0, 0.2], id="a turn without a step"),
        pytest.param(paid(0.1, 0.2, 0.3), [0, 0], 2, [0.3, 0.3], id="two calls in a turn"),
        pytest.param(paid(0.1, None), [0], 2, [0.1, None], id="the close alone is not known"),
        pytest.param(paid(None, 0.2), [1, 1], 2, [0.0, 0.2], id="the known part of a turn"),
        pytest.param(paid(None, 0.2), [0, 2], 3, [None, 0.0, 0.2], id="no step is not null"),
    ],
)
def test_a_rollout_may_say_in_which_turn_a_step_was_begun(
    steps: list[Reward], turn_of_step: list[int], turns: int, wanted: list[float | None]
) -> None:
    assert rewards_of_turns(steps, len(turn_of_step), turns, None, turn_of_step) == wanted


@pytest.mark.parametrize("turn_of_step", [[0], [1, 0], [0, 2], [-1, 0], [0, 1, 1]])
def test_turns_of_steps_that_are_none_are_refused(turn_of_step: list[int]) -> None:
    with pytest.raises(TurnMismatchError, match="turn_of_step: expected 2 turns from 0 to 1"):
        rewards_of_turns(paid(0.1, 0.2), 2, 2, None, turn_of_step)


@pytest.mark.parametrize(
    ("folded", "wanted"),
    [
        pytest.param(0.5, [None, 0.5, None], id="no penalty was certain enough"),
        pytest.param(0.0, [-0.3, 0.5, -0.2], id="all penalties"),
        pytest.param(0.1, [-0.3, 0.5, -0.1], id="down to the floor of the task"),
        pytest.param(0.3, [-0.2, 0.5, None], id="the floor in the first of them"),
    ],
)
def test_penalties_that_were_seen_in_unknown_steps_stand_at_their_turns(
    folded: float, wanted: list[float | None]
) -> None:
    """Their sum is the service's: what it pays under `known`, less what is known."""
    steps = [
        step_of(0, None, "unobserved", -0.3, 0.2),
        step_of(1, 0.5, "sealed", 0.5),
        step_of(2, None, "unobserved", -0.2),
    ]
    assert rewards_of_turns(steps, 3, 3, folded) == wanted


@pytest.mark.parametrize(
    ("steps", "begun", "turns", "words"),
    [
        (paid(0.1, 0.2), 2, 4, "expected 2 turns of the model, one for each step of the episode (or 3"),
        (paid(0.1, 0.2, 0.3), 3, 2, "turns: expected 3 turns .* got 2"),
        (paid(0.1), 1, 0, "got 0"),
        (paid(0.1, 0.2, 0.3, 0.4), 2, 2, "steps: expected the rewards of 2 steps .* got 4"),
        (paid(0.1), 2, 2, "steps: expected the rewards of 2 steps .* got 1"),
    ],
)  # fmt: skip
def test_turns_that_are_not_the_steps_are_refused(
    steps: list[Reward], begun: int, turns: int, words: str
) -> None:
    with pytest.raises(TurnMismatchError, match=words.replace("(or", r"\(or")):
        rewards_of_turns(steps, begun, turns)


@pytest.mark.parametrize("status", ["settling", "escalating"])
def test_a_step_that_will_be_known_is_waited_for(status: str) -> None:
    with pytest.raises(
        UndecidedRewardError, match=f"step 1: expected a final reward, got {status}"
    ):
        rewards_of_turns([*paid(0.1), step_of(1, None, status)], 2, 2)


def test_each_reward_stands_on_the_last_token_of_its_turn() -> None:
    placed = place_rewards([(1, 3), (4, 5), (6, 9)], [0.25, None, 0.5], 10)
    assert placed.rewards == (0.0, 0.0, 0.25, 0.0, None, 0.0, 0.0, 0.0, 0.5, 0.0)
    assert placed.mask == (0, 1, 1, 0, 0, 0, 1, 1, 1, 0)
    assert placed.tensor_values() == [0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("spans", "rewards", "error", "words"),
    [
        ([(0, 1)], [0.1, 0.2], TurnMismatchError, "expected one for each of 1 turns, got 2"),
        ([(0, 2), (1, 3)], [0.1, 0.2], ValueError, r"spans\[1\]: expected tokens between 2 and 4"),
        ([(2, 2)], [0.1], ValueError, r"spans\[0\]: .* got 2 to 2"),
        ([(0, 5)], [0.1], ValueError, r"spans\[0\]: .* got 0 to 5"),
    ],
)
def test_rewards_without_a_place_are_refused(
    spans: list[tuple[int, int]], rewards: list[float], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        place_rewards(spans, rewards, 4)


def test_advantages_by_turn_are_sums_of_normalised_rewards_to_go() -> None:
    """Worked by hand: the mean of 0, 1, 0, 0 is 0.25; without a division by the deviation."""
    assert advantages_by_turn([[0.0, 1.0], [0.0, 0.0]], scale=False) == [
        [0.5, 0.75],
        [-0.5, -0.25],
    ]
    scaled = advantages_by_turn([[0.0, 1.0], [0.0, 0.0]])
    assert scaled[0] == pytest.approx([0.5 / 0.5001, 0.75 / 0.5001])


@pytest.mark.parametrize("unknown", [None, [None], [None, None, None]])
def test_what_is_not_known_moves_no_advantage_of_the_others(unknown: Any) -> None:
    group: list[Any] = [[0.2, 1.0], [0.0, 0.4]]
    assert advantages_by_turn([*group, unknown])[:2] == advantages_by_turn(group)
    assert advantages_by_turn([*group, unknown])[2] == [None] * len(unknown or ())
    (first, _), *_ = advantages_by_turn([[None, 1.0], [0.0, 0.4]])
    assert first is None


def test_a_group_that_earned_the_same_has_no_advantage() -> None:
    assert advantages_by_turn([[0.5], [0.5]]) == [[0.0], [0.0]]
    assert advantages_by_turn([[0.5]]) == [[0.0]]
    assert advantages_by_turn([]) == []


def test_advantages_of_returns_compare_what_is_still_to_come() -> None:
    """Worked by hand: the returns are 1 and 0 at the first turn; at the second, 1, and 0 of the
    rollout that has ended."""
    assert advantages_of_returns([[0.0, 1.0], [0.0]], scale=False) == [[0.5, 0.5], [-0.5]]
    scaled = advantages_of_returns([[0.0, 1.0], [0.0]])
    assert scaled[0] == pytest.approx([0.5 / 0.7072068] * 2, abs=1e-6)
    assert advantages_of_returns([[0.5], [0.5]]) == [[0.0], [0.0]]
    assert advantages_of_returns([]) == []


def test_silent_turns_are_worth_nothing_where_a_group_has_penalties() -> None:
    """Of two failures that paid the same in the end, the longer one is not the better one. By the
    normalised rewards of turns it is: each silent turn is above a mean that is a penalty."""
    short, long = [-0.1], [0.0, 0.0, 0.0, -0.1]
    by_return = advantages_of_returns([short, long], scale=False)
    assert by_return[0][0] == by_return[1][0] == 0.0
    by_reward = advantages_by_turn([short, long], scale=False)
    assert (by_reward[1][0] or 0.0) > (by_reward[0][0] or 0.0)


@pytest.mark.parametrize("unknown", [None, [None], [None, None, None]])
def test_what_is_not_known_moves_no_return_of_the_others(unknown: Any) -> None:
    group: list[Any] = [[0.2, 1.0], [0.0, 0.4]]
    assert advantages_of_returns([*group, unknown])[:2] == advantages_of_returns(group)
    assert advantages_of_returns([*group, unknown])[2] == [None] * len(unknown or ())
    (first, _), *_ = advantages_of_returns([[None, 1.0], [0.0, 0.4]])
    assert first is None


def test_a_return_is_not_known_where_a_reward_in_it_is_not() -> None:
    """The first rollout may have reached its goal: neither of its turns is better or worse than
    another's, and neither moves a mean."""
    unknown, known = advantages_of_returns([[0.0, None], [0.0, 1.0]], scale=False)
    assert unknown == [None, None]
    assert known == [0.0, 0.0]
    late = advantages_of_returns([[None, 1.0], [0.0, 0.0]], scale=False)
    assert late == [[None, 0.5], [0.0, -0.5]]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """A service in this process."""
    async with running(Store(tmp_path)) as found:
        yield found


GAP = [
    *([went("/cart")], [DEAD, clicked("Leave"), went("/away")], [BACK, clicked("Buy")]),
]


@pytest.mark.parametrize("way", ["async", "blocking"])
async def test_turns_of_an_episode_as_the_service_has_them(service: Service, way: str) -> None:
    """The known turns add up to what `/v1/score` pays; what is not known has no number."""
    id, token = await service.open(FINED)
    await service.tell(id, token, *episode(*GAP))
    async with on_a_socket(service.app) as url:

        async def asked(turns: int, **more: Any) -> PaidTurns:
            given = settings(url=url, token=ADMIN, wait_s=0.0, **more)
            if way == "async":
                return await close_and_read_turns(id, turns, given)
            return await asyncio.to_thread(close_and_read_turns_now, id, turns, given)

        known = await asked(3, fold="known", min_known=0.0)
        assert known.rewards[:2] == [pytest.approx(0.1), -0.25], "what was seen is paid"
        assert known.whole.reward == pytest.approx(
            sum(reward for reward in known.rewards if reward is not None)
        )
        with pytest.raises(TurnMismatchError, match="expected 3 turns"):
            await asked(2, fold="known", min_known=0.0)
        with pytest.raises(ValueError, match="fold: expected one of sum, known"):
            await asked(3, fold="last")
        await scoring.close()


async def test_a_rollout_that_is_not_known_pays_the_fall_back_or_nothing(service: Service) -> None:
    id, token = await service.open(TASK)
    await service.tell(id, token, *episode([went("/cart")], [DEAD], [BACK], [clicked("Buy")]))
    async with on_a_socket(service.app) as url:
        given = {"url": url, "token": ADMIN, "wait_s": 0.0}
        with pytest.raises(UnknownRewardError, match="browser gone"):
            await close_and_read_turns(id, 4, settings(**given))
        paid_out = await close_and_read_turns(id, 4, settings(**given, fallback=-0.5))
        assert (paid_out.rewards, paid_out.whole.reward) == ([0.0, 0.0, 0.0, -0.5], None)
        known = await close_and_read_turns(id, 4, settings(**given, fold="known"))
        assert [reward is None for reward in known.rewards] == [False, True, True, False]
        await scoring.close()


async def test_slime_has_a_sample_for_each_known_turn(service: Service) -> None:
    """What is not known is left out, and is no number; with `--reward-key` beside it the logs."""
    id, token = await service.open(TASK)
    await service.tell(id, token, *episode([went("/cart")], [DEAD], [BACK], [clicked("Buy")]))
    async with on_a_socket(service.app) as url:
        given: dict[str, Any] = {"url": url, "token": ADMIN, "wait_s": 0.0}

        def turns() -> list[Any]:
            return [SimpleNamespace(turn=turn, reward=None, metadata={}) for turn in range(4)]

        plain = SimpleNamespace(reward_key=None)
        kept = await slime.pay_turns(plain, turns(), id, **given, fold="known")
        assert [(sample.turn, sample.reward) for sample in kept] == [
            (0, pytest.approx(0.1)),
            (3, pytest.approx(0.4)),
        ]
        keyed = SimpleNamespace(reward_key="value")
        (first, _) = await slime.pay_turns(keyed, turns(), id, **given, fold="known")
        assert (first.reward["value"], first.reward["known_share"]) == (pytest.approx(0.1), 0.5)
        with pytest.raises(UnknownRewardError, match="browser gone"):
            await slime.pay_turns(plain, turns(), id, **given)
        await scoring.close()
