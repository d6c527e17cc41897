"""What must be so before a service listens where others than this machine can call: TLS, and tokens
made on purpose."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
from pathlib import Path

from api.auth.store import FIRST, Tokens
from api.core.errors import UnavailableError
from api.core.keys import MAX_TOKEN
from api.core.regular_file import read_regular
from api.core.settings import Settings
from api.db.database import Database, is_missing, now
from api.db.migrate import upgrade

MIN_TOKEN_LENGTH = 32
"""Characters of an operator's own admin token, at least: shorter ones can be guessed."""


def add_exposure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments on TLS and proxies."""
    parser.add_argument(
        "--tls-cert", type=Path, metavar="FILE", help="speak TLS with this certificate chain (PEM)"
    )
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="and this private key (PEM)")
    parser.add_argument(
        "--i-have-tls-in-front",
        action="store_true",
        help="allow an address that is not loopback without TLS here: a proxy in front has it",
    )
    parser.add_argument(
        "--forwarded-allow-ips",
        default="127.0.0.1",
        metavar="ADDRESSES",
        help="proxies whose X-Forwarded-For and -Proto are believed (default: 127.0.0.1)",
    )


def refusal_of(args: argparse.Namespace, settings: Settings) -> str | None:
    """Why the service must not start with these arguments, or None."""
    refusal = _tls_refusal(args)
    if refusal is not None or _is_loopback(args.host):
        return refusal
    if args.tls_cert is None and not args.i_have_tls_in_front:
        return (
            f"--host {args.host}: tokens would travel in clear; wanted a loopback address,"
            " --tls-cert and --tls-key, or --i-have-tls-in-front behind a proxy that speaks TLS"
        )
    if settings.admin_token is not None:
        return _guessed("MILESTONED_ADMIN_TOKEN", settings.admin_token)
    if settings.token_file is not None and settings.token_file.exists():
        return _guessed_in(settings.token_file)
    try:
        made = asyncio.run(_made_on_purpose(settings))
    except UnavailableError as error:
        return error.detail
    if made:
        return None
    return (
        f"--host {args.host}: nobody made a token, so that everybody would call as the first admin;"
        " wanted `milestoned token create trainer` (or another scope) first, or"
        " MILESTONED_ADMIN_TOKEN"
    )


def _tls_refusal(args: argparse.Namespace) -> str | None:
    """Why the files for TLS can't be used, or None."""
    if (args.tls_cert is None) != (args.tls_key is None):
        return "--tls-cert and --tls-key: got one of them, wanted both or none"
    for name, path in (("--tls-cert", args.tls_cert), ("--tls-key", args.tls_key)):
        if path is not None and not path.is_file():
            return f"{name} {path}: no such file"
    return None


async def _made_on_purpose(settings: Settings) -> bool:
    """Whether somebody made a token that is in force, beside the one that the service makes
    itself."""
    if is_missing(settings.database):
        return False
    database = Database(settings.database)
    try:
        await upgrade(database)
        rows = await Tokens(database, cache_s=0).listed()
    finally:
        await database.close()
    in_force = [
        row
        for row in rows
        if row.revoked_at is None and (row.expires_at is None or row.expires_at > now())
    ]
    return any(row.label not in FIRST for row in in_force)


def _guessed_in(file: Path) -> str | None:
    try:
        token = read_regular(file, MAX_TOKEN).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return f"--token-file {file}: {why}; wanted a file that holds the first admin token"
    return _guessed(f"--token-file {file}", token)


def _guessed(what: str, token: str) -> str | None:
    return (
        f"{what}: shorter than {MIN_TOKEN_LENGTH} characters, which can be guessed"
        if len(token) < MIN_TOKEN_LENGTH
        else None
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
