"""Hints: what came nearest, for who may ask, where the task allows it; whoever asked is guided."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from milestoned_client import AsyncRewardClient, ForbiddenError

from tests.api.service import ADMIN, TASK, Service
from tests.support.logs import clicked, episode, went

HINTED = {**TASK, "id": "shop/hinted", "hints": True}


async def opened(service: Service, task: dict[str, Any] = HINTED, *, close: bool = False) -> str:
    """An episode in which the cart was reached and something else was clicked."""
    await service.post("/v1/tasks", task)
    answer = (await service.post("/v1/episodes", {"task": task["id"]})).json()
    said = episode([went("/cart")], [clicked("Buy later")], close=close)
    await service.tell(answer["episode"], answer["token"], *said)
    return str(answer["episode"])


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
    for _ in range(2):
        last = await opened(service, close=True)
    await hints(service, last)
    (progress,) = (await service.get("/v1/curriculum", params=query)).json()["tasks"]
    assert progress["episodes"] == episodes


async def test_evaluations_leave_guided_episodes_out_and_say_how_many(service: Service) -> None:
    for _ in range(3):
        last = await opened(service, close=True)
    await hints(service, last)
    await service.app.state.parts.checkpointer.turn(head=True)
    evaluation = (await service.get("/v1/reports/evaluation")).json()
    assert [version["episodes"] for version in evaluation["versions"]] == [2]
    assert evaluation["guided_left_out"] == 1


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
