"""Who may do what: tokens are stored as hashes, looked up once and remembered while they are used.

A revoked token stops working at once in the process that revoked it, and within
`Limits.token_cache_s` seconds in every other one; an expired one stops on its second. What is
remembered is confirmed as often, all of it by one question, so that a thousand daemons cost the
database no question each.
"""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import structlog
from sqlalchemy import bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from api.auth.tables import tokens
from api.core.errors import UnauthorizedError, UnavailableError
from api.core.keys import new_token, token_hash
from api.db.database import Database, now

Scope = Literal["admin", "trainer", "tasks", "read", "metrics", "sandbox", "hints", "append"]
MADE: tuple[Scope, ...] = ("admin", "trainer", "tasks", "read", "metrics", "sandbox", "hints")
"""Scopes of tokens that people make; an append token comes with its episode."""
OPERATOR = "default"
"""The tenant of the first admin token, of tokens that name no other, and of the operator."""
FIRST = ("environment", "first admin")
"""Labels of the admin tokens that the service itself sees to."""
TENANT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
USED_S = 60.0
"""How exact ``last_used`` is, in seconds: so seldom are uses written down."""
_CACHED = 10_000
_KEPT_S = 60.0
"""How long a token that nobody uses is remembered, in seconds."""

log = structlog.get_logger(__name__)
_FIND = select(tokens).where(
    tokens.c.hash == bindparam("hash"),
    tokens.c.revoked_at.is_(None),
    or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > bindparam("at")),
)
_CONFIRM = select(tokens.c.hash).where(
    tokens.c.hash.in_(bindparam("hashes", expanding=True)), tokens.c.revoked_at.is_(None)
)
_USED = update(tokens).where(tokens.c.id == bindparam("token")).values(last_used=bindparam("at"))


class Principal(NamedTuple):
    """Who calls, and for whom. ``episode``: where the token belongs to one; ``requests_per_s``
    None: the service's."""

    id: str
    scope: Scope
    tenant: str
    episode: str | None = None
    requests_per_s: float | None = None


class Terms(NamedTuple):
    """What a token is made for: its tenant, its days (None: for good), a rate of its own."""

    tenant: str = OPERATOR
    days: float | None = None
    requests_per_s: float | None = None


@dataclass(slots=True)
class _KnownToken:
    """``expires_at`` and ``used_at`` in monotonic time."""

    principal: Principal
    expires_at: float
    used_at: float


