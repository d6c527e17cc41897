"""A service and a daemon as processes, the service on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import Postgres, needs_postgres
from tests.support.stack import Stack


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests but those that kill it."""
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def database(request: pytest.FixtureRequest) -> str:
    """An empty database's address; empty: SQLite in the service's folder."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres").database())


@pytest.fixture
def stack(tmp_path: Path, database: str) -> Iterator[Stack]:
    """Service and daemon over that database."""
    with Stack(tmp_path, database) as running:
        yield running
