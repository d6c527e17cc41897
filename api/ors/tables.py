"""Sessions of the Open Reward Standard and the tool calls in them, until they are deleted.

A session belongs to its tenant: two tenants may use one ``sid``. ``opened``: the session opened its
episode, and closes it when it ends. ``step`` is the step that runs. A call without ``result`` has
not ended yet; any replica can finish it.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, String, Table

from api.db.base import metadata

ors_sessions = Table(
    "ors_sessions",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("sid", String(128), primary_key=True),
    Column("environment", String(512), nullable=False),
    Column("task", String(512), nullable=False),
    Column("version", String(256), nullable=False),
    Column("episode", String(64)),
    Column("opened", Boolean, nullable=False),
    Column("wait_ms", Integer, nullable=False),
    Column("ready", Boolean, nullable=False),
    Column("step", BigInteger),
    Column("finished", Boolean, nullable=False),
    Column("seen_at", String(32), nullable=False),
    Column("mask_causes", String(256)),
    Index(None, "seen_at"),
    Index(None, "episode"),
)
ors_calls = Table(
    "ors_calls",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("sid", String(128), nullable=False),
    Column("number", Integer, nullable=False),
    Column("episode", String(64)),
    Column("name", String(256), nullable=False),
    Column("input", LargeBinary, nullable=False),
    Column("result", LargeBinary),
    Column("failed", Boolean, nullable=False),
    Index(None, "tenant", "sid", "number", unique=True),
    Index(None, "episode"),
)
