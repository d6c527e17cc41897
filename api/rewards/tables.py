"""What was earned: milestones and rewards. Steps and seqs are the journal's.

Partitioned on Postgres as the log is (api/log/tables.py).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, LargeBinary, String, Table

from api.db.base import EPISODE_KEY, metadata

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
