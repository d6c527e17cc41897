"""Stored episodes scored again, by the service in the background and by the command: what was paid
stays."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import select, text, update

from api.auth.store import Terms
from api.episodes.tables import episodes
from api.rescoring.background import Rescorer
from api.rewards.tables import rewards
from tests.api.service import TASK, Service, Store, eventually, running
from tests.rescoring.corpus import changed, rescore, said, written

COUNT = 7
NOWHERE = changed(cart={"url_reached": {"url": "/nowhere"}})


async def closed(service: Service, count: int = COUNT, **labels: Any) -> list[str]:
    """Ids of closed episodes, in the order of their ids."""
    assert (await service.post("/v1/tasks", TASK)).status_code in (200, 201)
    ids = []
    for n in range(count):
        opened = (
            await service.post("/v1/episodes", {"task": TASK["id"], "labels": {"n": n, **labels}})
        ).json()
        await service.tell(opened["episode"], opened["token"], *said(n), sizes=[4])
        ids.append(opened["episode"])
    return sorted(ids)


async def done(service: Service, id: str) -> dict[str, Any]:
    """The rescore, once it is done."""
    told: dict[str, Any] = {}

    async def is_done() -> bool:
        told.update((await service.get(f"/v1/rescores/{id}")).json())
        return bool(told["status"] == "done")

    await eventually(is_done)
    return told


async def asked(service: Service, body: dict[str, Any]) -> str:
    answer = await service.post("/v1/rescores", body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["rescore"])


async def results(service: Service, id: str, **query: Any) -> list[dict[str, Any]]:
    """All finished episodes, page by page."""
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = (
            await service.get(
                f"/v1/rescores/{id}/episodes", params={"after": after, "limit": 3, **query}
            )
        ).json()
        found += page["episodes"]
        after = page["next"]
    return found


async def paid(service: Service, ids: list[str]) -> list[bytes]:
    return [(await service.get(f"/v1/episodes/{id}/trajectory")).content for id in ids]


async def test_the_same_rules_give_the_rewards_that_were_paid(service: Service) -> None:
    ids = await closed(service)
    told = await done(service, await asked(service, {}))
    assert (told["episodes"], told["scored"], told["summary"]["same"]) == (COUNT, COUNT, COUNT)
    assert told["finished_at"]
    found = await results(service, told["rescore"])
    assert [one["episode"] for one in found] == ids
    for one in found:
        for reward in one["result"]["rewards"]:
            assert (await service.reward(one["episode"], reward["step"])).content == orjson.dumps(
                reward, option=orjson.OPT_SORT_KEYS
            )


async def test_a_changed_task_gives_a_result_beside_the_one_that_was_paid(service: Service) -> None:
    ids = await closed(service)
    before = await paid(service, ids)
    told = await done(service, await asked(service, {"task": NOWHERE}))
    summary = told["summary"]
    assert summary["changed"] == COUNT
    assert summary["milestones"]["cart"] == {"lost": COUNT}
    assert await paid(service, ids) == before
    found = await results(service, told["rescore"], status="changed")
    assert {(one["old"]["ruleset"], one["new"]["ruleset"]) for one in found} == {
        tuple(summary["rulesets"][0])
    }
    lost = found[0]["differences"]["steps"][0]["milestones"][0]
    assert (lost["id"], lost["change"], lost["new"]) == ("cart", "lost", None)
    assert "page.navigated" in found[0]["evidence"][str(lost["old"]["evidence"][0])]
    assert await results(service, told["rescore"], status="same") == []


async def test_a_registered_version_and_a_selection(service: Service) -> None:
    ids = await closed(service, 3, policy="a") + await closed(service, 2, policy="b")
    assert (await service.post("/v1/tasks", NOWHERE)).status_code == 201
    body = {
        "registered": {"id": TASK["id"], "version": "2"},
        "select": {"labels": {"policy": "b"}, "version": "1"},
    }
    told = await done(service, await asked(service, body))
    assert [one["episode"] for one in await results(service, told["rescore"])] == sorted(ids[3:])
    assert told["summary"]["changed"] == 2
    one = await done(
        service, await asked(service, {"task": NOWHERE, "select": {"episodes": [ids[1]]}})
    )
    assert [r["episode"] for r in await results(service, one["rescore"])] == [ids[1]]
    listed = (await service.get("/v1/rescores")).json()["rescores"]
    assert [row["rescore"] for row in listed] == [one["rescore"], told["rescore"]]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a bad task": ({"task": {"id": "x"}}, "task: "),
    "both": ({"task": NOWHERE, "registered": {"id": "x"}}, "registered: wanted either it or task"),
    "nothing chosen": ({"select": {"task": "nowhere"}}, "select: no closed episode"),
    "an unknown id": (
        {"select": {"episodes": ["ep_nobody"]}},
        "select.episodes: ep_nobody is no closed episode",
    ),
    "an unknown member": ({"model": "x"}, "model"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_asked_wrong_is_refused_and_nothing_is_written(
    service: Service, case: str
) -> None:
    await closed(service, 1)
    body, says = REFUSED[case]
    answer = await service.post("/v1/rescores", body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert await service.rows("rescores") == 0


async def test_a_task_may_be_as_long_as_where_tasks_are_registered(service: Service) -> None:
    """And not as long as the body, which is four times that."""
    await closed(service, 1)
    long = {**TASK, "instruction": "x" * service.app.state.parts.settings.limits.task_bytes}
    answer = await service.post("/v1/rescores", {"task": long})
    assert (answer.status_code, answer.json()["detail"].startswith("task: ")) == (413, True), (
        answer.text
    )
    assert (await service.get("/v1/rescores")).json() == {"rescores": []}


async def test_an_open_episode_and_too_many_are_refused(store: Store) -> None:
    async with running(store, rescore_episodes=2) as service:
        open_id, _ = await service.open()
        answer = await service.post("/v1/rescores", {"select": {"episodes": [open_id]}})
        assert answer.status_code == 422
        await closed(service, 3)
        answer = await service.post("/v1/rescores", {})
        assert "more than 2 closed episodes" in answer.json()["detail"]
        assert await service.rows("rescored") == 0


async def test_one_tenant_neither_sees_nor_rescores_anothers(service: Service) -> None:
    ids = await closed(service, 1)
    id = await asked(service, {})
    _, stranger = await service.app.state.parts.tokens.create("admin", "", Terms("other"))
    for path in (f"/v1/rescores/{id}", f"/v1/rescores/{id}/episodes"):
        assert (await service.get(path, stranger)).status_code == 404
    assert (await service.call("DELETE", f"/v1/rescores/{id}", stranger)).status_code == 404
    assert (await service.get("/v1/rescores", stranger)).json() == {"rescores": []}
    for body in ({}, {"select": {"episodes": ids}}):
        assert (await service.post("/v1/rescores", body, stranger)).status_code == 422
    await done(service, id)


async def test_the_same_key_begins_one_rescore(service: Service) -> None:
    await closed(service, 1)
    first, second = [
        (await service.post("/v1/rescores", {}, headers={"idempotency-key": "k"})).json()["rescore"]
        for _ in range(2)
    ]
    assert first == second
    assert await service.rows("rescores") == 1
    await done(service, first)


async def test_a_removed_rescore_is_gone_and_what_was_paid_is_not(service: Service) -> None:
    ids = await closed(service, 2)
    before = await paid(service, ids)
    id = await asked(service, {"task": NOWHERE})
    assert (await service.call("DELETE", f"/v1/rescores/{id}")).status_code == 204
    assert (await service.get(f"/v1/rescores/{id}")).status_code == 404
    assert await service.rows("rescored") == 0
    assert await paid(service, ids) == before


async def test_more_than_enough_at_once_has_to_wait(service: Service) -> None:
    await closed(service, 1)
    await service.app.state.parts.rescorer.stop()
    answers = [await service.post("/v1/rescores", {}) for _ in range(17)]
    assert [answer.status_code for answer in answers] == [201] * 16 + [429]
    assert answers[-1].headers["retry-after"]


async def test_a_rescore_survives_its_service(store: Store) -> None:
    """Stopped with a rescore in the queue and one half done, started again: both get done, with the
    same results."""
    async with running(store) as service:
        ids = await closed(service, 40)
        id = await asked(service, {"task": NOWHERE})

        async def begun() -> bool:
            return bool((await service.get(f"/v1/rescores/{id}")).json()["scored"])

        await eventually(begun)
        later = await asked(service, {"task": NOWHERE})
    async with running(store) as service:
        service.app.state.parts.rescorer._pulse._lost_s = (
            0.0  # of a replica that will not come back
        )
        first, second = [await done(service, one) for one in (id, later)]
        assert first["summary"] == second["summary"]
        assert first["scored"] == len(ids)
        a, b = [await results(service, one) for one in (id, later)]
        assert a == b


@pytest.mark.slow
async def test_of_two_replicas_one_result(store: Store) -> None:
    """Both work on all of it: whoever was outrun writes nothing."""
    async with running(store) as one, running(store) as other:
        await closed(one, 40)
        assert {type(app.app.state.parts.rescorer) for app in (one, other)} == {Rescorer}
        found = [await done(one, await asked(app, {"task": NOWHERE})) for app in (one, other)]
        assert found[0]["summary"] == found[1]["summary"]
        assert [row["scored"] for row in found] == [40, 40]


async def test_a_worker_that_dies_fails_no_episode(service: Service) -> None:
    await closed(service, 40)
    id = await asked(service, {})
    rescorer = service.app.state.parts.rescorer

    async def working() -> bool:
        return rescorer._pool is not None and bool(rescorer._pool._processes)

    await eventually(working)
    os.kill(next(iter(rescorer._pool._processes)), signal.SIGKILL)
    assert (await done(service, id))["summary"]["same"] == 40


async def test_a_fault_ends_no_rescoring(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again, with nobody asking."""
    parts = service.app.state.parts
    monkeypatch.setattr(parts.rescorer.periodic, "retry_s", 0.01)
    take, failed = parts.rescores.take, 0

    async def fails_twice(row: Any, me: str) -> bool:
        nonlocal failed
        failed += 1
        if failed <= 2:
            raise RuntimeError("a fault of ours")
        return bool(await take(row, me))

    monkeypatch.setattr(parts.rescores, "take", fails_twice)
    await closed(service, 2)
    assert (await done(service, await asked(service, {})))["scored"] == 2
    assert failed == 3


