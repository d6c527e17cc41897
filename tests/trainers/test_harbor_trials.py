"""Harbor's own command with our plugin and verifier (`make test-all`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.api.blame.test_causes import shows
from tests.api.processes import Process
from tests.support.logs import Said
from tests.trainers.support import EFFECTS, GONE, operator, run_harness

pytestmark = pytest.mark.slow
SHOP = "task_id=shop/cart"
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""What Harbor brings along asks nobody for prices."""


async def run(
    process: Process,
    agent: str,
    *words: str,
    effects: Mapping[int, Sequence[Said]] = EFFECTS,
) -> Any:
    """One job."""
    return await run_harness(
        "harbor_trials", process, agent, *words, effects=effects, venv="harbor", more=QUIET
    )


ALL_AT_ONCE = {0: [*EFFECTS[0], *EFFECTS[1]]}
"""A trial is one step."""


async def test_a_trial_is_paid_what_was_observed(process: Process) -> None:
    """Also where the agent has written a reward itself."""
    for agent in ("Idle", "Cheat"):
        found = await run(process, agent, SHOP, "--attempts=2", effects=ALL_AT_ONCE)
        assert (found["status"], len(found["trials"])) == (0, 2), found["said"]
        for trial in found["trials"]:
            assert (trial["error"], trial["valid"], trial["ran"]) == (None, True, True), trial
            assert trial["rewards"] == pytest.approx(
                {
                    "reward": 0.5,
                    "nav": 0.1,
                    "ui": 0.2,
                    "goal": 0.2,
                    "milestone.cart": 0.1,
                    "milestone.buy": 0.2,
                    "milestone.done": 0.2,
                }
            )
            (kept,) = trial["kept"]
            assert kept["status"] == "closed"
            assert kept["rewards"][0]["milestones"][0]["evidence"]
            assert kept["blame"]["cause"] is None, "it succeeded"
        assert found["metrics"][0][0]["reward"] == pytest.approx(0.5), "Harbor's own mean"
        assert found["leaks"] == [], "the token is in no file of the job"
    assert len({trial["kept"][0]["episode"] for trial in found["trials"]}) == 2


async def test_what_nobody_knows_is_an_error_and_no_zero(process: Process) -> None:
    found = await run(process, "Idle", SHOP, effects=GONE)
    (trial,) = found["trials"]
    assert (trial["error"], trial["rewards"], trial["valid"]) == ("UnknownRewardError", None, False)
    assert "browser gone" in trial["message"]
    assert found["metrics"] == [[]], "no mean counts it"
    assert trial["kept"][0]["blame"]["cause"] == "infrastructure"


async def test_each_step_of_a_task_has_an_episode(process: Process) -> None:
    found = await run(process, "Idle", SHOP, "--steps", effects=ALL_AT_ONCE)
    (trial,) = found["trials"]
    assert (trial["error"], trial["valid"]) == (None, True), trial
    assert [step["rewards"]["reward"] for step in trial["steps"]] == pytest.approx([0.5, 0.5])
    assert trial["rewards"]["reward"] == pytest.approx(0.5), "Harbor's own mean"
    assert len({kept["episode"] for kept in trial["kept"]}) == 2


async def test_an_agent_that_ran_out_of_time_is_graded_and_cut_off(process: Process) -> None:
    found = await run(process, "Endless", SHOP, effects={0: EFFECTS[0]})
    (trial,) = found["trials"]
    assert (trial["error"], trial["valid"]) == ("AgentTimeoutError", True)
    assert trial["rewards"]["milestone.cart"] > 0
    async with operator(process) as service:
        episode = trial["kept"][0]["episode"]
        answer = (await service.http.get(f"/v1/episodes/{episode}/events")).json()
    closed = answer["events"][-1]["data"]
    assert closed["reason"] == "the agent was cut off"
    assert "truncated" not in closed


async def test_a_mistake_in_the_set_up_is_named_before_an_agent_runs(process: Process) -> None:
    nowhere = (await run(process, "Idle", "task_id=no/such"))["trials"][0]
    assert (nowhere["error"], nowhere["rewards"], nowhere["ran"]) == ("NotFoundError", None, False)
    assert "there is no task no/such" in nowhere["message"]
    alone = (await run(process, "Idle", SHOP, "--no-plugin"))["trials"][0]
    assert (alone["error"], alone["rewards"]) == ("UnknownRewardError", None)
    assert (
        "expected --plugin milestoned_client.adapters.harbor:MilestonedPlugin" in alone["message"]
    )
    unknown = await run(process, "Idle", SHOP, "fallback=0")
    assert unknown["trials"] == []
    assert "fallback: there is no such verifier kwarg" in unknown["said"]


async def test_a_trial_that_failed_for_a_masked_cause_has_no_reward(process: Process) -> None:
    """And one whose trainer keeps such trials is worth 0."""
    refused = {0: shows("/cart", 503)}
    kept, masked = [
        (await run(process, "Idle", SHOP, *more, effects=refused))["trials"][0]
        for more in ((), ("mask_causes=site_refused,captcha",))
    ]
    assert (kept["error"], kept["valid"]) == (None, True)
    assert kept["kept"][0]["blame"]["cause"] == "site_refused"
    assert (masked["error"], masked["rewards"]) == ("UnknownRewardError", None)
    assert "masked by its cause site_refused" in masked["message"]
