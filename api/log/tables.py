"""The log: segments of events, each as its daemon sent it or several in a row, the steps in them,
and the order of their commits.

Steps and seqs are the journal's. On Postgres the tables of what a journal told are partitioned by
the day on which the episode was opened, which its id begins with (docs/decisions/0008): their rows
refer to `episodes` by being written under the lock of its row.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Table

from api.db.base import EPISODE_KEY, metadata

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

packings = Table(
    "packings",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("queued_at", String(32), nullable=False),
    Index(None, "queued_at"),
)
"""Signed episodes whose segments are to be packed together (api/log/packing.py)."""

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
"""The newest segments of all episodes in the order of their commits, for subscribers of all.

``xact`` is the transaction that wrote the row on Postgres, 0 on SQLite, which has one writer
(api/log/arrivals.py). ``earned`` counts the segment's milestones and rewards."""
