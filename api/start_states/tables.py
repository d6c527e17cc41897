"""What stood at the start of each closed episode, read from its log once.

A row refers to its task, so that what is compared is of one task version, and with that of one
tenant. ``facts`` is canonical JSON (api/start_states/facts.py), ``digest`` its sha256.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, String, Table, Text

from api.db.base import metadata

start_states = Table(
    "start_states",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("task_number", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("facts", Text, nullable=False),
    Index(None, "task_number", "digest"),
)
