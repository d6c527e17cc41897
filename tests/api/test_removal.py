"""A deleted episode: nothing of it is left but a signed statement, and everybody is told so by
name."""

from __future__ import annotations

import asyncio
import base64
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from api.cli.common import hold_file
from api.core.signing import Signer, verify
from api.db.database import now
from api.episodes.partitions import Partitions, today
from api.episodes.tombstones import PREAMBLE, find, is_genuine
from detectors.model.codec import canonical
from tests.api.processes import milestoned
from tests.api.service import TASK, Service, Store, events, frames, running, until
from tests.support.logs import clicked, episode, went

SAID = episode([went("/cart")], [clicked("Buy")])
LEFT = (
    "segments",
    "steps",
    "milestones",
    "rewards",
    "commands",
    "engine_states",
    "closings",
    "packings",
    "episode_facts",
    "trace_exports",
    "start_states",
)


async def deleted(service: Service, id: str, reason: str = "asked for") -> dict[str, Any]:
    answer = await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": reason})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def opened(service: Service, **more: Any) -> str:
    """A closed episode with these labels."""
    await service.post("/v1/tasks", TASK)
    said = (await service.post("/v1/episodes", {"task": TASK["id"], **more})).json()
    await service.tell(said["episode"], said["token"], *SAID)
    return str(said["episode"])


