"""What goes beyond the rules: questions that wait, answers that are kept, and each episode's log of
verdicts.

Times named ``_at`` or ``due`` are seconds since 1970 by the database's own clock: replicas never
compare theirs. Rows name their episode and are written under the lock of its row.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
)

from api.db.base import metadata

verdicts = Table(
    "verdicts",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("step", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("prev", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "episode", "step"),
)
"""The service's own events of an episode, chained: ``digest`` is the sha256 of ``body``, which
names ``prev``. Rows are added and never changed. ``kind``: verdict.given, step.decided."""

escalations = Table(
    "escalations",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("item", String(512), primary_key=True),
    Column("audit", Boolean, nullable=False),
    Column("queued_at", Float, nullable=False),
    Column("due", Float, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("runner", String(32)),
    Index(None, "due"),
)
"""Items of sealed steps that wait for an answer; a row goes when its item is answered. ``due``:
when somebody may take it; who takes it moves ``due`` to the end of the lease, so that what a dead
worker held comes due by itself."""

opinions = Table(
    "opinions",
    metadata,
    Column("stage", String(16), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("episode", String(64), nullable=False),
    Column("runner", String(32)),
    Column("until_at", Float, nullable=False),
    Column("held", Float, nullable=False),
    Column("body", LargeBinary),
    Column("calls", BigInteger, nullable=False, server_default="0"),
    Column("billed", LargeBinary),
    Index(None, "episode"),
)
"""One row for each question that was ever put to a stage, by the digest of all that the answer
depends on; ``episode`` paid for it. ``body`` is NULL while it is asked. It is billed when the row
is made, so once, whoever asks again: on the budgets in ``billed`` (JSON, scope and of whom; NULL
once it is answered) ``calls``, and ``held`` of their money is set aside."""

budgets = Table(
    "budgets",
    metadata,
    Column("scope", String(16), primary_key=True),
    Column("key", String(640), primary_key=True),
    Column("calls", BigInteger, nullable=False),
    Column("cost", Float, nullable=False),
    Column("held", Float, nullable=False),
)
"""What was spent by episode, task, tenant and day; ``held`` is set aside for calls that run. Of the
scope ``stage`` the ``cost`` is the most that one call of that stage ever cost."""
