"""slime's post-processing of rewards by our function: what is not known is masked, and groups are
those of a prompt, whatever the number of turns.

slime is in no package. `slime_normalized` states what its own code makes of a batch with one sample
a rollout: each group's rewards less their mean, over their deviation plus 1e-6.
"""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from milestoned_client.adapters import scoring, slime
from milestoned_client.adapters.scoring import UnknownRewardError

from tests.api.service import ADMIN, TASK, Service, Store, running
from tests.api.test_score import BACK, DEAD
from tests.api.unknown import on_a_socket
from tests.support.logs import clicked, episode, went


def arguments(**given: Any) -> SimpleNamespace:
    usual: dict[str, Any] = {
        "reward_key": None,
        "advantage_estimator": "grpo",
        "rewards_normalization": True,
        "grpo_std_normalization": True,
        "custom_reward_post_process_path": slime.POST_PROCESS,
    }
    return SimpleNamespace(**{**usual, **given})


def sample(reward: Any, group: int | None = 0, **marks: Any) -> Any:
    metadata = {slime.MARK: marks} if marks else None
    return SimpleNamespace(reward=reward, group_index=group, metadata=metadata)


def unknown(group: int = 0, **marks: Any) -> Any:
    return sample(0.0, group, unknown="browser gone", **marks)


