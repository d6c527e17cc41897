"""NeMo Gym's dialect: rows echoed, sessions in a cookie, masks with their failure, steps asked for
twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.http.adapters.sessions import COOKIE
from tests.api.daemon import Daemon
from tests.api.processes import Process
from tests.api.service import Service
from tests.api.test_score import ANSWER, DEAD
from tests.support.logs import clicked, episode, went

PARAMS = {"responses_create_params": {"input": [{"role": "user", "content": "What?"}]}}
PLACES = ["/nemo", "/nemo/strict", "/nemo/ng-rollout/r-1"]


async def post(
    service: Service, path: str, body: dict[str, Any], session: str | None = None
) -> tuple[httpx.Response, str]:
    """The answer, and the session's cookie as it is after it."""
    service.http.cookies.clear()
    answer = await service.post(
        path, body, headers={"cookie": f"{COOKIE}={session}"} if session else {}
    )
    return answer, answer.cookies.get(COOKIE) or session or ""


def spoken(text: str = "", call: bool = False) -> dict[str, Any]:
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    calls = (
        [{"type": "function_call", "call_id": "c", "name": "click", "arguments": "{}"}]
        if call
        else []
    )
    return {"id": "resp_1", "object": "response", "output": [message, *calls]}


@pytest.mark.parametrize("place", PLACES)
async def test_a_row_is_scored_and_echoed(service: Service, place: str) -> None:
    await service.post("/v1/tasks", ANSWER)
    row = {**PARAMS, "verifier_metadata": {"task_id": "quiz/answer"}, "extra": [1]}
    seeded, session = await post(service, f"{place}/seed_session", row)
    assert (seeded.json(), bool(session)) == ({}, True)
    for text, reward in (("<think>six sevens</think>", 0.0), ("42", 1.0)):
        body = {**row, "response": spoken(text)}
        verdict = (await post(service, f"{place}/verify", body, session))[0].json()
        assert {name: verdict[name] for name in body} == body
        assert (verdict["reward"], verdict["mask_sample"], verdict["failure_kind"]) == (
            reward,
            False,
            None,
        )
        assert set(verdict["reward_components"]) == {"answer", "goal"}


async def test_the_newer_life_cycle(service: Service) -> None:
    """An Environment Server names session, rollout and task; its rollout id is no episode of
    ours."""
    await service.post("/v1/tasks", ANSWER)
    seed = {
        "resources_session_id": "s-1",
        "episode_id": {"rollout_id": "r-9", "attempt": 1},
        "task_id": {"taskset": "quiz", "task_id": "quiz/answer"},
        "task_data": {},
    }
    for _ in range(2):
        assert (await service.post("/nemo/seed_session", seed)).json() == {
            "resources_session_id": "s-1"
        }
    closed = await service.post(
        "/nemo/close_session", {"resources_session_id": "never", "episode_id": {}}
    )
    assert (closed.status_code, closed.json()) == (200, {"resources_session_id": "never"})
    assert (await service.get("/nemo/reverify_mode")).json() == "stateless"


async def test_what_nobody_can_know_is_masked_or_for_the_strict_a_503(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *episode([went("/cart"), DEAD], [clicked("Buy")]))
    body = {**PARAMS, "response": spoken("x"), "verifier_metadata": {"episode_id": id}}
    masked = (await service.post("/nemo/verify", body)).json()
    assert (masked["reward"], masked["mask_sample"], masked["failure_kind"]) == (
        0.0,
        True,
        "milestoned:unobserved",
    )
    assert "browser gone" in masked["failure_reason"]
    assert masked["instance_config"] == {"mask_sample": True}, "where NeMo-RL looks for it"
    configured = {**body, "instance_config": {"seed": 7, "mask_sample": False}}
    kept = (await service.post("/nemo/verify", configured)).json()["instance_config"]
    assert kept == {"seed": 7, "mask_sample": True}
    assert (await service.post("/nemo/strict/verify", body)).status_code == 503
    for place in ("/nemo", "/nemo/strict"):
        paid = (await service.post(f"{place}/verify?fallback=-0.25", body)).json()
        assert (paid["reward"], paid["mask_sample"]) == (
            -0.25,
            True,
        ), "what is configured, and still said to be none"
    lost = {**body, "verifier_metadata": {"episode_id": "ep_nobody"}}
    assert (await service.post("/nemo/verify", lost)).json()["failure_kind"] == "session_lost"
    assert (await service.post("/nemo/strict/verify", lost)).status_code == 404
    nothing = await service.post("/nemo/verify", {**PARAMS, "response": spoken("x")})
    assert (nothing.status_code, "wanted an episode id" in nothing.text) == (422, True)


async def test_a_forged_cookie_is_refused(service: Service) -> None:
    refused, _ = await post(service, "/nemo/step", {"response": spoken("x")}, "e30=.abc")
    assert (refused.status_code, "not signed by this service" in refused.text) == (422, True)


async def test_steps_are_rewarded_one_by_one_and_a_repeated_request_gets_the_same(
    service: Service,
) -> None:
    id, token = await service.open()
    daemon = Daemon(service, id, token, {0: [went("/cart")], 1: [clicked("Buy")]})
    running = asyncio.create_task(daemon.run())
    begun, session = await post(service, "/nemo/reset", {**PARAMS, "task_data": {"episode_id": id}})
    assert (begun.json()["observation"], begun.json()["info"]["step"]) == (
        "Put it into the cart.",
        0,
    )
    acted = {**PARAMS, "response": spoken(call=True)}
    first, later = await post(service, "/nemo/step", acted, session)
    again, _ = await post(service, "/nemo/step", acted, session)
    assert again.json() == first.json()
    last, _ = await post(service, "/nemo/step", {**PARAMS, "response": spoken("Bought.")}, later)
    await running
    ends = [one.json()["terminated"] for one in (first, last)]
    assert (ends, last.json()["info"]["success"]) == ([False, True], True)
    whole = (await service.post("/v1/score", {"samples": [{"episode": id}]})).json()["results"][0]
    assert [one.json()["reward"] for one in (first, last)] == whole["step_rewards"][:2]
    assert first.json()["reward"] > 0
    assert (await post(service, "/nemo/close", {}, later))[0].status_code == 200


async def test_metrics_leave_masked_rollouts_out(service: Service) -> None:
    nested = {"reward": 0.0, "instance_config": {"mask_sample": True}}
    rows = [{"reward": 1.0}, {"reward": 0.5}, {"reward": 0.0, "mask_sample": True}, nested]
    found = (await service.post("/nemo/aggregate_metrics", {"verify_responses": rows})).json()
    assert found["key_metrics"] == {"mean/reward": 0.75}
    assert found["agent_metrics"]["mean/mask_sample"] == pytest.approx(1 / 2)


def test_a_port_of_its_own_has_the_dialect_at_its_root(tmp_path: Path) -> None:
    process = Process(tmp_path, "--nemo-port", "0")
    process.start()
    try:
        port = json.loads((tmp_path / "service.json").read_bytes())["nemo_port"]
        with httpx.Client(headers={"authorization": f"Bearer {process.admin}"}) as client:
            client.post(f"{process.url}/v1/tasks", json=ANSWER).raise_for_status()
            body = {**PARAMS, "task_id": "quiz/answer", "response": spoken("42")}
            for place in (
                f"http://127.0.0.1:{port}",
                f"http://127.0.0.1:{port}/ng-rollout/r1",
                f"{process.url}/nemo",
            ):
                assert client.post(f"{place}/verify", json=body).json()["reward"] == 1.0
            assert client.post(f"{process.url}/verify", json=body).status_code == 404
    finally:
        process.stop()
