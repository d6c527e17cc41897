"""Brings a database to this build's schema, and says whether it is there.

The alembic configuration is made here, so that it also works from an installed wheel and from any
folder.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy import Connection, inspect, text

import migrations
from api.db.database import Database

ADVISORY_KEY = 0x6D696C65
"""Any number that nobody else takes in this database."""
_DIGITS = 4
"""Of a revision."""
_FOLDER = Path(migrations.__file__).parent
_TABLE = "alembic_version"


@cache
def latest_revision() -> str:
    """Return the newest revision that this build knows: migrations are named by theirs."""
    return max(file.name for file in (_FOLDER / "versions").glob("[0-9]*.py"))[:_DIGITS]


def is_reached(found: str | None) -> bool:
    """Whether the schema ``found`` is this build's or a newer one.

    A newer schema has all that this build knows: replicas of the old build go on until they are
    replaced.
    """
    return found is not None and found >= latest_revision()


async def current(database: Database) -> str | None:
    """The revision that the database is at, or None for an empty one."""
    async with database.read() as conn:
        return await conn.run_sync(_revision)


async def upgrade(database: Database) -> None:
    """Apply every migration that the database lacks, in one transaction; a newer build's schema
    stays as it is."""
    async with database.write() as conn:
        if not database.embedded:  # replicas that start together migrate one after the other
            await conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_KEY})
        if not is_reached(await conn.run_sync(_revision)):
            await conn.run_sync(_migrate)


def _migrate(connection: Connection) -> None:
    # Here: alembic, its templates and their highlighters are a tenth of a service's start, and
    # most starts find the schema as it should be.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _revision(connection: Connection) -> str | None:
    """Return the schema's revision, None for an empty database."""
    if not inspect(connection).has_table(_TABLE):
        return None
    found: str | None = connection.scalar(text(f"SELECT version_num FROM {_TABLE}"))
    return found
