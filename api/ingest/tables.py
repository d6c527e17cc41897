"""The state of an episode's engine at one of its segments: a shortcut, never the truth."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, String, Table

from api.db.base import metadata

engine_states = Table(
    "engine_states",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id"), primary_key=True),
    Column("through", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
