"""Each light trainer's own client code, from its package, against a running service."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.api.daemon import Daemon
from tests.api.processes import Process
from tests.trainers.support import EFFECTS, GONE, PARTLY, opened, operator, run_harness

RIGHT = [1.0 if number % 3 else 0.0 for number in range(512)]
"""What 512 samples are worth of which every third is wrong: order and length are kept."""


def keys(samples: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {tuple(one["extra_logs"]) for one in samples}


async def test_openrlhf_with_a_url(process: Process, lost: str) -> None:
    """512 sockets at once; always lists of numbers under the same keys; the same sample ten times
    is worth the same."""
    found = await run_harness("openrlhf_url", process, lost)
    assert [one["reward"] for one in found["many"]] == [[reward] for reward in RIGHT]
    assert all(one["scores"] == one["reward"] for one in found["many"])
    everything = [*found["many"], *found["again"], found["paid"]]
    assert len(keys(everything)) == 1
    assert all(
        type(part) is float
        for one in everything
        for values in one["extra_logs"].values()
        for part in values
    )
    assert found["again"] == [found["again"][0]] * 10
    assert found["lost"] == {"reward": None, "scores": None, "extra_logs": {}}, "never a silent 0"
    assert (found["paid"]["reward"], found["paid"]["extra_logs"]["unknown"]) == ([-0.25], [1.0])


async def test_openrlhf_with_one_line_of_python(process: Process, tmp_path: Path) -> None:
    """The function and the agent that OpenRLHF loads out of a file; an agent with a sandbox opens
    its own episode."""
    found = await run_harness("openrlhf_code", process, str(tmp_path))
    assert [one["reward"] for one in found["function"]] == [[1.0], [0.0]]
    assert [one["reward"] for one in found["words"]] == [1.0, 0.0]
    assert found["sandbox"]["reward"] == pytest.approx(0.5)
    assert (
        found["sandbox"]["extra_logs"]["success"],
        found["sandbox"]["extra_logs"]["unknown"],
    ) == (1.0, 0.0)
    assert len(keys([*found["function"], *found["words"], found["sandbox"]])) == 1


@pytest.mark.parametrize(("floor", "wanted"), [("0.5", 0.5), ("0.9", -0.25)])
async def test_openrlhf_agent_whose_first_turn_is_not_known(
    process: Process, floor: str, wanted: float
) -> None:
    """OpenRLHF adds the turns up: what is known of them is the rollout's, and below the floor the
    fall-back is."""
    more = {
        "MILESTONED_FOLD": "known",
        "MILESTONED_MIN_KNOWN": floor,
        "MILESTONED_FALLBACK": "-0.25",
    }
    found = await run_harness("openrlhf_code", process, "partly", effects=PARTLY, more=more)
    logs = found["extra_logs"]
    assert (found["reward"], logs["unknown"]) == (pytest.approx(wanted), float(wanted < 0))
    assert 0.5 < logs["known_share"] < 0.9


async def test_openrlhf_agent_generates_a_rollout_again_whose_reward_is_not_known(
    process: Process,
) -> None:
    """In an episode of its own; OpenRLHF sees the second alone, and each episode is closed."""
    more = {"MILESTONED_RESAMPLE": "1"}
    found = await run_harness(
        "openrlhf_code", process, "partly", effects=[GONE, EFFECTS], more=more
    )
    assert (found["reward"], found["extra_logs"]["unknown"]) == (pytest.approx(0.5), 0.0)


async def test_openrlhf_agent_that_has_no_tokens_left_closes_its_episode(process: Process) -> None:
    """OpenRLHF ends such a rollout before its last turn: what was earned is paid, and the close. It
    is an end: OpenRLHF has no value of a state after it, so that a potential has to be paid back."""
    found = await run_harness("openrlhf_code", process, "cut_off")
    assert found["reward"] == pytest.approx(0.1)
    assert found["closed"]["reason"] == "the rollout was cut off"
    assert "truncated" not in found["closed"]
    assert (found["extra_logs"]["success"], found["extra_logs"]["success_known"]) == (0.0, 1.0)


async def test_slime_look_alike(process: Process, lost: str) -> None:
    """512 samples through 64 connections, none of them cut off or tried twice; bare numbers."""
    found = await run_harness("slime_like", process, lost)
    assert found["many"] == RIGHT
    assert found["requests"] == 512
    assert (found["detail"]["reward"], found["detail"]["success"]) == (1.0, True)
    assert found["unknown"] == [503, 10], "ten attempts, and then an error: never a silent 0"
    assert found["paid"] == -0.25


async def test_openenv_client_and_rubric(process: Process, lost: str) -> None:
    """A reward a step over the socket, async and sync; an error where nobody can know; 512
    sessions."""
    async with operator(process) as service:
        id, token = await opened(service)
        daemon = asyncio.create_task(Daemon(service, id, token, EFFECTS).run())
        found = await run_harness("openenv_client", process, id, lost)
        await daemon
    (first, going), (last, over) = found["async"]["steps"]
    assert found["async"]["begun"]["instruction"] == "Put it into the cart."
    assert (first > 0, going, last > first, over) == (True, False, True, True)
    assert found["sync"]["right"] == [1.0, True]
    assert "wanted a session that was reset with an episode_id" in found["sync"]["refused"]
    assert "browser gone" in found["sync"]["unknown"][0]
    assert found["rubric"]["words"] == [1.0, 0.0]
    assert found["rubric"]["last"] == 0.0
    assert found["rubric"]["unknown"].startswith(
        "UnknownRewardError: the reward is not known: milestoned:unobserved"
    )
    assert found["rubric"]["paid"] == -0.25
    assert found["many"] == RIGHT


async def test_skyrl_gym(process: Process) -> None:
    """A registered environment; each turn keeps its own reward; 32 threads at once."""
    found = await run_harness("skyrl", process)
    first, last = found["steps"]
    assert [one["content"] for one in found["prompt"]] == ["Buy it.", "The shop is open."]
    assert found["told"]["episode_id"].startswith("ep_")
    assert (first["done"], last["done"], last["metadata"]["success"]) == (False, True, 1.0)
    assert 0 < first["reward"] < last["reward"]
    assert [one["reward"] for one in found["many"]] == RIGHT[:96]
    assert len({tuple(one["metadata"]) for one in (*found["steps"], *found["many"])}) == 1


async def test_gymnasium_wrapper(process: Process) -> None:
    """The service's rewards in place of the environment's, and what the close decides in the last
    one."""
    steps = await run_harness("gym", process, "well")
    first, last = steps[0], steps[1]
    assert [one["reward"] for one in steps[2:]] == [first["reward"], last["reward"]], (
        "the second episode is like it"
    )
    assert 0 < first["reward"] < last["reward"]
    assert (first["env_reward"], first["mask_sample"], last["success"]) == (7.0, False, True)
    assert last["return"] == pytest.approx(first["reward"] + last["reward"])
    assert len({tuple(one["reward_components"]) for one in steps}) == 1
    assert all(one["same"] for one in steps)


@pytest.mark.parametrize("way", ["whole", "cut"])
async def test_gymnasium_wrapper_says_whether_it_was_cut_off(process: Process, way: str) -> None:
    """A potential must know: an end is worth nothing, and a limit of steps is no end."""
    id = await run_harness("gym", process, way)
    async with operator(process) as service:
        log = (await service.http.get(f"/v1/episodes/{id}/events")).json()["events"]
    assert log[-1]["data"].get("truncated", False) is (way == "cut")


async def test_gymnasium_wrapper_where_nobody_can_know(process: Process) -> None:
    """A configured fall-back, told in info; without one an error, never a silent 0."""
    steps = await run_harness("gym", process, "gone", effects=GONE)
    assert [one["reward"] for one in steps[:2]] == [-0.25, -0.25]
    assert all(one["mask_sample"] for one in steps[:2])
    assert "browser gone" in steps[0]["failure_reason"]
    assert "browser gone" in steps[2]
