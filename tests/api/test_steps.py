"""The channel: what the harness says reaches the daemon once, and the answer names its event."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.api.daemon import Daemon
from tests.api.service import TASK, Service, until


@pytest.fixture
async def daemon(service: Service) -> Daemon:
    """A daemon of a fresh episode."""
    return Daemon(service, *await service.open())


async def test_a_whole_episode_through_the_channel(service: Service, daemon: Daemon) -> None:
    path = f"/v1/episodes/{daemon.episode}"
    running = asyncio.create_task(daemon.run())
    for step in (0, 1):
        began = await service.post(f"{path}/steps", {"action": {"click": step}})
        assert (began.status_code, began.json()["step"]) == (200, step), began.text
        called = await service.post(
            f"{path}/tools:call", {"call": "c", "tool": "t", "arguments": {"a": 1}}
        )
        back = await service.post(f"{path}/tools:return", {"call": "c", "ok": True, "result": [1]})
        said = await service.post(f"{path}/answers", {"text": "Done."})
        assert [one.json()["step"] for one in (called, back, said)] == [step] * 3
        ended = await service.post(f"{path}/steps/{step}:end")
        assert ended.json()["seq"] > began.json()["seq"]
    closed = await service.post(f"{path}:close", {"reason": "enough", "truncated": True})
    await running
    assert (closed.status_code, closed.json()["status"], closed.json()["last_step"]) == (
        200,
        "closed",
        1,
    )
    assert [reward["step"] for reward in closed.json()["rewards"]] == [0, 1]
    log = (await service.get(f"{path}/events")).json()["events"]
    assert [event["kind"] for event in log].count("step.began") == 2
    assert log[1]["data"] == {"step": 0, "action": {"click": 0}, "command": 1}
    assert log[-1]["data"] == {
        "reason": "enough",
        "truncated": True,
        "command": log[-1]["data"]["command"],
    }


async def test_one_request_ends_a_step_begins_the_next_and_has_the_reward(
    service: Service, daemon: Daemon
) -> None:
    path = f"/v1/episodes/{daemon.episode}/steps"
    running = asyncio.create_task(daemon.run())
    await service.post(path, {"step": 0})
    answer = await service.post(f"{path}/0:advance", {"action": {"click": 1}})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    read = await service.get(f"{path}/0/reward")
    assert (told["step"], told["reward"]) == (1, read.json())
    assert told["reward"]["status"] == "sealed"
    again = await service.post(f"{path}/0:advance", {"action": {"click": 1}})
    assert again.json() == told, "the same request changes nothing"
    skipped = await service.post(f"{path}/2:advance", {"wait_ms": 0})
    assert (skipped.status_code, skipped.json()["wanted"]) == (409, 2)
    await service.post(f"/v1/episodes/{daemon.episode}:close")
    await running
    log = (await service.get(f"/v1/episodes/{daemon.episode}/events")).json()["events"]
    assert [event["kind"] for event in log].count("step.began") == 2


async def test_one_request_ends_a_step_and_has_its_reward(service: Service) -> None:
    episode, token = await service.open()
    daemon = Daemon(service, episode, token, effects={})
    path = f"/v1/episodes/{episode}/steps"
    running = asyncio.create_task(daemon.run())
    await service.post(path, {"step": 0})
    answer = await service.post(f"{path}/0:seal")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    read = await service.get(f"{path}/0/reward")
    assert (told["step"], told["reward"]) == (0, read.json())
    assert told["reward"]["status"] == "sealed"
    assert (await service.post(f"{path}/0:seal")).json() == told, "again it changes nothing"
    skipped = await service.post(f"{path}/1:seal", {"wait_ms": 0})
    assert (skipped.status_code, skipped.json()["wanted"]) == (409, 0)
    await service.post(f"/v1/episodes/{daemon.episode}:close")
    await running


@pytest.mark.parametrize(("verb", "step"), [("seal", 0), ("advance", 1)])
async def test_a_reward_that_is_not_known_yet_is_null_beside_the_queued_step(
    service: Service, daemon: Daemon, verb: str, step: int
) -> None:
    """``step`` is the one that is queued: the end of step 0, or the begin of the next one."""
    path = f"/v1/episodes/{daemon.episode}/steps"
    await service.post(path, {"wait_ms": 0})
    await daemon.obey()
    answer = await service.post(f"{path}/0:{verb}", {"wait_ms": 0})
    told = answer.json()
    assert (answer.status_code, told["status"], told["step"]) == (202, "queued", step)
    reward = told["reward"]
    assert (reward["status"], reward["reward"], reward["mask"]) == ("settling", None, True)


async def test_without_a_daemon_it_is_queued(service: Service, daemon: Daemon) -> None:
    path = f"/v1/episodes/{daemon.episode}"
    answer = await service.post(f"{path}/steps", {"wait_ms": 0})
    assert (answer.status_code, answer.json()) == (
        202,
        {"command": 1, "step": 0, "status": "queued"},
    )
    assert [one["kind"] for one in await daemon.commands()] == ["step.began"]
    await daemon.obey()
    again = await service.post(f"{path}/steps", {"step": 0, "wait_ms": 0})
    assert (again.status_code, again.json()) == (200, {"command": 1, "step": 0, "seq": 2})


async def test_a_waiting_daemon_hears_at_once(service: Service, daemon: Daemon) -> None:
    waiting = asyncio.create_task(daemon.commands(wait_ms=30_000))
    await until(lambda: service.app.state.notifier.waiting == 1)
    await service.post(f"/v1/episodes/{daemon.episode}/answers", {"text": "x", "wait_ms": 0})
    assert [one["data"] for one in await waiting] == [{"text": "x"}]


async def test_steps_come_in_order_and_the_current_one_again_changes_nothing(
    service: Service, daemon: Daemon
) -> None:
    path = f"/v1/episodes/{daemon.episode}"
    skipped = await service.post(f"{path}/steps", {"step": 1, "wait_ms": 0})
    assert (skipped.status_code, skipped.json()["wanted"]) == (409, 0)
    early = await service.post(f"{path}/steps/0:end", {"wait_ms": 0})
    assert early.status_code == 409
    for _ in range(3):
        await service.post(f"{path}/steps", {"step": 0, "wait_ms": 0})
        await service.post(f"{path}/steps/0:end", {"wait_ms": 0}) if _ else None
    assert [one["kind"] for one in await daemon.commands()] == ["step.began", "step.ended"]
    assert (await service.post(f"{path}/steps", {"step": 1, "wait_ms": 0})).status_code == 202
    assert (await service.post(f"{path}/steps", {"step": 0, "wait_ms": 0})).json()["wanted"] == 2
    assert (await service.post(f"{path}/steps/0:end", {"wait_ms": 0})).status_code == 202


async def test_steps_that_the_daemon_heard_itself_count_too(
    service: Service, daemon: Daemon
) -> None:
    daemon.said += [
        ("step.began", {"step": 0}),
        ("step.ended", {"step": 0}),
        ("step.began", {"step": 1}),
    ]
    await daemon.obey()
    path = f"/v1/episodes/{daemon.episode}"
    assert (await service.post(f"{path}/steps", {"step": 1})).json() == {
        "command": None,
        "step": 1,
        "seq": 4,
    }
    assert (await service.post(f"{path}/steps/0:end")).json()["seq"] == 3
    assert (await service.post(f"{path}/steps", {"step": 3})).json()["wanted"] == 2


async def test_after_the_close_nothing_is_queued(service: Service, daemon: Daemon) -> None:
    path = f"/v1/episodes/{daemon.episode}"
    assert (await service.post(f"{path}:close", {"wait_ms": 0})).json()["status"] == "closing"
    assert (await service.get(path)).json()["status"] == "closing"
    for call in ("steps", "answers", "tools:call"):
        body = {"answers": {"text": ""}, "tools:call": {"call": "c", "tool": "t"}}.get(call, {})
        refused = await service.post(f"{path}/{call}", {**body, "wait_ms": 0})
        assert (refused.status_code, refused.json()["type"]) == (
            409,
            "urn:milestoned:problem:closed",
        )
    assert (await service.post(f"{path}:close", {"wait_ms": 0})).status_code == 202
    assert [one["kind"] for one in await daemon.commands()] == ["episode.close"]
    await daemon.obey()
    assert (await service.post(f"{path}:close")).json()["status"] == "closed"


async def test_what_is_said_is_checked_before_it_is_queued(
    service: Service, daemon: Daemon
) -> None:
    path = f"/v1/episodes/{daemon.episode}"
    bad: list[tuple[str, Any, str]] = [
        ("steps", {"step": -1}, "step"),
        ("steps", {"step": "0"}, "step"),
        ("steps", {"stp": 0}, "stp"),
        ("steps", {"wait_ms": 60_000}, "wait_ms"),
        ("answers", {}, "text"),
        ("answers", {"text": 1}, "text"),
        ("tools:call", {"call": ""}, "call"),
        ("tools:return", {"call": "c", "ok": "yes"}, "ok"),
        ("steps", [], "body"),
    ]
    for call, body, wrong in bad:
        answer = await service.call("POST", f"{path}/{call}", json=body)
        assert answer.status_code == 422, (call, body)
        assert wrong in [error["path"] for error in answer.json()["errors"]]
    assert await daemon.commands() == []
    assert (await service.post("/v1/episodes/ep_nobody/steps", {"wait_ms": 0})).status_code == 404


async def test_a_step_on_its_own_task_and_no_other(service: Service) -> None:
    one, other = await service.open(), await service.open({**TASK, "id": "shop/other"})
    await service.post(f"/v1/episodes/{one[0]}/steps", {"wait_ms": 0})
    assert await Daemon(service, *other).commands() == []


@pytest.mark.parametrize("step", ["9" * 5_000, "9" * 11, "9" * 10, "-1", "1.0"])
async def test_a_step_that_is_no_number_of_one_is_not_there(service: Service, step: str) -> None:
    id, _ = await service.open()
    path = f"/v1/episodes/{id}/steps/{step}"
    answers = [
        await service.get(f"{path}/reward"),
        await service.get(f"{path}/explanation"),
        await service.post(f"{path}:end", {"wait_ms": 0}),
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
