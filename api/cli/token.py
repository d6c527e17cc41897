"""`milestoned token`: tokens of operators, trainers and readers, straight in the database."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from typing import Any

from api.auth.store import FIRST, MADE, OPERATOR, TENANT, Terms, Tokens
from api.cli.common import add_store, days, store_settings
from api.core.errors import UnavailableError
from api.db.database import Database, is_missing, now
from api.db.migrate import upgrade


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned token`."""
    commands = parser.add_subparsers(dest="token_command", required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="print a new token, this once")
    create.add_argument("scope", choices=MADE)
    create.add_argument("--label", type=_label, default="", help="what it is for")
    create.add_argument(
        "--tenant",
        type=_tenant,
        default=OPERATOR,
        metavar="NAME",
        help="whose it is: it finds nothing of another's",
    )
    create.add_argument(
        "--expires", type=days, metavar="SPAN", help="such as 30d, 12h, 90m (default: never)"
    )
    create.add_argument(
        "--requests-per-s", type=_rate, metavar="N", help="its own rate of requests; 0: none"
    )
    listing = commands.add_parser(
        "list", help="every token but those of daemons, without the tokens themselves"
    )
    listing.add_argument("--episode", metavar="ID", help="that of this episode's daemon instead")
    revoke = commands.add_parser("revoke", help="let a token open nothing any more, within seconds")
    revoke.add_argument("id", metavar="TOKEN_ID", help="as `token list` shows it")
    for command in (create, listing, revoke):
        add_store(command)
        command.set_defaults(run=run)


def _label(text: str) -> str:
    if text in FIRST or len(text) > 256:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r}; wanted at most 256 characters, and not {' or '.join(FIRST)}"
        )
    return text


def _tenant(text: str) -> str:
    if not TENANT.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text[:80]!r}; wanted 1 to 64 of a-z, 0-9, dot, dash and underscore"
        )
    return text


def _rate(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r}; wanted a number, such as 50")
    return float(text)


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
        print(
            f"--data: there is no database at {url}; wanted the folder of a service",
            file=sys.stderr,
        )
        return 2
    database = Database(url)
    try:
        await upgrade(database)
        return await _do(args, Tokens(database, cache_s=0))
    finally:
        await database.close()


async def _do(args: argparse.Namespace, tokens: Tokens) -> int:
    if args.token_command == "create":
        terms = Terms(args.tenant, args.expires, args.requests_per_s)
        id, token = await tokens.create(args.scope, args.label, terms)
        print(token)
        print(f"{id}: {args.scope} of {args.tenant}; it is shown this once", file=sys.stderr)
    elif args.token_command == "list":
        for row in await tokens.listed(args.episode):
            used = f"used {row.last_used}" if row.last_used else "not used yet"
            print(
                f"{row.id}  {row.scope:<8} {row.tenant:<12} {row.created_at}  {_state(row)}  {used}"
                f"  {row.label}"
            )
    elif not await tokens.revoke(args.id):
        print(f"{args.id}: no such token is in force", file=sys.stderr)
        return 1
    return 0


def _state(row: Any) -> str:
    if row.revoked_at:
        return f"revoked {row.revoked_at}"
    if row.expires_at:
        return f"expire{'d' if row.expires_at <= now() else 's'} {row.expires_at}"
    return "in force"
