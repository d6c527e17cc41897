"""Heavy trainers' own code (`make test-all`), each from its own environment, against a running
service."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.api.processes import Process, milestoned
from tests.interop.doors import HOSTILE
from tests.support.chromium import EXECUTABLE, needs_chromium
from tests.support.logs import answered, titled
from tests.trainers.support import EFFECTS, episode_of, operator, run_harness
from tests.trainers.test_light import RIGHT

pytestmark = pytest.mark.slow
NEW_TOKEN = ("token", "create", "trainer", "--tenant", "stranger")


async def test_trl_takes_real_steps(process: Process, lost: str) -> None:
    """GRPOTrainer on the CPU: rewards from the function, None for what nobody knows, rewards of
    environments."""
    found = await run_harness("trl_trainer", process, lost, venv="trl")
    first, last = found["scored"]
    assert 0 < first["reward"] < 1, "some said 42"
    assert first["moved"]
    assert (first["milestoned/unknown"], last["milestoned/unknown"]) == (0.0, 0.0)
    for step in found["lost"]:
        assert (step["reward"], step["milestoned/unknown"]) == (None, 1.0), (
            "left out, and no silent 0"
        )
        assert not step["moved"]
    for step in found["environment"]:
        assert step["rewards/Clicking/mean"] == pytest.approx(0.5), (
            "both milestones of the shop, in every rollout"
        )
        assert step["rewards/Clicking/std"] == pytest.approx(0.0)


@pytest.mark.parametrize("how", ["proxy", "direct"])
async def test_nemo_gym_agents(process: Process, lost: str, how: str) -> None:
    """Its agents as it launches them: through our small server, and against the service at the root
    of a port."""
    told = json.loads((process.data / "service.json").read_bytes())
    found = await run_harness(
        "nemo_agents", process, how, lost, venv="nemo", more={"NEMO_PORT": str(told["nemo_port"])}
    )
    assert [one["reward"] for one in found["simple"]] == [1.0, 0.0]
    assert [one["mask_sample"] for one in found["simple"]] == [False, False]
    masked = found["masked"]
    assert (masked["reward"], masked["mask_sample"]) == (0.0, True), (
        "a trainer must read the mask: docs/trainers/nemo-gym.md"
    )
    assert masked["instance_config"]["mask_sample"] is True, (
        "its agent passes on where NeMo-RL looks"
    )
    assert (masked["failure_kind"], "browser gone" in masked["failure_reason"]) == (
        "milestoned:unobserved",
        True,
    )
    assert found["unknown_task"]["status"] == 500, "a mistake in the set-up is no masked sample"
    assert "there is no task no/such" in found["unknown_task"]["text"]
    assert [one["reward"] for one in found["gymnasium"]] == [1.0, 0.0]
    assert found["shop"]["reward"] == pytest.approx(0.5), "its agent sums the steps"
    assert (found["shop"]["terminated"], found["shop"]["info"]["success"], found["closed"]) == (
        True,
        True,
        "closed",
    )
    assert len({tuple(one["reward_components"]) for one in found["simple"]}) == 1


async def test_nemo_gym_command_line_starts_our_server(process: Process) -> None:
    """`gym env start`, with what docs/trainers/nemo-gym.md says to paste."""
    found = await run_harness("nemo_cli", process, venv="nemo")
    assert {text: one["reward"] for text, one in found.items()} == {"42": 1.0, "41": 0.0}
    assert [one["mask_sample"] for one in found.values()] == [False, False]


async def test_verl_reward_loop(process: Process, lost: str) -> None:
    """verl's worker under verl's own configuration: 512 in flight, keys that never change, groups
    that fail."""
    async with operator(process) as service:
        good = await episode_of(service, EFFECTS)
    found = await run_harness("verl_loop", process, good, lost, venv="verl")
    assert [one["reward_score"] for one in found["many"]] == RIGHT
    told = [*found["many"], *found["paid"], *found["manager"]]
    assert len({tuple(one["reward_extra_info"]) for one in told}) == 1
    assert found["on"] == [1, 1], "the last token of the response"
    assert "browser gone" in found["lost"], "an error, and no silent 0"
    assert found["paid"][0]["reward_score"] == -0.25
    assert found["paid"][0]["reward_extra_info"]["unknown"] == 1.0
    trajectory, answer = found["manager"]
    assert (trajectory["reward_score"], answer["reward_score"]) == (pytest.approx(0.5), 1.0)


async def test_inspect_scorer(process: Process, lost: str, tmp_path: Path) -> None:
    """Its own evaluation and metrics: what nobody knows is left out of the mean, and a mistake ends
    the sample."""
    async with operator(process) as service:
        good = await episode_of(service, EFFECTS)
    told = {"INSPECT_LOG_DIR": str(tmp_path)}
    found = await run_harness("inspect_scorer", process, good, lost, venv="inspect", more=told)
    assert found["answers"]["metrics"]["mean"] == 0.75
    assert [one["value"] for one in found["answers"]["scores"]] == [1.0, 0.0, 1.0, 1.0]
    (episode,) = found["episode"]["scores"]
    assert (episode["value"], episode["metadata"]["milestones"]) == (pytest.approx(0.5), 3.0)
    known, unknown = found["lost"]["scores"]
    assert (known["value"], unknown["unscored"]) == (1.0, True)
    assert "browser gone" in unknown["explanation"]
    assert found["lost"]["metrics"]["mean"] == 1.0, "left out, and no silent 0"
    assert [one["value"] for one in found["paid"]["scores"]] == [-0.25]
    assert (
        found["unknown"]["status"],
        "there is no task no/such" in found["unknown"]["error"],
    ) == ("error", True)


async def test_verifiers_tasks(process: Process, lost: str) -> None:
    """Its NeMo Gym task against our service, and our function plugged into a task of its own."""
    found = await run_harness("verifiers_task", process, lost, venv="verifiers")
    assert [one["rewards"]["nemo_gym"] for one in found["nemo"]] == [1.0, 0.0]
    assert found["strict"]["rewards"] == {"nemo_gym": None}, "an error on the trace, and no reward"
    assert "503 Service Unavailable" in found["strict"]["error"]
    assert process.admin not in found["strict"]["error"]
    assert found["mask_ignored"]["rewards"] == {"nemo_gym": 0.0}, (
        "why docs/trainers/verifiers.md says `/nemo/strict`"
    )
    assert [one["rewards"]["milestoned"] for one in found["plugged"]] == [1.0, 0.0]
    assert [one["metrics"]["milestoned_success"] for one in found["plugged"]] == [1.0, 0.0]
    assert found["episode"]["rewards"] == {"milestoned": None}
    assert "UnknownRewardError" in found["episode"]["error"]


@pytest.mark.browser
@needs_chromium
async def test_browsergym_and_miniwob(process: Process) -> None:
    """BrowserGym drives Chromium, the daemon watches, the wrapper pays what the service says."""
    clicked = {"element_clicked": {"role": "button", "name": "Click Me!"}}
    task = {
        "id": "miniwob/click-test",
        "version": "1",
        "instruction": "Click the button.",
        "weights": {"ui": 1.0},
    }
    async with operator(process) as service:
        answer = await service.http.post(
            "/v1/tasks", json={**task, "milestones": [{"id": "click", "when": clicked}]}
        )
        answer.raise_for_status()
    more = {"CHROMIUM": EXECUTABLE, "DAEMON_PYTHON": sys.executable}
    right, wrong = await run_harness("browsergym_miniwob", process, venv="browsergym", more=more)
    assert (right["reward"], right["milestones"], right["mask_sample"]) == (1.0, 1, False)
    assert (right["env_reward"], right["over"]) == (1.0, True)
    assert (wrong["reward"], wrong["milestones"], wrong["mask_sample"]) == (0.0, 0, False)
    assert list(right["reward_components"]) == list(wrong["reward_components"])


class LawEpisodes(NamedTuple):
    """A good episode, the same deeds under hostile words, and the token of another tenant."""

    good: str
    hostile: str
    more: dict[str, str]


async def law_episodes(process: Process) -> LawEpisodes:
    words = titled(HOSTILE)
    hostile = {step: [words, *said, answered(HOSTILE)] for step, said in EFFECTS.items()}
    async with operator(process) as service:
        good = await episode_of(service, EFFECTS)
        rude = await episode_of(service, hostile)
    made = await asyncio.to_thread(
        milestoned, process.data, *NEW_TOKEN, "--data", str(process.data)
    )
    assert made.returncode == 0, made.stderr
    return LawEpisodes(good, rude, {"MILESTONED_STRANGER": made.stdout.strip()})


async def test_hud_results(process: Process, lost: str) -> None:
    """Its own result with a subscore a milestone, in which HUD finds nothing to warn of."""
    laws = await law_episodes(process)
    found = await run_harness(
        "hud_grading", process, laws.good, lost, laws.hostile, venv="hud", more=laws.more
    )
    subscores = {one["name"]: one for one in found["good"]["subscores"]}
    assert (found["good"]["reward"], found["good"]["is_error"]) == (pytest.approx(0.5), False)
    assert set(subscores) == {"cart", "buy", "done", "milestoned:not_earned"}
    assert sum(one["weight"] for one in subscores.values()) == pytest.approx(1.0)
    assert subscores["cart"]["info"]["times"][0]["evidence"]
    unknown = found["lost"]
    assert (unknown["is_error"], unknown["info"]["mask"], unknown["subscores"]) == (
        True,
        True,
        None,
    )
    assert "browser gone" in unknown["content"]
    assert (found["paid"]["reward"], found["paid"]["is_error"]) == (-0.25, False)
    assert (found["right"]["reward"], found["wrong"]["reward"]) == (1.0, 0.0)
    assert "there is no episode ep_nobody" in found["nobody"]
    assert f"there is no episode {laws.good}" in found["stranger"]
    assert found["again"] == found["good"]
    hostile = found["hostile"]
    assert (hostile["reward"], hostile["is_error"]) == (pytest.approx(0.5), False)
    assert {one["name"] for one in hostile["subscores"]} == set(subscores)


async def test_eval_protocol_function(process: Process, lost: str) -> None:
    """Its own decorator and results: what nobody knows is no valid score."""
    laws = await law_episodes(process)
    # litellm fetches prices as it is imported
    more = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", **laws.more}
    found = await run_harness(
        "eval_protocol_function",
        process,
        laws.good,
        lost,
        laws.hostile,
        venv="eval-protocol",
        more=more,
    )
    whole = found["good"]
    assert (whole["score"], whole["is_score_valid"]) == (pytest.approx(0.5), True)
    assert sum(one["base_reward"] for one in whole["step_outputs"]) == pytest.approx(0.5)
    assert whole["step_outputs"][0]["metrics"]["milestones"][0]["evidence"]
    unknown = found["lost"]
    assert (unknown["is_score_valid"], unknown["step_outputs"]) == (False, [])
    assert "browser gone" in unknown["error"]
    assert (found["right"]["score"], found["wrong"]["score"]) == (1.0, 0.0)
    assert (found["row"]["score"], found["row"]["is_score_valid"]) == (1.0, True)
    assert "there is no task no/such" in found["nothing"]
    assert f"there is no episode {laws.good}" in found["stranger"]
    assert found["again"] == whole
    assert (found["hostile"]["score"], found["hostile"]["is_score_valid"]) == (0.5, True)


async def test_agent_lightning_events(process: Process, lost: str) -> None:
    """Its own server keeps each step and one reward; none of what nobody knows."""
    laws = await law_episodes(process)
    found = await run_harness(
        "agent_lightning_events",
        process,
        laws.good,
        lost,
        laws.hostile,
        venv="agentlightning",
        more=laws.more,
    )
    kinds = {name: [one["event_type"] for one in told["events"]] for name, told in found.items()}
    assert kinds["good"][-1] == "reward"
    assert set(kinds["good"][:-1]) == {"milestoned.step"}
    assert found["good"]["value"] == pytest.approx(0.5)
    reward = {"value": found["good"]["value"], "source": "milestoned", "reason": None}
    assert found["good"]["events"][-1]["data"] == reward
    assert "reward" not in kinds["lost"]
    assert kinds["lost"][-1] == "milestoned.unknown"
    assert found["lost"]["value"].startswith("UnknownRewardError")
    assert found["paid"]["events"][-1]["data"]["value"] == -0.25
    assert kinds["right"] == ["reward"]
    assert kinds["stranger"] == []
    assert f"there is no episode {laws.good}" in found["stranger"]["value"]
    again, good = (
        [(one["event_type"], one["data"]) for one in found[name]["events"]]
        for name in ("again", "good")
    )
    assert again == good
    assert found["hostile"]["value"] == pytest.approx(0.5)
    assert kinds["hostile"] == kinds["good"]
    assert (kinds["nobody"], kinds["locked"], kinds["gone"]) == ([], [], [])
    assert "Agent-Lightning's event URL, http://127.0.0.1:" in found["gone"]["value"]
    assert "401" in found["locked"]["value"]
    assert "another" not in found["locked"]["value"], "the key stays out of the error"
