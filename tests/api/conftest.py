"""A fresh service for every test, on each database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.api.service import Service, Store, running
from tests.support.postgres import Postgres, needs_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests."""
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty database: a file of SQLite's, or one of its own on Postgres."""
    return Store(tmp_path, "" if request.param == "sqlite" else request.getfixturevalue("postgres").database())


@pytest.fixture
def fresh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Store], Store]:
    """Another empty database of a store's kind, for tests that need many."""

    def make(like: Store) -> Store:
        folder = tmp_path_factory.mktemp("store")
        return Store(folder, request.getfixturevalue("postgres").database() if like.url else "")

    return make


@pytest.fixture
async def service(store: Store) -> AsyncIterator[Service]:
    """The application over an empty database."""
    async with running(store) as found:
        yield found
