"""`milestoned db`: the schema and the log, by hand. `serve` upgrades and keeps by itself what it
was told to."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from datetime import timedelta

from api.audit.owning import claim
from api.audit.store import Audits
from api.cli.common import add_store, days, hold_file, store_settings
from api.core.errors import UnavailableError
from api.core.notify import Notifier
from api.core.settings import Settings, async_url
from api.core.signing import Signer, SigningKeyError
from api.db.database import Database, file_of, is_missing, now
from api.db.migrate import current, latest_revision, upgrade
from api.ingest.strangers import Strangers
from api.service.copy import MoveError, move
from api.service.removal import Removal
from api.tasks.plugins import load_plugins
from api.tasks.store import Tasks


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned db`."""
    commands = parser.add_subparsers(dest="db_command", required=True, metavar="COMMAND")
    for name, says in (
        ("upgrade", "apply what is missing"),
        ("check", "exit 1 unless the schema is this build's"),
    ):
        command = commands.add_parser(name, help=says)
        add_store(command)
        command.set_defaults(run=run, work=_schema)
    adopt = commands.add_parser(
        "adopt-key", help="sign with this key from now on, though another signed until now"
    )
    add_store(adopt)
    adopt.set_defaults(run=run, work=_adopt)
    prune = commands.add_parser(
        "prune", help="delete old episodes; a signed tombstone of each stays"
    )
    add_store(prune)
    prune.add_argument(
        "--older-than",
        type=days,
        required=True,
        metavar="SPAN",
        help="closed that long ago: 30d, 12h",
    )
    prune.add_argument(
        "--label",
        type=_label,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="only with this label; may repeat",
    )
    prune.add_argument(
        "--abandoned", action="store_true", help="also those opened that long ago and never closed"
    )
    prune.add_argument(
        "--reason", default="pruned", help="what the tombstones say (default: %(default)s)"
    )
    prune.add_argument("--dry-run", action="store_true", help="name them and delete nothing")
    prune.set_defaults(run=run, work=_prune)
    moving = commands.add_parser(
        "move", help="copy everything into another, empty database, and compare"
    )
    add_store(moving)
    moving.add_argument(
        "--to",
        required=True,
        metavar="URL",
        help="such as postgresql://USER@HOST/NAME or sqlite:///FILE",
    )
    moving.set_defaults(run=run, work=_move)


def run(args: argparse.Namespace) -> int:
    """Do what was asked; 1 where it can't be done, 2 where a service works in the data folder."""
    try:
        return int(asyncio.run(args.work(args, store_settings(args))))
    except (UnavailableError, MoveError) as error:
        print(error, file=sys.stderr)
        return 1
    except SigningKeyError as error:
        print(error, file=sys.stderr)
        return 2


async def _schema(args: argparse.Namespace, settings: Settings) -> int:
    if args.db_command == "check" and is_missing(settings.database):
        print(
            f"schema: at nothing, there is no {settings.database}; this build's is"
            f" {latest_revision()}"
        )
        return 1
    database = Database(settings.database)
    strange = 0
    try:
        if args.db_command == "upgrade":
            await upgrade(database)
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


async def _adopt(_args: argparse.Namespace, settings: Settings) -> int:
    # A service that runs would go on with what it found at its start.
    lock = _alone(settings)
    if lock is None:
        return 2
    signer = Signer.load_existing(settings)
    database = Database(settings.database)
    try:
        await upgrade(database)
        await claim(Audits(database), signer, anew=True)
    finally:
        await database.close()
        if lock:
            os.close(lock)
    print(
        "signed with this key once every service on this database is restarted; `milestoned audit"
        " verify` names each note of the other one"
    )
    return 0


async def _prune(args: argparse.Namespace, settings: Settings) -> int:
    # On Postgres the replicas hear of it and forget; a service on SQLite hears nothing.
    lock = _alone(settings)
    if lock is None:
        return 2
    signer = Signer.load_existing(settings)
    database = Database(settings.database)
    try:
        await upgrade(database)
        await claim(Audits(database), signer)
        removal = Removal(database, signer, Notifier())
        due = await removal.due(now(-timedelta(days=args.older_than)), args.label, args.abandoned)
        if args.dry_run:
            print("\n".join([*due, f"{len(due)} episodes would be deleted"]))
            return 0
        gone = await removal.prune(due, args.reason, "milestoned db prune")
        dropped = await removal.drop_empty()
    finally:
        await database.close()
        if lock:
            os.close(lock)
    print(
        f"{gone} episodes were deleted"
        + (f", the partitions of {len(dropped)} days dropped" if dropped else "")
    )
    return 0


async def _move(args: argparse.Namespace, settings: Settings) -> int:
    lock = _alone(settings)
    if lock is None:
        return 2
    source, target = Database(settings.database), Database(async_url(args.to))
    try:
        async for line in move(source, target):
            print(line, flush=True)
    finally:
        await source.close()
        await target.close()
        if lock:
            os.close(lock)
    print(
        "the secret and the signing key are files of the data folder: they go along, or in the"
        " environment"
    )
    return 0


def _alone(settings: Settings) -> int | None:
    """Hold an embedded database's file; None, and said, where a service does or there is no
    database.

    0: nothing to hold.
    """
    file = file_of(settings.database)
    if file is None:
        return 0
    if not file.is_file():
        print(
            f"--data: there is no database at {settings.database}; wanted the folder of a service",
            file=sys.stderr,
        )
        return None
    lock = hold_file(file)
    if lock is None:
        print(f"--data {settings.data}: a service works here; wanted it stopped", file=sys.stderr)
    return lock


def _label(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not (key and mark):
        raise argparse.ArgumentTypeError(f"{text[:80]!r}; wanted KEY=VALUE")
    return key, value
