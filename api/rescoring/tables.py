"""Rescores: stored episodes scored again, each result beside the one that was paid.

``task`` is the canonical JSON of the task to score by, NULL for each episode's own under this
build's rules. ``scored`` counts finished episodes; ``runner`` is the process that works at it,
which another takes over where ``scored`` stands still. ``summary`` is JSON; ``body`` a line of the
result, zstd.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from api.db.base import metadata

rescores = Table(
    "rescores",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("tenant", String(64), nullable=False),
    Column("status", String(16), nullable=False),
    Column("request", Text, nullable=False),
    Column("task", LargeBinary),
    Column("episodes", BigInteger, nullable=False),
    Column("scored", BigInteger, nullable=False),
    Column("summary", Text, nullable=False),
    Column("runner", String(64)),
    Column("created_at", String(32), nullable=False),
    Column("finished_at", String(32)),
    Index(None, "status", "number"),
    Index(None, "tenant", "number"),
)
"""``status``: queued, running, done."""

rescored = Table(
    "rescored",
    metadata,
    Column("rescore", Integer, ForeignKey("rescores.number", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("episode", String(64), ForeignKey("episodes.id", ondelete="CASCADE"), nullable=False),
    Column("status", String(16)),
    Column("digest", String(64)),
    Column("body", LargeBinary),
    Index(None, "episode"),
)
"""``status``: NULL while it waits; same, changed, failed. ``digest`` is that of the ruleset it was
scored under."""
