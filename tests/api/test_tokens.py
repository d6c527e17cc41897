"""Tokens end, are taken back and have rates; what is asked has a size."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from sqlalchemy import text

from api.auth.rates import Buckets
from api.auth.store import Terms
from tests.api.processes import milestoned
from tests.api.service import ADMIN, TASK, Service, Store, frames, running
from tests.api.service import events as numbered
from tests.support.logs import clicked, episode, went

DAY_S = 86_400


async def made(service: Service, scope: Any = "read", **terms: Any) -> tuple[str, str]:
    """A token's id and itself."""
    id, token = await service.app.state.parts.tokens.create(scope, "of a test", Terms(**terms))
    return str(id), str(token)


async def test_a_token_ends_on_its_day(store: Store) -> None:
    async with running(store, token_cache_s=3600.0) as service:
        _, ended = await made(service, days=-1 / DAY_S)
        _, lasting = await made(service, days=30)
        assert (await service.get("/v1/tasks", ended)).status_code == 401
        assert (await service.get("/v1/tasks", lasting)).status_code == 200


async def test_no_cache_outlasts_a_token(store: Store) -> None:
    async with running(store, token_cache_s=3600.0) as service:
        _, token = await made(service, days=1.5 / DAY_S)
        assert (await service.get("/v1/tasks", token)).status_code == 200
        while (await service.get("/v1/tasks", token)).status_code == 200:
            pass  # it ends by itself, or this never does


async def test_when_a_token_was_used_is_known(service: Service) -> None:
    tokens = service.app.state.parts.tokens
    id, token = await made(service)
    assert {row.id: row.last_used for row in await tokens.listed()}[id] is None
    await service.get("/v1/tasks", token)
    await tokens.note_uses()
    assert {row.id: row.last_used for row in await tokens.listed()}[id] is not None


async def test_a_daemons_token_is_found_by_its_episode_and_taken_back(service: Service) -> None:
    tokens = service.app.state.parts.tokens
    id, token = await service.open()
    (row,) = await tokens.listed(id)
    assert (await service.get(f"/v1/episodes/{id}/plan", token)).status_code == 200
    assert await tokens.revoke(row.id)
    assert (await service.get(f"/v1/episodes/{id}/plan", token)).status_code == 401


async def test_a_token_that_calls_too_fast_is_asked_to_wait(store: Store) -> None:
    async with running(store, burst_s=1.0) as service:
        _, token = await made(service, requests_per_s=0.01)
        answers = [await service.get("/v1/tasks", token) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]
        assert answers[1].json()["type"] == "urn:milestoned:problem:too-many"
        assert 90 <= int(answers[1].headers["retry-after"]) <= 100
        assert (await service.get("/v1/tasks", ADMIN)).status_code == 200


async def test_a_token_that_appends_too_fast_is_asked_to_wait_and_nothing_is_lost(
    store: Store,
) -> None:
    said = episode([went("/cart")], [clicked("Buy")])
    async with running(store, bytes_per_s=1.0, burst_s=1.0) as service:
        id, token = await service.open()
        first, second = frames(numbered(id, *said), [3])
        assert (await service.append(id, first, token)).status_code == 200
        refused = await service.append(id, second, token)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= len(first) - 2
        assert (await service.get(f"/v1/episodes/{id}", token)).json()["through"] == 3
    async with running(store) as service:
        assert (await service.append(id, second, token)).status_code == 200


def test_a_bucket_holds_a_burst_refills_and_lends() -> None:
    now = 0.0
    buckets = Buckets(burst_s=2.0, clock=lambda: now)
    for _ in range(11):
        assert buckets.wait("a") == 0.0
        buckets.take("a", 1, per_s=5)
    assert buckets.wait("a") == pytest.approx(0.2)
    assert buckets.wait("b") == 0.0
    now = 0.2
    assert buckets.wait("a") == pytest.approx(0.0)
    buckets.take("a", 50, per_s=5)
    assert math.isclose(buckets.wait("a"), 10.0)
    now = 1_000.0
    assert buckets.wait("a") == 0.0


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        ({f"l{n}": n for n in range(65)}, "labels"),
        ({"x" * 129: 1}, f"labels.{'x' * 129}"),
        ({"policy": "x" * 1_025}, "labels.policy"),
        ({"policy": ["v1"]}, "labels.policy"),
        ({"": 1}, "labels."),
    ],
)
async def test_labels_have_a_size_and_are_refused_by_name(
    service: Service, labels: Any, path: str
) -> None:
    await service.post("/v1/tasks", TASK)
    answer = await service.post("/v1/episodes", {"task": TASK["id"], "labels": labels})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"].startswith(path)
    assert await service.rows("episodes") == 0


async def test_bodies_batches_and_tasks_have_a_size(store: Store) -> None:
    async with running(store, body_bytes=200, task_bytes=1_000) as service:
        task = await service.post("/v1/tasks", {**TASK, "instruction": "x" * 1_000})
        assert (task.status_code, task.json()["type"]) == (413, "urn:milestoned:problem:too-large")
        assert "wanted at most 1000" in task.json()["detail"]
        assert (await service.post("/v1/tasks", TASK)).status_code == 201
        long = await service.post("/v1/score", {"samples": [], "fold": "x" * 200})
        assert (long.status_code, "wanted at most 200" in long.json()["detail"]) == (413, True)
    async with running(store) as service:
        items = [{"episode": "ep_x", "step": 0}] * 1_001
        batch = await service.post("/v1/rewards:query", {"items": items})
        assert (batch.status_code, batch.json()["errors"][0]["path"]) == (422, "items")


@pytest.mark.parametrize("bad", ["ep_%00", "ep_%C3%BC", "%25"])
async def test_ids_of_strange_letters_are_not_there(service: Service, bad: str) -> None:
    assert (await service.get(f"/v1/episodes/{bad}")).status_code == 404
    assert (await service.post("/v1/episodes", {"task": unquote(bad)})).status_code in (404, 422)


def test_tokens_are_made_for_a_tenant_and_a_time(tmp_path: Path) -> None:
    made = milestoned(
        tmp_path, *"token create trainer --tenant team-a --expires 30d --requests-per-s 50".split()
    )
    assert made.returncode == 0, made.stderr
    listed = milestoned(tmp_path, "token", "list").stdout
    assert "team-a" in listed
    assert "expires 20" in listed
    assert "not used yet" in listed
    for wrong in (
        ["--tenant", "Team A"],
        ["--expires", "0d"],
        ["--expires", "soon"],
        ["--label", "first admin"],
    ):
        refused = milestoned(tmp_path, "token", "create", "read", *wrong)
        assert (refused.returncode, wrong[0] in refused.stderr) == (2, True)


async def test_what_was_there_before_tenants_is_the_operators(store: Store) -> None:
    async with running(store) as service:
        await service.open()
        owners = await service.app.state.parts.database.all(
            text("SELECT tenant FROM tasks UNION SELECT tenant FROM episodes")
        )
        assert [row.tenant for row in owners] == ["default"]
