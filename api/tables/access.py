"""Who may do what."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, String, Table

from api.tables.base import metadata

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("scope", String(16), nullable=False),
    Column("episode", String(64), ForeignKey("episodes.id")),
    Column("label", String(256), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("revoked_at", String(32)),
)
