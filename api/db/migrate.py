"""Brings a database to this build's schema, and says whether it is there.

The alembic configuration is made here, so that it also works from an installed wheel and from any
folder.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

import migrations
from api.db.database import Database, translated

ADVISORY_KEY = 0x6D696C65
"""Any number that nobody else takes in this database."""


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option(
        "script_location", str(Path(migrations.__file__).parent).replace("%", "%%")
    )
    config.attributes["connection"] = connection
    return config


@cache
def latest_revision() -> str | None:
    """Return the newest revision that this build knows. Alembic imports every migration for it."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def is_reached(found: str | None) -> bool:
    """Whether the schema ``found`` is this build's or a newer one.

    Revisions are numbers of four digits. A newer schema has all that this build knows: replicas of
    the old build go on until they are replaced.
    """
    return found is not None and found >= (latest_revision() or "")


async def current(database: Database) -> str | None:
    """The revision that the database is at, or None for an empty one."""
    with translated():
        async with database.reader.connect() as conn:
            return await conn.run_sync(_revision)


async def upgrade(database: Database) -> None:
    """Apply every migration that the database lacks, in one transaction; a newer build's schema
    stays as it is."""
    async with database.write() as conn:
        if not database.embedded:  # replicas that start together migrate one after the other
            await conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_KEY})
        if not is_reached(await conn.run_sync(_revision)):
            await conn.run_sync(lambda sync: command.upgrade(_config(sync), "head"))


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
