"""Who may do what: every route (test_openapi.py holds that none is missing) with every kind of
token."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from api.auth.store import MADE
from api.core.errors import UnauthorizedError
from api.core.keys import token_hash
from api.db.base import metadata
from tests.api.service import ADMIN, TASK, Service, Store, running

OK = {
    "admin": True,
    "trainer": True,
    "tasks": False,
    "read": True,
    "metrics": False,
    "sandbox": False,
    "hints": False,
    "own": False,
    "other": False,
}
TRAIN = {**OK, "read": False}
NONE = dict.fromkeys(OK, False)
DAEMON = {**NONE, "own": True}
SANDBOX = {**NONE, "admin": True, "sandbox": True}

ALLOWED: dict[tuple[str, str], dict[str, bool]] = {
    ("POST", "/v1/rubrics:draft"): {**NONE, "admin": True, "tasks": True},
    ("POST", "/v1/tasks:propose"): {**NONE, "admin": True, "tasks": True},
    ("POST", "/v1/tasks:draft"): {**NONE, "admin": True, "tasks": True},
    ("POST", "/v1/tasks:confirm"): {**NONE, "admin": True, "tasks": True},
    ("POST", "/v1/tasks"): {**NONE, "admin": True, "tasks": True},
    ("GET", "/v1/tasks"): {**OK, "tasks": True},
    ("GET", "/v1/tasks/{id:path}"): {**OK, "tasks": True},
    ("GET", "/metrics"): {**NONE, "admin": True, "metrics": True},
    ("POST", "/v1/rescores"): {**NONE, "admin": True},
    ("GET", "/v1/rescores"): OK,
    ("GET", "/v1/rescores/{rescore}"): OK,
    ("GET", "/v1/rescores/{rescore}/episodes"): OK,
    ("DELETE", "/v1/rescores/{rescore}"): {**NONE, "admin": True},
    ("POST", "/v1/sandboxes"): SANDBOX,
    ("POST", "/v1/sandboxes/{sandbox}:beat"): SANDBOX,
    ("POST", "/v1/sandboxes/{sandbox}:leave"): SANDBOX,
    ("GET", "/v1/sandboxes"): OK,
    ("GET", "/v1/episodes/{episode}/sandbox"): OK,
    ("POST", "/v1/episodes"): TRAIN,
    ("POST", "/v1/episodes:heartbeat"): TRAIN,
    ("DELETE", "/v1/episodes/{episode}"): {**NONE, "admin": True},
    ("GET", "/v1/episodes/{episode}"): {**OK, "own": True},
    ("GET", "/v1/episodes/{episode}/plan"): {**OK, "own": True},
    ("GET", "/v1/episodes/{episode}/ready"): {**OK, "own": True},
    ("POST", "/v1/episodes/{episode}/events"): DAEMON,
    ("GET", "/v1/episodes/{episode}/commands"): DAEMON,
    ("GET", "/v1/episodes/{episode}/commands/stream"): DAEMON,
    ("POST", "/v1/episodes/{episode}/steps"): TRAIN,
    ("POST", "/v1/episodes/{episode}/steps/{step:int}:end"): TRAIN,
    ("POST", "/v1/episodes/{episode}/steps/{step:int}:advance"): TRAIN,
    ("POST", "/v1/episodes/{episode}/steps/{step:int}:seal"): TRAIN,
    ("POST", "/v1/episodes/{episode}/answers"): TRAIN,
    ("POST", "/v1/episodes/{episode}/evidence"): TRAIN,
    ("POST", "/v1/episodes/{episode}/tools:call"): TRAIN,
    ("POST", "/v1/episodes/{episode}/tools:return"): TRAIN,
    ("POST", "/v1/episodes/{episode}:close"): TRAIN,
    ("GET", "/v1/episodes/{episode}/steps/{step:int}/reward"): OK,
    ("POST", "/v1/rewards:query"): OK,
    ("POST", "/v1/score"): OK,
    ("POST", "/v1/groups:score"): OK,
    ("POST", "/v1/reward-model/preferences"): OK,
    ("GET", "/v1/episodes"): OK,
    ("GET", "/v1/curriculum"): OK,
    ("POST", "/v1/episodes:sample"): OK,
    ("POST", "/get_reward"): OK,
    ("POST", "/adapters/openrlhf/score"): OK,
    ("POST", "/adapters/slime/score"): OK,
    ("GET", "/v1/episodes/{episode}/events"): OK,
    ("GET", "/v1/episodes/{episode}/stream"): OK,
    ("GET", "/v1/stream"): OK,
    ("GET", "/v1/episodes/{episode}/trajectory"): OK,
    ("GET", "/v1/episodes/{episode}/blame"): OK,
    ("GET", "/v1/episodes/{episode}/start"): OK,
    ("GET", "/v1/episodes/{episode}/hints"): {**NONE, "admin": True, "hints": True},
    ("GET", "/v1/episodes/{episode}/verdicts"): OK,
    ("GET", "/v1/episodes/{episode}/recording"): OK,
    ("GET", "/v1/episodes/{episode}/screenshots/{sha256}"): OK,
    ("GET", "/v1/episodes/{episode}/steps/{step:int}/explanation"): OK,
    ("GET", "/v1/audit/verify"): OK,
    ("GET", "/v1/audit/checkpoints"): OK,
    ("GET", "/v1/audit/report"): OK,
    ("GET", "/v1/reports/health"): OK,
    ("GET", "/v1/reports/evaluation"): OK,
}
for place in ("/nemo", "/nemo/strict", "/nemo/ng-rollout/{rollout}"):
    ALLOWED |= {("POST", f"{place}/{name}"): TRAIN for name in ("reset", "step", "close")}
    ALLOWED |= {
        ("POST", f"{place}/{name}"): OK
        for name in ("seed_session", "verify", "close_session", "aggregate_metrics")
    }
    ALLOWED["GET", f"{place}/reverify_mode"] = OK
ALLOWED |= {
    ("GET", f"/ors/{path}"): OK
    for path in ("list_environments", "{environment}/tools", "{environment}/splits")
}
ALLOWED |= {
    ("POST", f"/ors/{{environment}}/{name}"): OK
    for name in ("tasks", "num_tasks", "task", "task_range")
}
ALLOWED |= {
    ("GET", f"/ors/{{environment}}/{name}"): TRAIN for name in ("prompt", "messages", "task_tools")
}
ALLOWED |= {
    ("POST", f"/ors/{name}"): TRAIN
    for name in (
        *("create_session", "create", "ping", "delete", "delete_session"),
        *("{environment}/call", "{environment}/score_group"),
    )
}
OPEN = {("GET", path) for path in ("/healthz", "/readyz", "/v1/schemas/task")}
OPEN |= {("GET", f"/openenv/{name}") for name in ("health", "metadata", "schema")}
OPEN |= {("GET", f"/ors/{name}") for name in ("health", "version")}


@pytest.mark.parametrize(
    ("method", "path"), [key for key in ALLOWED if not key[1].endswith("/stream")]
)
async def test_every_route_admits_only_its_scopes(service: Service, method: str, path: str) -> None:
    id, own = await service.open()
    _, other = await service.open()
    made = {scope: await service.app.state.parts.tokens.create(scope, "") for scope in MADE[1:]}
    held: dict[str, str] = {
        "admin": ADMIN,
        **{scope: token for scope, (_, token) in made.items()},
        "own": own,
        "other": other,
    }
    address = (
        path.replace("{episode}", id).replace("{step:int}", "0").replace("{id:path}", TASK["id"])
    )
    for name, token in held.items():
        body = {"json": {"wait_ms": 0}} if method == "POST" else {}
        status = (await service.call(method, address, token, **body)).status_code
        assert status < 500
        assert (status not in (401, 403)) == ALLOWED[method, path][name], (name, status)
    assert (await service.call(method, address, None)).status_code == 401
    unknown = await service.call(method, address, "mt_made-up")
    assert unknown.status_code == 401
    assert unknown.headers["www-authenticate"] == "Bearer"
    assert unknown.headers["content-type"] == "application/problem+json"


async def test_operators_routes_need_no_token(service: Service) -> None:
    for _, path in OPEN:
        assert (await service.get(path, None)).status_code == 200


async def test_a_revoked_token_opens_nothing_any_more(service: Service) -> None:
    id, token = await service.app.state.parts.tokens.create("read", "for a while")
    assert (await service.get("/v1/tasks", token)).status_code == 200
    assert await service.app.state.parts.tokens.revoke(id)
    assert (await service.get("/v1/tasks", token)).status_code == 401
    assert not await service.app.state.parts.tokens.revoke(id)


async def test_a_token_revoked_by_another_process_ends_within_the_cache_time(store: Store) -> None:
    async with running(store, token_cache_s=0) as one, running(store) as other:
        id, token = await other.app.state.parts.tokens.create("read", "")
        assert (await one.get("/v1/tasks", token)).status_code == 200
        assert await other.app.state.parts.tokens.revoke(id)
        assert (await one.get("/v1/tasks", token)).status_code == 401


def questions(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements with which the service looks at tokens from now on."""
    asked: list[str] = []
    database = service.app.state.parts.database
    first, rows = database.first, database.all

    def note(statement: Any) -> None:
        if "FROM tokens" in str(statement):
            asked.append(str(statement))

    async def first_of(statement: Any, values: Any = None) -> Any:
        note(statement)
        return await first(statement, values)

    async def all_of(statement: Any, values: Any = None) -> Any:
        note(statement)
        return await rows(statement, values)

    monkeypatch.setattr(database, "first", first_of)
    monkeypatch.setattr(database, "all", all_of)
    return asked


