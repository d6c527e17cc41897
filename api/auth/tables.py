"""Who may do what.

``tenant`` is whom the token acts for: it finds rows of that tenant and of no other.
``requests_per_s`` is the token's own where the service's does not fit it. ``expires_at`` is UTC
text of one length, so that it sorts as time. An append token outlives its episode, so that its
daemon hears what became of it.

``installation`` has what the services of one database share: the fingerprint of their secret.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, String, Table

from api.db.base import metadata

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("scope", String(16), nullable=False),
    Column("episode", String(64)),
    Column("label", String(256), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("revoked_at", String(32)),
    Column("tenant", String(64), nullable=False, server_default="-"),
    Column("expires_at", String(32)),
    Column("last_used", String(32)),
    Column("requests_per_s", Float),
)

installation = Table(
    "installation",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", String(64), nullable=False),
)
