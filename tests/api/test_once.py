"""Idempotency-Key: the same answer again, the effect once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from tests.api.service import TASK, Service, Store, running
from tests.support.logs import Said


def closed() -> list[Said]:
    """A whole log."""
    return [("episode.opened", {"task": "t", "digest": ""}), ("episode.closed", {"reason": "done"})]


def key(name: str = "k") -> dict[str, Any]:
    """The header."""
    return {"headers": {"idempotency-key": name}}


async def test_an_episode_is_opened_once_with_the_same_token(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    body = {"task": TASK["id"]}
    first, again = [await service.post("/v1/episodes", body, **key()) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert await service.rows("episodes") == 1
    token = again.json()["token"]
    assert (
        await service.get(f"/v1/episodes/{again.json()['episode']}/plan", token)
    ).status_code == 200
    other = await service.post("/v1/episodes", body, **key("another"))
    assert other.json()["episode"] != first.json()["episode"]


async def test_duplicates_at_once_become_one(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    answers = await asyncio.gather(
        *(service.post("/v1/episodes", {"task": TASK["id"]}, **key()) for _ in range(8))
    )
    assert len({answer.json()["token"] for answer in answers}) == 1
    assert await service.rows("episodes") == 1


async def test_other_content_under_the_key_is_refused(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    await service.post("/v1/episodes", {"task": TASK["id"]}, **key())
    answer = await service.post("/v1/episodes", {"task": TASK["id"], "seed": 1}, **key())
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:milestoned:problem:key-reused")
    id, _ = await service.open()
    path = f"/v1/episodes/{id}/answers"
    assert (await service.post(path, {"text": "a", "wait_ms": 0}, **key())).status_code == 202
    assert (await service.post(path, {"text": "b", "wait_ms": 0}, **key())).status_code == 422


async def test_a_key_belongs_to_its_caller_and_route(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    _, trainer = await service.app.state.parts.tokens.create("trainer", "")
    body = {"task": TASK["id"]}
    mine = await service.post("/v1/episodes", body, **key())
    theirs = await service.post("/v1/episodes", body, trainer, **key())
    assert mine.json()["episode"] != theirs.json()["episode"]


async def test_a_queued_command_is_queued_once_and_its_answer_may_ripen(service: Service) -> None:
    id, token = await service.open()
    path = f"/v1/episodes/{id}/steps"
    first, again = [await service.post(path, {"wait_ms": 0}, **key()) for _ in range(2)]
    assert (first.status_code, again.status_code) == (202, 202)
    assert await service.rows("commands") == 1
    await service.tell(
        id,
        token,
        ("episode.opened", {"task": "t", "digest": "d"}),
        ("step.began", {"step": 0, "command": 1}),
    )
    ripe = await service.post(path, {"wait_ms": 0}, **key())
    assert (ripe.status_code, ripe.json()["seq"]) == (200, 2)
    assert (await service.post(path, {"wait_ms": 0}, **key())).json() == ripe.json()


async def test_refusals_are_given_again_and_a_new_key_tries_anew(service: Service) -> None:
    id, _ = await service.open()
    path = f"/v1/episodes/{id}/steps"
    refused = await service.post(path, {"step": 1, "wait_ms": 0}, **key())
    assert refused.status_code == 409
    await service.post(path, {"wait_ms": 0})
    assert (await service.post(path, {"step": 1, "wait_ms": 0}, **key())).content == refused.content
    assert (await service.post(path, {"step": 1, "wait_ms": 0}, **key("new"))).status_code == 202


async def test_a_refused_opening_is_refused_in_the_same_bytes(service: Service) -> None:
    answers = [await service.post("/v1/episodes", {"task": "nobody"}, **key()) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert answers[1].headers["content-type"] == "application/problem+json"


async def test_a_task_gives_the_same_status_again(service: Service) -> None:
    answers = [await service.post("/v1/tasks", TASK, **key()) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]


async def test_a_restart_forgets_no_answer(store: Store) -> None:
    async with running(store) as service:
        await service.post("/v1/tasks", TASK)
        first = await service.post("/v1/episodes", {"task": TASK["id"]}, **key())
    async with running(store) as service:
        assert (
            await service.post("/v1/episodes", {"task": TASK["id"]}, **key())
        ).json() == first.json()


async def test_an_effect_whose_answer_was_lost_is_not_repeated(service: Service) -> None:
    # The service died between the effect and the note of its answer.
    id, _ = await service.open()
    await service.post(f"/v1/episodes/{id}/answers", {"text": "a", "wait_ms": 0}, **key())
    opened = await service.post("/v1/episodes", {"task": TASK["id"]}, **key())
    database = service.app.state.parts.database
    async with database.write() as conn:
        await conn.execute(text("DELETE FROM idempotency"))
    assert (
        await service.post("/v1/episodes", {"task": TASK["id"]}, **key())
    ).json() == opened.json()
    await service.post(f"/v1/episodes/{id}/answers", {"text": "a", "wait_ms": 0}, **key())
    assert await service.rows("commands") == 1


@pytest.mark.parametrize("bad", ["", "x" * 256])
async def test_a_key_has_a_length(service: Service, bad: str) -> None:
    assert (await service.post("/v1/tasks", TASK, **key(bad))).status_code == 422


async def test_a_refusal_of_the_moment_is_not_kept(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trainer retries under its key: what was refused for want of room is done once there is
    some."""
    monkeypatch.setattr("api.rescoring.store.UNFINISHED", 1)
    await service.app.state.parts.rescorer.stop()
    await service.tell((opened := await service.open())[0], opened[1], *closed())
    first = await service.post("/v1/rescores", {})
    assert first.status_code in (200, 201, 202), first.text
    refused = await service.post("/v1/rescores", {}, **key())
    assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
    again = await service.post("/v1/rescores", {}, **key())
    assert (again.status_code, "retry-after" in again.headers) == (429, True)
    assert (
        await service.call("DELETE", f"/v1/rescores/{first.json()['rescore']}")
    ).status_code < 300
    assert (await service.post("/v1/rescores", {}, **key())).status_code == first.status_code