class Tokens:
    """The tokens of one database."""

    def __init__(self, database: Database, cache_s: float) -> None:
        self._database = database
        self._cache_s = cache_s
        self._known: dict[str, _KnownToken] = {}
        self._confirmed_at = -math.inf
        self._confirming = asyncio.Lock()
        self._used: dict[str, str] = {}
        self._noted = time.monotonic()

    async def principal(self, token: str) -> Principal:
        """Whose token this is. Raises `UnauthorizedError`."""
        hashed = token_hash(token)
        if hashed in self._known:
            await self._confirm()
        known = self._known.get(hashed)
        if known is not None and time.monotonic() < known.expires_at:
            known.used_at = time.monotonic()
            return known.principal
        at, remembered = now(), self._known
        row = await self._database.first(_FIND, {"hash": hashed, "at": at})
        if row is None:
            self._known.pop(hashed, None)
            raise UnauthorizedError(
                "authorization: the bearer token is not known, has expired or was revoked"
            )
        principal = Principal(row.id, row.scope, row.tenant, row.episode, row.requests_per_s)
        if remembered is self._known:  # else it may have been revoked since it was looked up
            self._remember(hashed, principal, row.expires_at)
        if row.scope != "append":
            self._used[row.id] = at
            await self._note_uses_sometimes()
        return principal

    def _remember(self, hashed: str, principal: Principal, expires_at: str | None) -> None:
        """Keep whose token it is until it expires; a full table is emptied."""
        if len(self._known) >= _CACHED:
            self._known.clear()
        lasts_s = math.inf if expires_at is None else _seconds_to(expires_at)
        used_at = time.monotonic()
        if not self._known:
            self._confirmed_at = used_at
        self._known[hashed] = _KnownToken(principal, used_at + lasts_s, used_at)

    async def _confirm(self) -> None:
        """Forget the tokens that were revoked, where that was last asked `token_cache_s` seconds
        ago, and those that nobody used for a while."""
        if time.monotonic() - self._confirmed_at < self._cache_s:
            return
        async with self._confirming:
            asked_at = time.monotonic()
            if asked_at - self._confirmed_at < self._cache_s:
                return
            known = {
                hashed: one
                for hashed, one in self._known.items()
                if asked_at - one.used_at < _KEPT_S
            }
            self._note_used(known.values(), asked_at)
            hashes = {"hashes": _pad(list(known))}
            rows = await self._database.all(_CONFIRM, hashes) if known else ()
            valid = {row.hash for row in rows}
            self._known = {
                hashed: one
                for hashed, one in self._known.items()
                if hashed in valid or (hashed not in known and one.used_at >= asked_at)
            }
            self._confirmed_at = asked_at
        await self._note_uses_sometimes()

    def _note_used(self, known: Iterable[_KnownToken], at: float) -> None:
        """Remember when tokens were used since they were confirmed last, ``at`` in monotonic
        time."""
        for one in known:
            if one.principal.scope != "append" and one.used_at >= self._confirmed_at:
                self._used[one.principal.id] = now(timedelta(seconds=one.used_at - at))

    async def _note_uses_sometimes(self) -> None:
        """Write down when tokens were used, now and then, as far as the database can be reached."""
        if time.monotonic() - self._noted >= USED_S:
            with suppress(UnavailableError):  # no more is lost than when a token was used last
                await self.note_uses()

    async def note_uses(self) -> None:
        """Write down when tokens were used last."""
        used, self._used, self._noted = self._used, {}, time.monotonic()
        if used:
            async with self._database.write() as conn:
                await conn.execute(
                    _USED, [{"token": id, "at": at} for id, at in sorted(used.items())]
                )

    async def create(self, scope: Scope, label: str, terms: Terms | None = None) -> tuple[str, str]:
        """A new token: its id and, this once, itself."""
        token = new_token("mt")
        return await self._insert(token, scope, label, terms or Terms()), token

    async def ensure_admin(self, token: str, label: str) -> None:
        """Let ``token`` be the one admin token of this ``label``; an earlier one of that label is
        revoked."""
        hashed = token_hash(token)
        row = await self._database.first(select(tokens.c.id).where(tokens.c.hash == hashed))
        async with self._database.write() as conn:
            ended = await conn.execute(
                update(tokens)
                .where(
                    tokens.c.label == label, tokens.c.hash != hashed, tokens.c.revoked_at.is_(None)
                )
                .values(revoked_at=now())
            )
        if ended.rowcount:
            log.warning("The first admin token is another one than before, which ends.", of=label)
        if row is None:
            with suppress(IntegrityError):  # a replica that started at the same time was faster
                await self._insert(token, "admin", label, Terms())

    async def _insert(self, token: str, scope: Scope, label: str, terms: Terms) -> str:
        row = token_row(token, scope, label, terms)
        async with self._database.write() as conn:
            await conn.execute(insert(tokens), row)
        return str(row["id"])

    async def listed(self, episode: str | None = None) -> Sequence[Any]:
        """Every token that was made by hand, or the append tokens of ``episode``; nothing secret is
        in it."""
        wanted = tokens.c.scope != "append" if episode is None else tokens.c.episode == episode
        columns = [column for column in tokens.c if column is not tokens.c.hash]
        return await self._database.all(
            select(*columns).where(wanted).order_by(tokens.c.created_at, tokens.c.id)
        )

    async def revoke(self, id: str) -> bool:
        """Whether there was such a token in force; it is not any more."""
        async with self._database.write() as conn:
            found = await conn.execute(
                update(tokens)
                .where(tokens.c.id == id, tokens.c.revoked_at.is_(None))
                .values(revoked_at=now())
            )
        self._known = {}
        return found.rowcount > 0


def token_row(
    token: str, scope: Scope, label: str, terms: Terms, episode: str | None = None
) -> dict[str, object]:
    """The row of a new token."""
    return {
        "id": f"tok_{secrets.token_hex(8)}",
        "hash": token_hash(token),
        "scope": scope,
        "episode": episode,
        "label": label,
        "created_at": now(),
        "tenant": terms.tenant,
        "expires_at": None if terms.days is None else now(timedelta(days=terms.days)),
        "requests_per_s": terms.requests_per_s,
    }


def _pad(hashes: list[str]) -> list[str]:
    """Repeat the last one up to the next power of two, so that few statements serve every
    number."""
    return hashes + hashes[-1:] * ((1 << (len(hashes) - 1).bit_length()) - len(hashes))


def _seconds_to(at: str) -> float:
    return (datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()
