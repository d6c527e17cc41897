"""Tasks, episodes and what their journals told: the log, and what was made of it.

Times are UTC text for people: retention alone goes by them. Steps and seqs are the journal's. ``tenant`` owns the
row; ``-`` is nobody, so that a row without an owner is found by none. ``opened_by`` is a token's id.

On Postgres the tables of what a journal told are partitioned by the day on which the episode was opened, which its id
begins with (docs/decisions/0008): their rows refer to `episodes` by being written under the lock of its row.
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

from api.db.base import EPISODE_KEY, metadata

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
    Column("intent", String(64), unique=True),
    Index(None, "tenant", "opened_at", "id"),
    Index(None, "tenant", "total", "id"),
    Index(None, "tenant", "task", "opened_at", "id"),
    Index(None, "tenant", "opened_by", "opened_at", "id"),
    Index(None, "tenant", "status", "opened_at", "id"),
    Index(None, "tenant", "success", "opened_at", "id"),
    Index(None, "closed_at"),
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
    Column("episode", EPISODE_KEY, primary_key=True),
    Column("first", BigInteger, primary_key=True),
    Column("last", BigInteger, nullable=False),
    Column("prev", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("frame", LargeBinary, nullable=False),
    postgresql_partition_by="RANGE (episode)",
)

steps = Table(
    "steps",
    metadata,
    Column("episode", EPISODE_KEY, primary_key=True),
    Column("step", BigInteger, primary_key=True),
    Column("began", BigInteger, nullable=False),
    Column("ended", BigInteger),
    postgresql_partition_by="RANGE (episode)",
)

milestones = Table(
    "milestones",
    metadata,
    Column("episode", EPISODE_KEY, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("id", String(512), nullable=False),
    Column("worth", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "episode", "seq"),
    postgresql_partition_by="RANGE (episode)",
)

rewards = Table(
    "rewards",
    metadata,
    Column("episode", EPISODE_KEY, primary_key=True),
    Column("step", BigInteger, primary_key=True),
    Column("status", String(16), nullable=False),
    Column("reward", Float),
    Column("through", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "episode", "through"),
    postgresql_partition_by="RANGE (episode)",
)

commands = Table(
    "commands",
    metadata,
    Column("episode", EPISODE_KEY, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("step", BigInteger),
    Column("data", LargeBinary, nullable=False),
    Column("intent", String(64)),
    Column("seq", BigInteger),
    UniqueConstraint("episode", "intent"),
    postgresql_partition_by="RANGE (episode)",
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

tombstones = Table(
    "tombstones",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("intent", String(64), unique=True),
    Column("deleted_at", String(32), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("key", LargeBinary, nullable=False),
)
"""What is left of a deleted episode: a signed statement (``body``, api/episodes/tombstones.py). They stay for ever."""

arrivals = Table(
    "arrivals",
    metadata,
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("xact", BigInteger, nullable=False),
    Column("episode", String(64), nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("earned", Integer, nullable=False),
    Index(None, "xact", "position"),
)
"""The newest segments of all episodes in the order of their commits, for whoever follows them all.

``xact`` is the transaction that wrote the row on Postgres and 0 on SQLite, which has one writer: see
api/log/arrivals.py. ``earned`` counts the segment's milestones and rewards."""
