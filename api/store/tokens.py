"""Who may do what: tokens are stored as hashes, looked up once and remembered for moments.

A revoked token stops working at once in the process that revoked it, and within
`Limits.token_cache_s` seconds in every other one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from api.errors import UnauthorizedError
from api.keys import new_token, token_hash
from api.store.database import Database, now
from api.tables import tokens

Scope = Literal["admin", "trainer", "read", "append"]
SCOPES: tuple[Scope, ...] = ("admin", "trainer", "read", "append")
_CACHED = 10_000

_FIND = select(tokens.c.id, tokens.c.scope, tokens.c.episode).where(
    tokens.c.hash == bindparam("hash"), tokens.c.revoked_at.is_(None)
)


class Principal(NamedTuple):
    """Who calls. ``episode`` is set where the token belongs to one."""

    id: str
    scope: Scope
    episode: str | None


class Tokens:
    """The tokens of one database."""

    def __init__(self, database: Database, cache_s: float) -> None:
        self._database = database
        self._cache_s = cache_s
        self._known: dict[str, tuple[float, Principal]] = {}

    async def principal(self, token: str) -> Principal:
        """Whose token this is. Raises `UnauthorizedError`."""
        hashed = token_hash(token)
        known = self._known.get(hashed)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        row = await self._database.first(_FIND, {"hash": hashed})
        if row is None:
            self._known.pop(hashed, None)
            raise UnauthorizedError("authorization: the bearer token is not known, or was revoked")
        if len(self._known) >= _CACHED:
            self._known.clear()
        principal = Principal(row.id, row.scope, row.episode)
        self._known[hashed] = (time.monotonic() + self._cache_s, principal)
        return principal

    async def create(self, scope: Scope, label: str) -> tuple[str, str]:
        """A new token: its id and, this once, itself."""
        token = new_token("mt")
        return await self._insert(token, scope, label), token

    async def ensure_admin(self, token: str, label: str) -> None:
        """Let ``token`` be the one admin token of this ``label``; an earlier one of that label is revoked."""
        hashed = token_hash(token)
        row = await self._database.first(select(tokens.c.id).where(tokens.c.hash == hashed))
        async with self._database.write() as conn:
            await conn.execute(
                update(tokens)
                .where(tokens.c.label == label, tokens.c.hash != hashed, tokens.c.revoked_at.is_(None))
                .values(revoked_at=now())
            )
        if row is None:
            with suppress(IntegrityError):  # a replica that started at the same time was faster
                await self._insert(token, "admin", label)

    async def _insert(self, token: str, scope: Scope, label: str) -> str:
        row = token_row(token, scope, label)
        async with self._database.write() as conn:
            await conn.execute(insert(tokens), row)
        return str(row["id"])

    async def listed(self) -> Sequence[Any]:
        """Every token but the append tokens of episodes, without anything secret."""
        columns = (tokens.c.id, tokens.c.scope, tokens.c.label, tokens.c.created_at, tokens.c.revoked_at)
        return await self._database.all(
            select(*columns).where(tokens.c.scope != "append").order_by(tokens.c.created_at, tokens.c.id)
        )

    async def revoke(self, id: str) -> bool:
        """Whether there was such a token in force; it is not any more."""
        async with self._database.write() as conn:
            found = await conn.execute(
                update(tokens).where(tokens.c.id == id, tokens.c.revoked_at.is_(None)).values(revoked_at=now())
            )
        self._known.clear()
        return found.rowcount > 0


def token_row(token: str, scope: Scope, label: str, episode: str | None = None) -> dict[str, Any]:
    """The row of a new token."""
    return {
        "id": f"tok_{secrets.token_hex(8)}",
        "hash": token_hash(token),
        "scope": scope,
        "episode": episode,
        "label": label,
        "created_at": now(),
    }
