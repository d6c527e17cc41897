"""A fresh service for every test, on each database."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest

from api.core.settings import async_url
from api.db.database import Database
from api.db.migrate import upgrade
from tests.api.service import Service, Store, running
from tests.support.copies import Copies
from tests.support.postgres import Postgres, needs_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests."""
    with Postgres() as server:
        yield server


def _migrated(address: str) -> str:
    async def migrate() -> None:
        database = Database(async_url(address))
        await upgrade(database)
        await database.close()

    asyncio.run(migrate())
    return address


@pytest.fixture(scope="session")
def sqlite_schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite's with the schema and nothing in it."""
    file = tmp_path_factory.mktemp("schema") / "milestoned.db"
    _migrated(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def postgres_schema(postgres: Postgres) -> str:
    """The address of a database on Postgres with the schema and nothing in it."""
    return _migrated(postgres.database())


@pytest.fixture(scope="session")
def copies(postgres: Postgres, postgres_schema: str) -> Copies:
    """Databases on Postgres with the schema and nothing in them."""
    return Copies(postgres, postgres_schema)


@pytest.fixture
def without_schema() -> None:
    """Asked for by tests of how a schema is made: their `store` has none yet."""


ON_SQLITE_ALONE = (
    "tests/api/audit/test_evaluation.py",
    "tests/api/audit/test_reports.py",
    "tests/api/test_access.py",
    "tests/api/blame/test_masks.py",
    "tests/api/start_states/test_expected.py",
    "tests/api/start_states/test_starts.py",
    "tests/api/test_client_models.py",
    "tests/api/test_credits.py",
    "tests/api/test_curriculum.py",
    "tests/api/test_followers.py",
    "tests/api/test_gate.py",
    "tests/api/test_hostile_socket.py",
    "tests/api/test_json_route.py",
    "tests/api/test_mcp.py",
    "tests/api/test_nemo.py",
    "tests/api/test_null_is_null.py",
    "tests/api/test_openapi.py",
    "tests/api/test_ors_proxy.py",
    "tests/api/test_readiness.py",
    "tests/api/test_reading.py",
    "tests/api/test_rewards.py",
    "tests/api/test_schedules.py",
    "tests/api/test_score.py",
    "tests/api/test_siblings.py",
    "tests/api/test_steps.py",
    "tests/api/test_strangers.py",
    "tests/api/test_tasks_wire.py",
    "tests/api/test_templates.py",
    "tests/api/test_unusual_numbers.py",
    "tests/api/test_yaml_bounds.py",
    "tests/cascade/test_escalation.py",
    "tests/cascade/test_streaming.py",
)
"""What these hold is the same on every database, or held on both by others beside them: on Postgres
they are of `make test-all`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave each test to one database in `make test`: those of `ON_SQLITE_ALONE` to SQLite, of the
    others a third to Postgres. On the other one they are slow."""
    for item in items:
        on_postgres = "[postgres" in item.name
        if not on_postgres and "[sqlite" not in item.name:
            continue
        name = item.name.replace("[postgres", "[").replace("[sqlite", "[")
        path = item.path.relative_to(item.config.rootpath).as_posix()
        is_for_postgres = path not in ON_SQLITE_ALONE and crc32(name.encode()) % 3 == 0
        if on_postgres != is_for_postgres and "store" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A database with the schema and nothing in it: a file of SQLite's, or one of its own on
    Postgres. The schema is copied, for to make it takes longer than a short test; beside
    `without_schema` the database is wholly empty."""
    has_schema = "without_schema" not in request.fixturenames
    if request.param == "sqlite":
        if has_schema:
            shutil.copy(request.getfixturevalue("sqlite_schema"), tmp_path / "milestoned.db")
        yield Store(tmp_path)
        return
    if has_schema:
        copies: Copies = request.getfixturevalue("copies")
        address = copies.take()
        yield Store(tmp_path, address)
        copies.give(address)
        return
    server: Postgres = request.getfixturevalue("postgres")
    address = server.database()
    yield Store(tmp_path, address)
    server.drop(
        address
    )  # hundreds of them at once were a minute at the session's end, and gigabytes


@pytest.fixture
def fresh(
    request: pytest.FixtureRequest, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Store], Store]]:
    """Another database of a store's kind with the schema and nothing in it, for tests that need
    many, one after the other: the last one is taken back when another is asked for."""
    # Asked for here: a schema is made in a loop of its own, which a test's loop has no room for.
    if store.url:
        copies: Copies = request.getfixturevalue("copies")
    else:
        schema = request.getfixturevalue("sqlite_schema")
    made: list[str] = []

    def make(like: Store) -> Store:
        assert bool(like.url) == bool(store.url)
        folder = tmp_path_factory.mktemp("store")
        if not like.url:
            shutil.copy(schema, folder / "milestoned.db")
            return Store(folder)
        while made:
            copies.give(made.pop())
        made.append(copies.take())
        return Store(folder, made[-1])

    yield make
    for address in made:
        copies.give(address)


@pytest.fixture
async def service(store: Store) -> AsyncIterator[Service]:
    """The application over an empty database."""
    async with running(store) as found:
        yield found
