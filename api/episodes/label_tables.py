"""What lists of episodes are narrowed by: their labels, and what was found in them once they were closed.

A row a label and a finding. ``key`` is a digest of it (api/episodes/label_index.py): a label may be longer than an
index takes. ``opened_at`` is the episode's, so that the newest of a label are the end of one index.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table

from api.db.base import metadata

episode_marks = Table(
    "episode_marks",
    metadata,
    Column("key", String(32), primary_key=True),
    Column("tenant", String(64), primary_key=True),
    Column("opened_at", String(32), primary_key=True),
    Column("episode", String(64), primary_key=True),
    Index(None, "episode", "key"),
)
