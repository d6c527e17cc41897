"""`milestoned token`: tokens of operators, trainers and readers, straight in the database."""

from __future__ import annotations

import argparse
import asyncio
import sys

from api.commands.common import add_store, store_settings
from api.errors import UnavailableError
from api.store.database import Database, is_missing
from api.store.migrate import upgrade
from api.store.tokens import Tokens


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="token_command", required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="print a new token, this once")
    create.add_argument("scope", choices=["admin", "trainer", "read"])
    create.add_argument("--label", default="", help="what it is for")
    listing = commands.add_parser("list", help="every token but those of daemons, without the tokens themselves")
    revoke = commands.add_parser("revoke", help="let a token open nothing any more, within seconds")
    revoke.add_argument("id", metavar="TOKEN_ID", help="as `token list` shows it")
    for command in (create, listing, revoke):
        add_store(command)
        command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do what was asked; 1 where it can't be done."""
    try:
        return asyncio.run(_run(args))
    except UnavailableError as error:
        print(error.detail, file=sys.stderr)
        return 1


async def _run(args: argparse.Namespace) -> int:
    url = store_settings(args).database
    if args.token_command != "create" and is_missing(url):
        print(f"--data: there is no database at {url}; wanted the folder of a service", file=sys.stderr)
        return 2
    database = Database(url)
    try:
        await upgrade(database)
        return await _do(args, Tokens(database, cache_s=0))
    finally:
        await database.close()


async def _do(args: argparse.Namespace, tokens: Tokens) -> int:
    if args.token_command == "create":
        id, token = await tokens.create(args.scope, args.label)
        print(token)
        print(f"{id}: {args.scope}; it is shown this once", file=sys.stderr)
    elif args.token_command == "list":
        for row in await tokens.listed():
            state = f"revoked {row.revoked_at}" if row.revoked_at else "in force"
            print(f"{row.id}  {row.scope:<8} {row.created_at}  {state}  {row.label}")
    elif not await tokens.revoke(args.id):
        print(f"{args.id}: no such token is in force", file=sys.stderr)
        return 1
    return 0
