"""Tasks, episodes and what their journals told: the log, and what was made of it.

Times are UTC text for people: nothing is ever decided by them. Steps and seqs are the journal's. ``tenant`` owns the
row; ``-`` is nobody, so that a row without an owner is found by none. ``opened_by`` is a token's id.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from api.tables.base import metadata

tasks = Table(
    "tasks",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("tenant", String(64), nullable=False, server_default="-"),
    Column("id", String(512), nullable=False),
    Column("version", String(256), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("attainable", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    UniqueConstraint("tenant", "id", "version"),
)

episodes = Table(
    "episodes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("task_number", Integer, ForeignKey("tasks.number"), nullable=False),
    Column("task", String(512), nullable=False),
    Column("version", String(256), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("labels", Text, nullable=False),
    Column("seed", BigInteger),
    Column("status", String(16), nullable=False),
    Column("through", BigInteger, nullable=False),
    Column("head", String(64), nullable=False),
    Column("step", BigInteger),
    Column("success", Boolean),
    Column("total", Float),
    Column("milestones", BigInteger, nullable=False),
    Column("opened_at", String(32), nullable=False),
    Column("closed_at", String(32)),
    Column("tenant", String(64), nullable=False, server_default="-"),
    Column("opened_by", String(32)),
    Index(None, "tenant", "opened_at"),
)

engine_states = Table(
    "engine_states",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id"), primary_key=True),
    Column("through", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

segments = Table(
    "segments",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id"), primary_key=True),
    Column("first", BigInteger, primary_key=True),
    Column("last", BigInteger, nullable=False),
    Column("prev", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("frame", LargeBinary, nullable=False),
)

steps = Table(
    "steps",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id"), primary_key=True),
    Column("step", BigInteger, primary_key=True),
    Column("began", BigInteger, nullable=False),
    Column("ended", BigInteger),
)

milestones = Table(
    "milestones",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("id", String(512), nullable=False),
    Column("worth", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "episode", "seq"),
)

rewards = Table(
    "rewards",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id"), primary_key=True),
    Column("step", BigInteger, primary_key=True),
    Column("status", String(16), nullable=False),
    Column("reward", Float),
    Column("through", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "episode", "through"),
)

commands = Table(
    "commands",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("step", BigInteger),
    Column("data", LargeBinary, nullable=False),
    Column("intent", String(64)),
    Column("seq", BigInteger),
    UniqueConstraint("episode", "intent"),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("intent", String(64), primary_key=True),
    Column("request", String(64), nullable=False),
    Column("status", Integer),
    Column("media_type", String(64)),
    Column("body", LargeBinary),
    Column("created_at", String(32), nullable=False),
    Index(None, "created_at"),
)