async def test_of_many_tokens_in_use_the_revoked_ones_end_and_one_question_tells_which(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever else is remembered stays known, and is not asked about one by one."""
    async with running(store, token_cache_s=0) as one, running(store) as other:
        tokens = other.app.state.parts.tokens
        made = [await tokens.create("read", "") for _ in range(9)]
        for _, token in made:
            assert (await one.get("/v1/tasks", token)).status_code == 200
        revoked = [id for id, _ in made[::4]]
        for id in revoked:
            assert await tokens.revoke(id)
        known = one.app.state.parts.tokens
        asked = questions(one, monkeypatch)
        known._cache_s = 3_600.0
        known._confirmed_at -= 3_600.0
        for id, token in made:
            if id not in revoked:
                assert (await known.principal(token)).id == id
        assert len(asked) == 1
        for _, token in made[::4]:
            with pytest.raises(UnauthorizedError):
                await known.principal(token)


async def test_a_token_that_is_revoked_while_it_is_looked_up_is_not_remembered(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call that looked it up came before; the next one comes after."""
    tokens, database = service.app.state.parts.tokens, service.app.state.parts.database
    id, token = await tokens.create("read", "")
    look, is_read, is_revoked = database.first, asyncio.Event(), asyncio.Event()

    async def look_slowly(statement: Any, values: Any = None) -> Any:
        found = await look(statement, values)
        if values is not None and values.get("hash") == token_hash(token):
            is_read.set()
            await is_revoked.wait()
        return found

    monkeypatch.setattr(database, "first", look_slowly)
    before = asyncio.create_task(tokens.principal(token))
    await is_read.wait()
    assert await tokens.revoke(id)
    is_revoked.set()
    assert (await before).id == id
    with pytest.raises(UnauthorizedError):
        await tokens.principal(token)


async def test_a_token_that_nobody_used_for_a_while_is_looked_up_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is forgotten, which whoever holds it does not notice."""
    monkeypatch.setattr("api.auth.store._KEPT_S", 0.0)
    async with running(store, token_cache_s=0) as service:
        tokens = service.app.state.parts.tokens
        id, token = await tokens.create("read", "")
        asked = questions(service, monkeypatch)
        for _ in range(3):
            assert (await tokens.principal(token)).id == id
        assert [statement.count("tokens.hash = ") for statement in asked] == [1, 1, 1]


async def test_no_token_is_stored_in_clear(service: Service, store: Store) -> None:
    for key in ({}, {"idempotency-key": "k"}):
        opened = await service.post("/v1/tasks", TASK)
        opened = await service.post("/v1/episodes", {"task": TASK["id"]}, headers=key)
        _, token = await service.app.state.parts.tokens.create("read", "")
        stored = await stored_bytes(service, store)
        for secret in (opened.json()["token"], token, ADMIN):
            assert secret.encode() not in stored
    assert opened.json()["episode"].encode() in stored


async def stored_bytes(service: Service, store: Store) -> bytes:
    """Everything in the database's tables, and in its files where it has some of its own."""
    cells: list[Any] = []
    for table in metadata.sorted_tables:
        for row in await service.app.state.parts.database.all(select(table)):
            cells.extend(row)
    told = b"\n".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells)
    return told + b"".join(path.read_bytes() for path in store.folder.glob("milestoned.db*"))
