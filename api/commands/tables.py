"""What a harness said through the service, until its daemon has journalled it.

Partitioned on Postgres as the log is (api/log/tables.py).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, String, Table, UniqueConstraint

from api.db.base import EPISODE_KEY, metadata

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
