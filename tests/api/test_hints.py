"""Hints: what came nearest, for who may ask, where the task allows it; whoever asked is guided."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from milestoned_client import AsyncRewardClient, ForbiddenError

from tests.api.service import ADMIN, TASK, Service, events, frames
from tests.support.logs import clicked, episode, went

HINTED = {**TASK, "id": "shop/hinted", "hints": True}


async def opened(service: Service, task: dict[str, Any] = HINTED, *, close: bool = False) -> str:
    """An episode in which the cart was reached and something else was clicked."""
    (id,) = await opened_all(service, 1, task, close=close)
    return id


async def opened_all(
    service: Service,
    many: int,
    task: dict[str, Any] = HINTED,
    *,
    close: bool = False,
    guided: int = 0,
) -> list[str]:
    """Such episodes; for the last ``guided`` hints are asked before their close."""
    await service.post("/v1/tasks", task)
    ids = []
    for n in range(many):
        answer = (await service.post("/v1/episodes", {"task": task["id"]})).json()
        ids.append(str(answer["episode"]))
        said = episode([went("/cart")], [clicked("Buy later")], close=close)
        *before, last = frames(events(ids[-1], *said), [len(said) - 1])
        for frame in before:
            await service.append(ids[-1], frame, answer["token"])
        if n >= many - guided:
            assert (await hints(service, ids[-1])).json()["guided"] is True
        await service.append(ids[-1], last, answer["token"])
    return ids


async def hints(service: Service, id: str, token: str = ADMIN) -> httpx.Response:
    return await service.get(f"/v1/episodes/{id}/hints", token)


async def test_hints_name_what_is_not_reached_and_what_came_nearest(service: Service) -> None:
    found = (await hints(service, await opened(service))).json()
    by_id = {hint["milestone"]: hint for hint in found["hints"]}
    reached = {"cart"} & {spec["id"] for spec in TASK["milestones"]}
    assert reached, "the task has a milestone that the episode reached"
    assert by_id.keys() == {spec["id"] for spec in TASK["milestones"]} - reached
    assert any("Buy later" in line for hint in by_id.values() for line in hint["nearest"])
    assert all(hint["waits_for"] and hint["worth"] >= 0 for hint in by_id.values())


async def test_whoever_asked_is_guided_and_whoever_did_not_is_not(service: Service) -> None:
    asked, other = await opened(service), await opened(service)
    assert (await hints(service, asked)).json()["guided"] is True
    for id, guided in ((asked, True), (other, False)):
        assert (await service.get(f"/v1/episodes/{id}")).json()["guided"] is guided
        query = {"guided": str(guided).lower(), "task": HINTED["id"]}
        listed = (await service.get("/v1/episodes", params=query)).json()["episodes"]
        assert [one["episode"] for one in listed] == [id]


@pytest.mark.parametrize(("query", "episodes"), [({}, 1), ({"guided": "true"}, 2)])
async def test_the_curriculum_leaves_guided_episodes_out(
    service: Service, query: dict[str, str], episodes: int
) -> None:
    await opened_all(service, 2, close=True, guided=1)
    (progress,) = (await service.get("/v1/curriculum", params=query)).json()["tasks"]
    assert progress["episodes"] == episodes


async def test_evaluations_leave_guided_episodes_out_and_say_how_many(service: Service) -> None:
    await opened_all(service, 3, close=True, guided=1)
    await service.app.state.parts.checkpointer.turn(head=True)
    evaluation = (await service.get("/v1/reports/evaluation")).json()
    assert [version["episodes"] for version in evaluation["versions"]] == [2]
    assert evaluation["guided_left_out"] == 1


async def test_hints_after_the_close_guided_nobody_and_change_no_evaluation(
    service: Service,
) -> None:
    """Whether it was guided is in the statement that was signed of it."""
    id = await opened(service, close=True)
    answer = (await hints(service, id)).json()
    assert (answer["guided"], bool(answer["hints"])) == (False, True)
    assert (await service.get(f"/v1/episodes/{id}")).json()["guided"] is False
    await service.app.state.parts.checkpointer.turn(head=True)
    evaluation = (await service.get("/v1/reports/evaluation")).json()
    assert [version["episodes"] for version in evaluation["versions"]] == [1]
    assert evaluation["guided_left_out"] == 0


async def test_a_task_without_the_switch_gives_none_and_marks_nobody(service: Service) -> None:
    id = await opened(service, TASK)
    answer = await hints(service, id)
    assert answer.status_code == 409
    assert answer.json()["detail"].endswith("expected `hints: true` in it")
    assert (await service.get(f"/v1/episodes/{id}")).json()["guided"] is False


async def test_the_client_asks_with_a_token_of_the_scope(service: Service) -> None:
    id = await opened(service)
    tokens = service.app.state.parts.tokens
    for scope, is_allowed in (("hints", True), ("trainer", False)):
        _, token = await tokens.create(scope, "")
        async with AsyncRewardClient(
            "http://service", token, transport=httpx.ASGITransport(service.app)
        ) as client:
            if is_allowed:
                assert (await client.episode(id).hints()).guided
            else:
                with pytest.raises(ForbiddenError):
                    await client.episode(id).hints()
