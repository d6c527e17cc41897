"""The same databases as the service's own tests have."""

from tests.api.conftest import copies, postgres, postgres_schema, sqlite_schema, store

__all__ = ["copies", "postgres", "postgres_schema", "sqlite_schema", "store"]
