"""`milestoned db`: the schema, by hand. `serve` upgrades by itself."""

from __future__ import annotations

import argparse
import asyncio
import sys

from api.commands.common import add_store, store_settings
from api.errors import UnavailableError
from api.store.database import Database
from api.store.migrate import current, upgrade, wanted


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="db_command", required=True, metavar="COMMAND")
    for name, says in (("upgrade", "apply what is missing"), ("check", "exit 1 unless the schema is this build's")):
        command = commands.add_parser(name, help=says)
        add_store(command)
        command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Upgrade or check."""
    try:
        return asyncio.run(_run(args))
    except UnavailableError as error:
        print(error.detail, file=sys.stderr)
        return 1


async def _run(args: argparse.Namespace) -> int:
    database = Database(store_settings(args).database)
    try:
        if args.db_command == "upgrade":
            await upgrade(database)
        found, newest = await current(database), wanted()
    finally:
        await database.close()
    print(f"schema: at {found or 'nothing'}, this build's is {newest}")
    return 0 if found == newest else 1
