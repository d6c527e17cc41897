"""Statements that are compiled once for all databases of a process.

A service compiles each of its statements the first time that it runs, which is a quarter of the
processor time of a short test. SQLAlchemy keeps the result for one engine and one dialect: here
engines of one kind have one dialect and one cache. What a service says to its database is the same.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

KEPT: LRUCache[Any, Any] = LRUCache(5_000)
"""Compiled statements; their keys name the dialect."""


class _Shared:
    """A dialect of which there is one for each set of options."""

    _made: ClassVar[dict[tuple[object, ...], Any]] = {}

    def __new__(cls, **options: object) -> Any:
        told = sorted((name, repr(value)) for name, value in options.items() if name != "dbapi")
        return cls._made.setdefault((cls, *told), super().__new__(cls))

    def __init__(self, **options: object) -> None:
        if not vars(self):
            super().__init__(**options)

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """Give the engine the one cache."""
        engine.update_execution_options(compiled_cache=KEPT)


class SharedPostgres(_Shared, PGDialect_asyncpg):
    """Postgres by asyncpg."""

    supports_statement_cache = True


class SharedSqlite(_Shared, SQLiteDialect_aiosqlite):
    """SQLite by aiosqlite."""

    supports_statement_cache = True


class SharedSqliteDirect(_Shared, SQLiteDialect_pysqlite):
    """SQLite by the standard library."""

    supports_statement_cache = True


def share() -> None:
    """From here on engines share what they compiled."""
    for name, dialect in (
        ("postgresql.asyncpg", SharedPostgres),
        ("sqlite.aiosqlite", SharedSqlite),
        ("sqlite", SharedSqliteDirect),
    ):
        registry.register(name, __name__, dialect.__name__)
