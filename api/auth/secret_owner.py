"""One database belongs to one secret: with another one its episodes' tokens are not those that were
given out, and ids and sessions of clients are refused."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from api.auth.tables import installation
from api.core.keys import KeyFileError, load_keys, secret_file
from api.core.settings import Settings
from api.db.database import Database

_NAME = "secret"
_SHOWN = 8
"""Letters of a fingerprint that a message shows."""


async def claim_secret(database: Database, settings: Settings) -> None:
    """Note whose secret the database has, where it has none yet. Raises `KeyFileError` where it was
    another's."""
    own = load_keys(settings).fingerprint()
    with suppress(IntegrityError):  # noted before, or a replica was faster
        async with database.write() as conn:
            await conn.execute(insert(installation).values(name=_NAME, value=own))
    kept = (await database.first(_FIND)).value
    if kept != own:
        where = "MILESTONED_SECRET" if settings.secret else secret_file(settings)
        raise KeyFileError(
            f"{where}: got the secret with the fingerprint {own[:_SHOWN]}, expected the one with"
            f" {kept[:_SHOWN]}, with which this database was started first; put the one of a backup"
            " there, or `milestoned db adopt-secret` goes on with this one"
        )


async def adopt_secret(database: Database, settings: Settings) -> None:
    """Note this secret as the database's, whichever it had."""
    own = load_keys(settings).fingerprint()
    async with database.write() as conn:
        changed = await conn.execute(update(installation).where(_IS_SECRET).values(value=own))
        if not changed.rowcount:
            await conn.execute(insert(installation).values(name=_NAME, value=own))


_IS_SECRET = installation.c.name == _NAME
_FIND = select(installation.c.value).where(_IS_SECRET)
