"""The same databases as the service's own tests have, and stages that are asked again soon."""

import pytest

from api.cascade import asking
from tests.api.conftest import copies, postgres, postgres_schema, sqlite_schema, store

__all__ = ["copies", "postgres", "postgres_schema", "sqlite_schema", "store"]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that failed is asked again after a twentieth of the usual pause; a service that runs
    as a process of its own pauses as usual."""
    monkeypatch.setattr(asking, "BACK_OFF_S", 0.05)