async def test_a_changed_reward_in_the_database_is_a_difference(service: Service) -> None:
    """The stored side is what was stored, not what could be worked out again."""
    (id,) = await closed(service, 1)
    database = service.app.state.parts.database
    row = await database.first(select(rewards.c.body).where(rewards.c.step == 1))
    edited = orjson.dumps({**orjson.loads(row.body), "reward": 9.0})
    async with database.write() as conn:
        await conn.execute(update(rewards).where(rewards.c.step == 1).values(body=edited))
    told = await done(service, await asked(service, {}))
    (one,) = await results(service, told["rescore"], status="changed")
    assert one["episode"] == id
    assert one["differences"]["steps"][0]["fields"] == {"reward": [9.0, 0.1]}


@pytest.fixture
async def stored(store: Store) -> tuple[Store, list[str]]:
    async with running(store) as service:
        ids = await closed(service, policy="a")
    return store, ids


def place(store: Store) -> list[str]:
    return ["--data", str(store.folder), *(["--database", store.url] if store.url else [])]


async def test_the_command_over_stored_episodes(
    stored: tuple[Store, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, ids = stored
    new, out = written(tmp_path / "new.yaml", NOWHERE), tmp_path / "out.jsonl"
    run = [*place(store), "--stored", "--workers", "1"]
    assert await asyncio.to_thread(rescore, *run) == 0
    assert capsys.readouterr().out == f"{COUNT} episodes: {COUNT} the same\n"
    assert await asyncio.to_thread(rescore, *run, "--task", new, "--out", out) == 1
    assert [orjson.loads(line)["episode"] for line in out.read_bytes().splitlines()[1:]] == ids
    assert capsys.readouterr().out.endswith(f"{COUNT} episodes: {COUNT} changed\n")
    assert (
        await asyncio.to_thread(
            rescore, *run, "--task", new, "--episode", ids[0], "--label", "policy=a"
        )
        == 1
    )
    assert capsys.readouterr().out.endswith("1 episode: 1 changed\n")
    assert await asyncio.to_thread(rescore, *run, "--task", new, "--label", "n=99") == 2
    assert "no closed episode" in capsys.readouterr().err


async def test_a_row_without_a_log_is_no_silent_zero(service: Service) -> None:
    """An episode whose segments are gone can't be scored, and says so."""
    await closed(service, 1)
    database = service.app.state.parts.database
    async with database.write() as conn:
        await conn.execute(text("DELETE FROM segments"))
    told = await done(service, await asked(service, {}))
    assert told["summary"]["failed"] == 1
    (one,) = await results(service, told["rescore"], status="failed")
    assert "the file is empty" in one["error"]
    assert await service.rows(episodes.name) == 1
