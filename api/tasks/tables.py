"""Tasks as they were registered: a row a version, never changed.

``tenant`` owns the row; ``-`` is nobody, so that a row without an owner is found by none.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, LargeBinary, String, Table, UniqueConstraint

from api.db.base import metadata

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
