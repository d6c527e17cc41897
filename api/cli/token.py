"""`milestoned token`: tokens of operators, trainers and readers, straight in the database."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from api.auth.store import FIRST, MADE, OPERATOR, TENANT, Scope, Terms, Tokens
from api.cli.common import STORE, Store, read_days
from api.core.errors import UnavailableError
from api.db.database import Database, is_missing, now
from api.db.migrate import upgrade
from common.command_line import new_app, option

MAX_LABEL = 256
"""Characters of a token's label."""

app = new_app("token", "Create, list and revoke tokens, straight in the database.")


def _read_label(text: str) -> str:
    """Check a token's label. Raises ValueError for one that is too long, or that the service gives
    itself."""
    if text in FIRST or len(text) > MAX_LABEL:
        raise ValueError(f"expected at most {MAX_LABEL} characters, and not {' or '.join(FIRST)}")
    return text


def _read_tenant(text: str) -> str:
    """Check a tenant's name. Raises ValueError."""
    if not TENANT.fullmatch(text):
        raise ValueError("expected 1 to 64 of a-z, 0-9, dot, dash and underscore")
    return text


def _read_rate(text: str) -> float:
    """Read requests a second. Raises ValueError."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text):
        raise ValueError("expected a number, such as 50")
    return float(text)


def _read_scope(text: str) -> Scope:
    """Return a scope that tokens can be made for. Raises ValueError."""
    for scope in MADE:
        if scope == text:
            return scope
    raise ValueError(f"expected one of {', '.join(MADE)}")


@app.command
def create(
    scope: Annotated[
        Scope, option("what it may do", "|".join(MADE), _read_scope, show_choices=False)
    ],
    /,
    *,
    label: Annotated[str, option("what it is for", "TEXT", _read_label)] = "",
    tenant: Annotated[
        str, option("whose it is: it finds nothing of another's", "NAME", _read_tenant)
    ] = OPERATOR,
    expires: Annotated[
        float | None, option("such as 30d, 12h, 90m (default: never)", "SPAN", read_days)
    ] = None,
    requests_per_s: Annotated[
        float | None, option("its own rate of requests; 0: none", "N", _read_rate)
    ] = None,
    store: Store = STORE,
) -> int:
    """Print a new token, this once."""

    async def work(tokens: Tokens) -> int:
        id, token = await tokens.create(scope, label, Terms(tenant, expires, requests_per_s))
        print(token)
        print(f"{id}: {scope} of {tenant}; it is shown this once", file=sys.stderr)
        return 0

    return _run(store, work, is_made=True)


@app.command(name="list")
def list_tokens(
    *,
    episode: Annotated[str | None, option("that of this episode's daemon instead", "ID")] = None,
    store: Store = STORE,
) -> int:
    """List every token but those of daemons, without the tokens themselves."""

    async def work(tokens: Tokens) -> int:
        """Print a line a token: its scope, tenant, state and last use."""
        for row in await tokens.listed(episode):
            used = f"used {row.last_used}" if row.last_used else "not used yet"
            print(
                f"{row.id}  {row.scope:<8} {row.tenant:<12} {row.created_at}  {_state(row)}  {used}"
                f"  {row.label}"
            )
        return 0

    return _run(store, work)


@app.command
def revoke(
    id: Annotated[str, option("as `token list` shows it", "TOKEN_ID")],
    /,
    *,
    store: Store = STORE,
) -> int:
    """Let a token open nothing any more, within seconds."""

    async def work(tokens: Tokens) -> int:
        """Revoke a token. Return 1 where none of that id is in force."""
        if await tokens.revoke(id):
            return 0
        print(f"{id}: no such token is in force", file=sys.stderr)
        return 1

    return _run(store, work)


def _run(store: Store, work: Callable[[Tokens], Awaitable[int]], *, is_made: bool = False) -> int:
    """Do the work on the database; 1 where it can't be done, 2 where there is none.

    ``is_made``: a database that is not there is made.
    """
    url = store.settings().database
    if not is_made and is_missing(url):
        print(
            f"--data: there is no database at {url}; wanted the folder of a service",
            file=sys.stderr,
        )
        return 2
    try:
        return asyncio.run(_with_tokens(url, work))
    except UnavailableError as error:
        print(error.detail, file=sys.stderr)
        return 1


async def _with_tokens(url: str, work: Callable[[Tokens], Awaitable[int]]) -> int:
    database = Database(url)
    try:
        await upgrade(database)
        return await work(Tokens(database, cache_s=0))
    finally:
        await database.close()


def _state(row: Any) -> str:
    """Say until when a token is in force, or since when it is not."""
    if row.revoked_at:
        return f"revoked {row.revoked_at}"
    if row.expires_at:
        return f"expire{'d' if row.expires_at <= now() else 's'} {row.expires_at}"
    return "in force"