async def test_what_is_left_is_a_statement_that_the_services_key_signed(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    before = (await service.get(f"/v1/episodes/{id}")).json()
    said = await deleted(service, id, "a person asked")
    told = said["tombstone"]
    assert {
        name: told[name] for name in ("episode", "task", "digest", "through", "head", "closed_at")
    } == {
        name: before[name] for name in ("episode", "task", "digest", "through", "head", "closed_at")
    }
    assert told["reason"] == "a person asked"
    assert told["deleted_by"].startswith("tok_")
    signer: Signer = service.app.state.parts.signer
    assert base64.b64decode(said["key"]) == signer.public
    assert verify(signer.public, PREAMBLE + canonical(told), base64.b64decode(said["signature"]))
    for table in LEFT:
        assert await service.rows(table) == 0, table


async def test_a_changed_tombstone_is_found(service: Service) -> None:
    parts = service.app.state.parts
    id, _ = await service.open()
    await deleted(service, id)
    assert is_genuine(await find(parts.database, id), parts.signer.public)
    async with parts.database.write() as conn:
        body = canonical(
            {**(await deleted(service, id))["tombstone"], "reason": "nothing happened"}
        )
        await conn.execute(text("UPDATE tombstones SET body = :body"), {"body": body})
    assert not is_genuine(await find(parts.database, id), parts.signer.public)


ASKED: dict[str, tuple[str, str]] = {
    "where it stands": ("GET", ""),
    "events": ("GET", "/events"),
    "the stream": ("GET", "/stream"),
    "a reward": ("GET", "/steps/0/reward"),
    "the recording": ("GET", "/recording"),
    "the trajectory": ("GET", "/trajectory"),
    "a step": ("POST", "/steps"),
    "its close": ("POST", ":close"),
}


@pytest.mark.parametrize("case", ASKED)
async def test_whoever_asks_is_told_410_with_the_tombstone(service: Service, case: str) -> None:
    method, path = ASKED[case]
    id = await opened(service)
    assert (await service.reward(id, 0)).status_code == 200, "it is remembered"
    said = await deleted(service, id)
    answer = await service.call(method, f"/v1/episodes/{id}{path}")
    assert answer.status_code == 410, answer.text
    problem = answer.json()
    assert problem["type"] == "urn:milestoned:problem:gone"
    assert {name: problem[name] for name in said} == said
    assert id in problem["detail"]


async def test_its_daemon_is_told_too(service: Service) -> None:
    id, token = await service.open()
    await deleted(service, id)
    assert (await service.append(id, frames(events(id, *SAID))[0], token)).status_code == 410
    assert (await service.get(f"/v1/episodes/{id}/plan", token)).status_code == 410


async def test_deleting_again_gives_the_same_statement(service: Service) -> None:
    id = await opened(service)
    first = await deleted(service, id, "first")
    assert await deleted(service, id, "second") == first


async def test_it_is_not_opened_again_by_the_key_that_opened_it(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    key = {"idempotency-key": "one"}
    made = await service.post("/v1/episodes", {"task": TASK["id"]}, headers=key)
    said = await deleted(service, made.json()["episode"])
    again = await service.post("/v1/episodes", {"task": TASK["id"]}, headers=key)
    assert (again.status_code, again.json()["tombstone"]) == (410, said["tombstone"])


@pytest.mark.parametrize("reason", ["", "x" * 501])
async def test_a_reason_is_wanted(service: Service, reason: str) -> None:
    id = await opened(service)
    assert (
        await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": reason})
    ).status_code == 422
    assert (await service.get(f"/v1/episodes/{id}")).status_code == 200


async def test_nobody_deletes_but_an_admin(service: Service) -> None:
    id, token = await service.open()
    answer = await service.call("DELETE", f"/v1/episodes/{id}", token, params={"reason": "mine"})
    assert answer.status_code == 403
    assert (
        await service.call("DELETE", "/v1/episodes/ep_no", params={"reason": "x"})
    ).status_code == 404


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_another_replica_forgets_what_it_remembered(store: Store) -> None:
    async with running(store) as one, running(store) as other:
        id = await opened(one)
        assert (await other.reward(id, 0)).status_code == 200
        gone = other.app.state.parts.notifier.watch(("gone", ""))
        await deleted(one, id)
        await gone.wait()
        assert (await other.reward(id, 0)).status_code == 410


async def test_what_a_service_is_told_to_keep_is_all_that_it_keeps(store: Store) -> None:
    async with running(store) as service:
        old, new, open_ = await opened(service), await opened(service), (await service.open())[0]
        parts = service.app.state.parts
        async with parts.database.write() as conn:
            await conn.execute(
                text("UPDATE episodes SET closed_at = :then WHERE id = :id"),
                {"then": now(-timedelta(days=31)), "id": old},
            )
        parts.upkeep._keep_days = 30.0
        await parts.upkeep.once()
        stood = [(await service.get(f"/v1/episodes/{id}")).status_code for id in (old, new, open_)]
        assert stood == [410, 200, 200]
        told = (await service.get(f"/v1/episodes/{old}")).json()["tombstone"]
        assert (told["reason"], told["deleted_by"]) == ("kept for 30 days", "retention")


def _prune(store: Store, folder: Path, *more: str) -> tuple[int, str]:
    where = ["--data", str(store.folder), *(["--database", store.url] if store.url else [])]
    done = milestoned(folder, "db", "prune", *where, "--older-than", "1h", *more)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow_where("sqlite")
async def test_pruning_by_hand_takes_the_old_with_the_label_and_names_them_first(
    store: Store, tmp_path: Path
) -> None:
    async with running(store) as service:
        wanted, other = (
            await opened(service, labels={"run": "a"}),
            await opened(service, labels={"run": "b"}),
        )
        abandoned, _ = await service.open()
        async with service.app.state.parts.database.write() as conn:
            then = {"then": now(-timedelta(hours=2))}
            await conn.execute(text("UPDATE episodes SET opened_at = :then"), then)
            await conn.execute(
                text("UPDATE episodes SET closed_at = :then WHERE closed_at IS NOT NULL"), then
            )
    code, told = _prune(store, tmp_path, "--label", "run=a", "--dry-run")
    assert (code, wanted in told, other in told) == (0, True, False)
    code, told = _prune(store, tmp_path, "--label", "run=a")
    assert (code, "1 episodes were deleted" in told) == (0, True), told
    async with running(store) as service:
        stood = [
            (await service.get(f"/v1/episodes/{id}")).status_code
            for id in (wanted, other, abandoned)
        ]
        assert stood == [410, 200, 200]
    code, told = _prune(store, tmp_path, "--abandoned")
    assert (code, "2 episodes were deleted" in told) == (0, True), told


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_pruning_beside_a_service_on_sqlite_is_refused(store: Store, tmp_path: Path) -> None:
    database = store.folder / "milestoned.db"
    database.touch()
    assert hold_file(database) is not None
    code, told = _prune(store, tmp_path)
    assert (code, "a service works here" in told) == (2, True)


POSTGRES = pytest.mark.parametrize("store", ["postgres"], indirect=True)


@POSTGRES
async def test_partitions_are_there_before_they_are_needed(service: Service) -> None:
    assert await Partitions(service.app.state.parts.database).days() == [
        today(),
        today() + timedelta(days=1),
    ]


@POSTGRES
async def test_many_ask_for_a_day_at_once_and_it_is_made_once(store: Store) -> None:
    async with running(store) as one, running(store) as other:
        days = [date(2031, 12, 31), date(2032, 1, 1)]
        all_ = [Partitions(service.app.state.parts.database) for service in (one, other) * 3]
        await asyncio.gather(*(each.ready(day) for each in all_ for day in days))
        assert (await all_[0].days())[-2:] == days


async def test_a_fault_ends_no_upkeep(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next round comes, and does all of it."""
    parts = service.app.state.parts
    await parts.upkeep.stop()
    monkeypatch.setattr(parts.upkeep.periodic, "retry_s", 0.01)
    drop, rounds = parts.removal.drop_empty, 0

    async def fails_once() -> list[date]:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise RuntimeError("a fault of ours")
        return list(await drop())

    monkeypatch.setattr(parts.removal, "drop_empty", fails_once)
    id = await opened(service)
    async with parts.database.write() as conn:
        await conn.execute(
            text("UPDATE episodes SET closed_at = :then WHERE id = :id"),
            {"then": now(-timedelta(days=31)), "id": id},
        )
    parts.upkeep._keep_days = 30.0
    await parts.upkeep.start()
    await until(lambda: rounds == 2)
    assert (await service.get(f"/v1/episodes/{id}")).status_code == 410


@POSTGRES
async def test_a_days_partitions_are_dropped_once_none_of_its_episodes_is_left(
    store: Store,
) -> None:
    async with running(store) as service:
        parts = service.app.state.parts
        await parts.upkeep.stop()  # its first round would drop them before we do
        empty, full = date(2020, 2, 28), date(2020, 2, 29)
        for day in (empty, full):
            await Partitions(parts.database).ready(day)
        id = await opened(service)
        old = f"ep_{full:%Y%m%d}{id[11:]}"
        async with parts.database.write() as conn:
            await conn.execute(
                text("INSERT INTO steps (episode, step, began) VALUES (:id, 0, 1)"), {"id": old}
            )
        assert await parts.removal.drop_empty() == [empty]
        async with parts.database.write() as conn:
            await conn.execute(text("DELETE FROM steps WHERE episode = :id"), {"id": old})
        assert await parts.removal.drop_empty() == [full]
        assert await Partitions(parts.database).days() == [today(), today() + timedelta(days=1)]


@POSTGRES
async def test_a_query_by_episode_reads_one_days_partition_alone(store: Store) -> None:
    async with running(store) as service:
        id = await opened(service)
        plan = await service.app.state.parts.database.all(
            text("EXPLAIN SELECT frame FROM segments WHERE episode = :id AND first > 0"), {"id": id}
        )
        said = "\n".join(row[0] for row in plan)
        assert f"segments_{today():%Y%m%d}" in said
        assert f"segments_{today() + timedelta(days=1):%Y%m%d}" not in said
