"""The schema: migrations and tables agree, and a database is brought up to date wherever it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from api.core.settings import Settings
from api.db.base import metadata
from api.db.database import Database
from api.db.migrate import current, latest_revision, upgrade
from tests.api.processes import ROOT, milestoned
from tests.api.service import Service, Store, running

pytestmark = pytest.mark.usefixtures("without_schema")


def _differences(connection: Connection) -> list[object]:
    options = {"compare_type": True, "compare_server_default": True}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


async def test_the_migrated_schema_is_the_one_that_the_code_has(store: Store) -> None:
    database = Database(Settings(store.folder, store.url).database)
    await upgrade(database)
    async with database.reader.connect() as conn:
        assert await conn.run_sync(_differences) == []
    await upgrade(database)
    assert await current(database) == latest_revision()
    await database.close()


def test_the_migrations_names_say_which_one_is_the_last() -> None:
    """The service reads the names alone: to ask alembic would take a tenth of its start."""
    scripts = ScriptDirectory(str(ROOT / "migrations"))
    assert latest_revision() == scripts.get_current_head()
    for script in scripts.walk_revisions():
        assert Path(script.path).name.startswith(f"{script.revision}_")


async def test_the_comparison_can_fail(store: Store) -> None:
    database = Database(Settings(store.folder, store.url).database)
    await upgrade(database)
    async with database.write() as conn:
        await conn.execute(text("ALTER TABLE tasks ADD COLUMN surplus INTEGER"))
    async with database.reader.connect() as conn:
        assert len(await conn.run_sync(_differences)) == 1
    await database.close()


async def test_an_older_schema_is_not_ready(service: Service) -> None:
    assert (await service.get("/readyz", None)).json()["schema"] == latest_revision()
    async with service.app.state.parts.database.write() as conn:
        await conn.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    answer = await service.get("/readyz", None)
    assert answer.status_code == 503
    assert "db upgrade" in answer.json()["detail"]


async def test_a_newer_schema_is_ready_and_stays_as_it_is(store: Store) -> None:
    """An upgrade is applied by the new build while replicas of the old one serve, and are
    restarted."""
    newer = "9999"
    async with running(store) as service:
        async with service.app.state.parts.database.write() as conn:
            await conn.execute(text(f"UPDATE alembic_version SET version_num = '{newer}'"))
        assert (await service.get("/readyz", None)).json() == {"status": "ready", "schema": newer}
    async with running(store) as service:
        assert (await service.get("/readyz", None)).json()["schema"] == newer


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_sqlite_is_durable_and_keeps_its_references(service: Service) -> None:
    database = service.app.state.parts.database
    wanted_pragmas = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5_000,
    }
    for engine in (database.writer, database.reader):
        async with engine.connect() as conn:
            for name, value in wanted_pragmas.items():
                assert (await conn.execute(text(f"PRAGMA {name}"))).scalar() == value


def test_the_schema_by_hand(tmp_path: Path) -> None:
    before = milestoned(tmp_path, "db", "check", "--data", "d")
    assert before.returncode == 1
    assert "at nothing" in before.stdout
    assert not (tmp_path / "d").exists()
    assert milestoned(tmp_path, "db", "upgrade", "--data", "d").returncode == 0
    assert milestoned(tmp_path, "db", "check", "--data", "d").returncode == 0


@pytest.mark.slow
async def test_tokens_by_hand(tmp_path: Path) -> None:
    made = milestoned(tmp_path, "token", "create", "read", "--label", "for a reader", "--data", ".")
    id, token = made.stderr.partition(":")[0], made.stdout.strip()
    assert made.returncode == 0, made.stderr
    async with running(Store(tmp_path)) as service:
        assert (await service.get("/v1/tasks", token)).status_code == 200
        # In a thread: a service that can't go on while a command waits for it holds the database's
        # lock for as long.
        listed = await asyncio.to_thread(milestoned, tmp_path, "token", "list", "--data", ".")
        assert id in listed.stdout
        assert "for a reader" in listed.stdout
        assert token not in listed.stdout
        revoked = await asyncio.to_thread(
            milestoned, tmp_path, "token", "revoke", id, "--data", "."
        )
        assert revoked.returncode == 0, revoked.stderr
    async with running(Store(tmp_path)) as service:
        assert (await service.get("/v1/tasks", token)).status_code == 401
    assert milestoned(tmp_path, "token", "revoke", id, "--data", ".").returncode == 1


def test_a_mistyped_folder_is_refused_and_not_made(tmp_path: Path) -> None:
    for command in (
        ["token", "list"],
        ["token", "revoke", "tok_1"],
        ["db", "prune", "--older-than", "1d"],
    ):
        refused = milestoned(tmp_path, *command, "--data", "typo")
        assert (refused.returncode, "wanted the folder of a service" in refused.stderr) == (2, True)
    assert not (tmp_path / "typo").exists()


def test_the_version(tmp_path: Path) -> None:
    assert milestoned(tmp_path, "--version").stdout.startswith("milestoned 0.")
