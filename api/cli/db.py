"""`milestoned db`: the schema and the log, by hand. `serve` upgrades and keeps by itself what it
was told to."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Annotated

from api.audit.owning import claim
from api.audit.store import Audits
from api.auth import secret_owner
from api.cli.common import STORE, Store, hold_file, read_days, read_pair
from api.core.errors import UnavailableError
from api.core.keys import KeyFileError, load_keys
from api.core.notify import Notifier
from api.core.settings import Settings, async_url
from api.core.signing import Signer
from api.db.database import Database, file_of, is_missing, now
from api.db.migrate import current, latest_revision, upgrade
from api.episodes.tokens import add_append_tokens
from api.ingest.strangers import Strangers
from api.service.copy import MoveError, move
from api.service.removal import Removal
from api.tasks.plugins import load_plugins
from api.tasks.store import Tasks
from common.command_line import new_app, option

app = new_app("db", "The database's schema and its log, by hand.")


@app.command(name="upgrade")
def upgrade_schema(*, store: Store = STORE) -> int:
    """Apply the migrations that the database lacks."""
    return _run(store, _upgrade)


@app.command
def check(*, store: Store = STORE) -> int:
    """Exit 1 unless the schema is this build's."""
    return _run(store, _check)


@app.command
def adopt_key(*, store: Store = STORE) -> int:
    """Sign with this key from now on, though another signed until now."""
    return _run(store, _adopt)


@app.command
def adopt_secret(*, store: Store = STORE) -> int:
    """Go on with this secret, though another one was the database's until now."""
    return _run(store, _adopt_secret)


@app.command
def prune(
    *,
    older_than: Annotated[float, option("closed that long ago: 30d, 12h", "SPAN", read_days)],
    label: Annotated[
        tuple[tuple[str, str], ...],
        option("only with this label; may repeat", "KEY=VALUE", read_pair, many=True),
    ] = (),
    abandoned: Annotated[bool, option("also those opened that long ago and never closed")] = False,
    reason: Annotated[str, option("what the tombstones say (default: pruned)", "TEXT")] = "pruned",
    dry_run: Annotated[bool, option("name them and delete nothing")] = False,
    store: Store = STORE,
) -> int:
    """Delete old episodes; a signed tombstone of each stays."""

    async def work(settings: Settings) -> int:
        """Delete the episodes that are due, or list them. Return 2 where a service holds the
        database."""
        # On Postgres the replicas hear of it and forget; a service on SQLite hears nothing.
        with _held_alone(settings) as is_held:
            if not is_held:
                return 2
            async with _claimed_database(settings) as (database, signer):
                removal = Removal(database, signer, Notifier())
                due = await removal.due(now(-timedelta(days=older_than)), list(label), abandoned)
                if dry_run:
                    print("\n".join([*due, f"{len(due)} episodes would be deleted"]))
                    return 0
                gone = await removal.prune(due, reason, "milestoned db prune")
                dropped = await removal.drop_empty()
        print(
            f"{gone} episodes were deleted"
            + (f", the partitions of {len(dropped)} days dropped" if dropped else "")
        )
        return 0

    return _run(store, work)


@app.command(name="move")
def move_database(
    *,
    to: Annotated[str, option("such as postgresql://USER@HOST/NAME or sqlite:///FILE", "URL")],
    store: Store = STORE,
) -> int:
    """Copy everything into another, empty database, and compare."""
    return _run(store, lambda settings: _move(settings, to))


def _run(store: Store, work: Callable[[Settings], Awaitable[int]]) -> int:
    """Do the work; 1 where it can't be done, 2 where a service works in the data folder."""

    async def run() -> int:
        return await work(store.settings())

    try:
        return asyncio.run(run())
    except (UnavailableError, MoveError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyFileError as error:
        print(error, file=sys.stderr)
        return 2


async def _upgrade(settings: Settings) -> int:
    return await _schema(settings, is_upgraded=True)


async def _check(settings: Settings) -> int:
    """Print at which schema the database is. Return 1 where that is not this build's."""
    if is_missing(settings.database):
        print(
            f"schema: at nothing, there is no {settings.database}; this build's is"
            f" {latest_revision()}"
        )
        return 1
    return await _schema(settings, is_upgraded=False)


async def _schema(settings: Settings, *, is_upgraded: bool) -> int:
    """Print at which schema the database is, upgraded before if asked. Return 1 where that is not
    this build's."""
    database = Database(settings.database)
    strange = 0
    try:
        if is_upgraded:
            await upgrade(database)
        else:
            await database.check_file()
        found, newest = await current(database), latest_revision()
        if found == newest:
            load_plugins()
            strange = await Strangers(database, Tasks(database)).count()
    finally:
        await database.close()
    print(f"schema: at {found or 'nothing'}, this build's is {newest}")
    if strange:
        print(
            f"{strange} open episodes are of rules that this build has not: it can end them, with"
            " what is open masked"
        )
    return 0 if found == newest else 1


async def _adopt(settings: Settings) -> int:
    """Let this folder's key sign the database from now on. Return 2 where a service runs."""
    # A service that runs would go on with what it found at its start.
    with _held_alone(settings) as is_held:
        if not is_held:
            return 2
        async with _claimed_database(settings, anew=True):
            pass
    print(
        "signed with this key once every service on this database is restarted; `milestoned audit"
        " verify` names each note of the other one"
    )
    return 0


async def _adopt_secret(settings: Settings) -> int:
    # A service that runs would go on with the other one.
    with _held_alone(settings) as is_held:
        if not is_held:
            return 2
        database = Database(settings.database)
        try:
            await upgrade(database)
            await secret_owner.adopt_secret(database, settings)
            added = await add_append_tokens(database, load_keys(settings))
        finally:
            await database.close()
    print(
        f"this secret is the database's once every service on it is restarted; {added} open"
        " episodes have a token of it beside the one that their daemon holds"
    )
    return 0


async def _move(settings: Settings, to: str) -> int:
    """Copy the database to another one, and print what is done. Return 2 where a service runs."""
    with _held_alone(settings) as is_held:
        if not is_held:
            return 2
        source, target = Database(settings.database), Database(async_url(to))
        try:
            async for line in move(source, target):
                print(line, flush=True)
        finally:
            await source.close()
            await target.close()
    print(
        "the secret and the signing key are files of the data folder: they go along, or in the"
        " environment"
    )
    return 0


@asynccontextmanager
async def _claimed_database(
    settings: Settings, *, anew: bool = False
) -> AsyncIterator[tuple[Database, Signer]]:
    """Open the database, at this build's schema and claimed by the service's key (``anew``: by
    whichever key that is); close it at the end."""
    signer = Signer.load_existing(settings)
    database = Database(settings.database)
    try:
        await upgrade(database)
        await claim(Audits(database), signer, anew=anew)
        yield database, signer
    finally:
        await database.close()


@contextmanager
def _held_alone(settings: Settings) -> Iterator[bool]:
    """Hold an embedded database's file; False, and printed why, where a service works on it or it
    is not there. Another database is held by nobody."""
    file = file_of(settings.database)
    if file is None:
        yield True
        return
    if not file.is_file():
        print(
            f"--data: there is no database at {settings.database}; wanted the folder of a service",
            file=sys.stderr,
        )
        yield False
        return
    lock = hold_file(file)
    if lock is None:
        print(f"--data {settings.data}: a service works here; wanted it stopped", file=sys.stderr)
        yield False
        return
    try:
        yield True
    finally:
        os.close(lock)