def slime_normalized(*groups: list[float], is_scaled: bool = True) -> list[float]:
    found = []
    for group in groups:
        mean = statistics.fmean(group)
        over = statistics.stdev(group) + 1e-6 if is_scaled else 1.0
        found += [(reward - mean) / over for reward in group]
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, slime_normalized([1.0, 0.0, 0.5], [0.2, 0.4, 0.9]), id="GRPO"),
        pytest.param(
            {"grpo_std_normalization": False},
            slime_normalized([1.0, 0.0, 0.5], [0.2, 0.4, 0.9], is_scaled=False),
            id="without the deviation",
        ),
        pytest.param(
            {"advantage_estimator": "reinforce_plus_plus_baseline"},
            slime_normalized([1.0, 0.0, 0.5], [0.2, 0.4, 0.9], is_scaled=False),
            id="a baseline alone",
        ),
        pytest.param({"advantage_estimator": "ppo"}, [1.0, 0.0, 0.5, 0.2, 0.4, 0.9], id="PPO"),
        pytest.param(
            {"rewards_normalization": False}, [1.0, 0.0, 0.5, 0.2, 0.4, 0.9], id="switched off"
        ),
    ],
)
def test_rollouts_of_one_sample_are_normalized_as_by_slime(
    given: dict[str, Any], expected: list[float]
) -> None:
    rewards = [1.0, 0.0, 0.5, 0.2, 0.4, 0.9]
    samples = [sample(reward, at // 3) for at, reward in enumerate(rewards)]
    raw, normalized = slime.post_process_rewards(arguments(**given), samples)
    assert raw == rewards
    assert normalized == pytest.approx(expected)


def test_what_is_not_known_moves_no_baseline() -> None:
    samples = [sample(1.0), unknown(), sample(0.0), sample(0.5)]
    raw, normalized = slime.post_process_rewards(arguments(), samples)
    without = slime_normalized([1.0, 0.0, 0.5])
    assert normalized == pytest.approx([without[0], 0.0, *without[1:]])
    assert raw == [1.0, 0.5, 0.0, 0.5], "the mean of the known, so that what is logged is not moved"


def test_a_turn_has_what_was_earned_from_it_on() -> None:
    """Rollouts of two and of three turns: slime's own code would take both prompts for one
    group."""
    first = [sample(one, episode="ep_a") for one in (0.1, 0.9)]
    second = [sample(0.0, episode="ep_b"), unknown(episode="ep_b"), sample(0.2, episode="ep_b")]
    other = [sample(one, 1, episode="ep_c") for one in (5.0, 7.0)]
    args = arguments(grpo_std_normalization=False)
    _, normalized = slime.post_process_rewards(args, [*first, *second, *other])
    mean = (0.1 + 0.9 + 0.0 + 0.2) / 4
    to_go = [(0.1 - mean) + (0.9 - mean), 0.9 - mean]
    to_go += [(0.0 - mean) + (0.2 - mean), 0.0, 0.2 - mean]
    assert normalized == pytest.approx([*to_go, 0.0, 1.0])


def test_with_a_reward_key_its_member_is_the_reward() -> None:
    samples = [sample({"score": 1.0, "success": 1.0}), sample({"score": 0.0}), unknown()]
    raw, _ = slime.post_process_rewards(arguments(reward_key="score"), samples)
    assert raw == [1.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("samples", "error", "text"),
    [
        pytest.param(
            [unknown(), unknown()],
            UnknownRewardError,
            "none of 2 samples is known: browser gone",
            id="nothing is known",
        ),
        pytest.param(
            [sample(1.0, None)],
            ValueError,
            r"samples\[0\].group_index: expected the prompt's number, got None",
            id="of no group",
        ),
    ],
)
def test_what_can_not_be_normalized_is_said(
    samples: list[Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        slime.post_process_rewards(arguments(), samples)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with running(Store(tmp_path)) as found:
        yield found


def turn(at: int, **given: Any) -> Any:
    usual = {"turn": at, "reward": None, "metadata": {"mine": at}, "remove_sample": False}
    return SimpleNamespace(**{**usual, "group_index": 0, **given})


def rollout(**given: Any) -> list[Any]:
    return [turn(at, **given) for at in range(4)]


async def test_turns_that_are_not_known_are_masked_and_known_ones_are_not(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, token = await service.open(TASK)
    await service.tell(id, token, *episode([went("/cart")], [DEAD], [BACK], [clicked("Buy")]))
    async with on_a_socket(service.app) as url:
        given: dict[str, Any] = {"url": url, "token": ADMIN, "wait_s": 0.0}
        known = await slime.pay_turns(arguments(), rollout(), id, **given, fold="known")
        assert [one.remove_sample for one in known] == [False, True, True, False]
        assert [one.reward for one in known] == pytest.approx([0.1, 0.0, 0.0, 0.4])
        assert [one.metadata["mine"] for one in known] == [0, 1, 2, 3]
        assert known[1].metadata[slime.MARK]["unknown"] == "the turn is not known"

        whole = await slime.pay_turns(arguments(), rollout(), id, **given)
        assert [one.remove_sample for one in whole] == [True] * 4, "a rollout that is not known"
        assert "browser gone" in str(whole[0].metadata[slime.MARK]["unknown"])
        again = await slime.pay_turns(arguments(), whole, id, **given, fold="known")
        assert [one.remove_sample for one in again] == [False, True, True, False]
        await scoring.close()


async def test_an_evaluation_has_no_mask_and_gets_no_placeholder(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """slime averages an evaluation's rewards, and gives its samples no group."""
    id, token = await service.open(TASK)
    await service.tell(id, token, *episode([went("/cart")], [DEAD], [BACK], [clicked("Buy")]))
    async with on_a_socket(service.app) as url:
        given: dict[str, Any] = {"url": url, "token": ADMIN, "wait_s": 0.0}
        with pytest.raises(UnknownRewardError, match="browser gone"):
            await slime.pay_turns(arguments(), rollout(group_index=None), id, **given)
        monkeypatch.setenv("MILESTONED_URL", url.replace("://", f"://any:{ADMIN}@"))
        with pytest.raises(UnknownRewardError, match="browser gone"):
            await slime.custom_rm(arguments(), scored(id, group_index=None))
        await scoring.close()


def scored(id: str, **given: Any) -> Any:
    usual = {"response": "x", "label": None, "metadata": {"episode_id": id}, "group_index": 0}
    return SimpleNamespace(**{**usual, "remove_sample": False, **given})


@pytest.mark.parametrize("removed", [False, True], ids=["kept", "removed by its harness"])
async def test_a_sample_that_is_known_when_asked_again_is_as_it_was(
    service: Service, monkeypatch: pytest.MonkeyPatch, removed: bool
) -> None:
    id, token = await service.open(TASK)
    await service.tell(id, token, *episode([went("/cart")], [DEAD], [BACK], [clicked("Buy")]))
    async with on_a_socket(service.app) as url:
        monkeypatch.setenv("MILESTONED_URL", url.replace("://", f"://any:{ADMIN}@"))
        sample = scored(id, remove_sample=removed)
        for _ in range(2):
            assert await slime.custom_rm(arguments(reward_key="score"), sample) == {"score": 0.0}
            assert sample.remove_sample
        monkeypatch.setenv("MILESTONED_FOLD", "known")
        assert await slime.custom_rm(arguments(), sample) == pytest.approx(0.5)
        assert sample.remove_sample is removed
        assert "unknown" not in sample.metadata[slime.MARK]
        await scoring.close()
