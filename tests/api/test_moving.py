"""`milestoned db move`: everything comes over, the chain is whole, and a copy that differs is not
kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from api.core.settings import Settings
from api.db.database import Database
from api.service.copy import MoveError, move
from tests.api.processes import milestoned
from tests.api.service import TASK, Service, Store, events, frames, running
from tests.support.logs import clicked, episode, went
from tests.support.postgres import Postgres, needs_postgres

pytestmark = needs_postgres
SAID = episode([went("/cart")], [clicked("Buy")])


@pytest.fixture(params=["to postgres", "to sqlite"])
def stores(
    request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres
) -> tuple[Store, Store]:
    """Where it is and where it shall go; the secrets are the same."""
    ways = Store(tmp_path / "one"), Store(tmp_path / "other", postgres.database())
    return ways if request.param == "to postgres" else (ways[1], ways[0])


def _database(store: Store) -> Database:
    return Database(Settings(store.folder, store.url).database)


async def _moved(source: Store, target: Store) -> list[str]:
    one, other = _database(source), _database(target)
    try:
        return [line async for line in move(one, other)]
    finally:
        await one.close()
        await other.close()


async def _filled(service: Service) -> tuple[str, str, str, str]:
    """A closed episode, an open one with its token, and a deleted one."""
    closed, token = await service.open()
    await service.tell(closed, token, *SAID, sizes=[2, 2])
    open_, token = await service.open()
    assert (
        await service.append(open_, frames(events(open_, *SAID), [3])[0], token)
    ).status_code == 200
    gone, _ = await service.open()
    assert (
        await service.call("DELETE", f"/v1/episodes/{gone}", params={"reason": "x"})
    ).status_code == 200
    return closed, open_, token, gone


async def _seen(service: Service, *ids: str) -> list[Any]:
    paths = [
        f"/v1/episodes/{id}{what}"
        for id in ids
        for what in ("", "/events", "/recording", "/steps/0/reward")
    ]
    return [
        (answer.status_code, answer.content)
        for answer in [await service.get(path) for path in paths]
    ]


async def test_everything_is_as_it_was_and_goes_on(stores: tuple[Store, Store]) -> None:
    source, target = stores
    async with running(source) as service:
        closed, open_, token, gone = await _filled(service)
        before = await _seen(service, closed, open_, gone)
    told = await _moved(source, target)
    assert any(line.startswith("segments: ") for line in told)
    assert told[-1].endswith("each chain whole up to its head")
    target.folder.mkdir(exist_ok=True)
    shutil.copy(source.folder / "signing.key", target.folder)
    async with running(target) as service:
        assert await _seen(service, closed, open_, gone) == before
        assert (
            await service.append(open_, frames(events(open_, *SAID), [3])[1], token)
        ).status_code == 200
        assert (await service.get(f"/v1/episodes/{open_}")).json()["status"] == "closed"
        other = {**TASK, "id": "shop/other"}
        assert (await service.post("/v1/tasks", other)).status_code == 201, (
            "new numbers follow the old ones"
        )
        assert (await service.open(other))[0] not in (closed, open_, gone)


async def test_a_target_that_is_not_empty_is_refused_and_left_alone(
    stores: tuple[Store, Store],
) -> None:
    source, target = stores
    async with running(source) as service:
        await _filled(service)
    async with running(target) as service:
        here, _ = await service.open()
    with pytest.raises(MoveError, match="wanted an empty database"):
        await _moved(source, target)
    async with running(target) as service:
        assert (await service.get(f"/v1/episodes/{here}")).status_code == 200
        assert await service.rows("episodes") == 1


BROKEN = {
    "a changed byte": "UPDATE segments SET digest = prev WHERE first = 1",
    "a segment that is missing": "DELETE FROM segments WHERE first = 3",
    "a truncated tail": "DELETE FROM segments WHERE first = 5",
}


@pytest.mark.slow_where("to sqlite")
@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_chain_is_not_moved(stores: tuple[Store, Store], case: str) -> None:
    source, target = stores
    async with running(source) as service:
        await _filled(service)
        async with service.app.state.parts.database.write() as conn:
            await conn.execute(text(BROKEN[case]))
    with pytest.raises(MoveError, match="nothing was kept"):
        await _moved(source, target)
    async with running(target) as service:
        assert await service.rows("episodes") == 0


@pytest.mark.slow_where("to sqlite")
async def test_by_hand(stores: tuple[Store, Store], tmp_path: Path) -> None:
    source, target = stores
    async with running(source) as service:
        await _filled(service)
    where = ["--data", str(source.folder), *(["--database", source.url] if source.url else [])]
    to = target.url or f"sqlite:///{target.folder / 'milestoned.db'}"
    done = milestoned(tmp_path, "db", "move", *where, "--to", to)
    assert done.returncode == 0, done.stderr
    assert "each chain whole" in done.stdout
    again = milestoned(tmp_path, "db", "move", *where, "--to", to)
    assert (again.returncode, "wanted an empty database" in again.stderr) == (1, True)
