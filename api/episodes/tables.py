"""Episodes, the answers kept for repeated requests, and what is left of a deleted episode.

Times are UTC text for people: retention alone goes by them. ``tenant`` owns the row; ``-`` is
nobody, so that a row without an owner is found by none. ``opened_by`` is a token's id,
``traceparent`` the opener's trace and span (common/trace_context.py). ``guided``: hints were
given. ``reached`` is the key of the
set of milestones that a closed episode reached (api/episodes/reached.py).
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
    text,
)

from api.db.base import metadata

CLOSED = "status = 'closed'"
"""The rows of `ix_episodes_drawn`, by which samples are drawn without a look at the table: a query
says it in the same words, or SQLite does not use the index."""

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
    Column("traceparent", String(55)),
    Column("reached", String(16)),
    Column("guided", Boolean),
    Index(None, "tenant", "opened_at", "id"),
    Index(None, "tenant", "total", "id"),
    Index(None, "tenant", "task", "opened_at", "id"),
    Index(None, "tenant", "opened_by", "opened_at", "id"),
    Index(None, "tenant", "status", "opened_at", "id"),
    Index(None, "tenant", "success", "opened_at", "id"),
    Index(None, "closed_at"),
    Index(
        "ix_episodes_drawn",
        "tenant",
        "task",
        "opened_at",
        "id",
        "status",
        "success",
        "total",
        "reached",
        "guided",
        "task_number",
        sqlite_where=text(CLOSED),
        postgresql_where=text(CLOSED),
    ),
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
"""A deleted episode's signed statement (``body``, api/episodes/tombstones.py), kept for ever."""

episode_marks = Table(
    "episode_marks",
    metadata,
    Column("key", String(32), primary_key=True),
    Column("tenant", String(64), primary_key=True),
    Column("opened_at", String(32), primary_key=True),
    Column("episode", String(64), primary_key=True),
    Index(None, "episode", "key"),
)
"""What lists of episodes are filtered by: labels, and findings once an episode is closed.

A row a label and a finding. ``key`` is its digest (api/episodes/label_index.py): a label may be
longer than an index takes. ``opened_at`` is the episode's, so that the newest of a label are the
end of one index.
"""

closings = Table(
    "closings",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("queued_at", String(32), nullable=False),
)
"""Closed episodes that wait for their checkpoint; written in the transaction that closes them."""

trace_exports = Table(
    "trace_exports",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("step", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", Float, nullable=False),
)
"""Episodes whose trace is not wholly sent (api/telemetry): the spans of all steps before ``step``
are, and the log is read up to event ``seq``.

Written in the transaction that opens the episode; gone once its root span is sent. ``attempts``
were refused since then, ``due`` is when the next one may be, in seconds since 1970 by the
database's clock."""
