"""What is signed, and what is counted once an episode is closed.

None of these refers to `episodes`: a leaf and a checkpoint outlive the episode that they name, so
that its deletion shows.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, LargeBinary, String, Table, Text

from api.db.base import metadata

audit_trees = Table(
    "audit_trees",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("full", LargeBinary, nullable=False),
    Column("signed_size", BigInteger, nullable=False),
    Column("signed_day", String(10), nullable=False),
    Column("key", String(160)),
)
"""How far the trees over all episodes and over all labels have grown, and, in the row of the first,
the public ``key`` with which all is signed.

Only the holder of a row's lock signs in that tree."""

leaves = Table(
    "leaves",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("episode", String(64), nullable=False, unique=True),
    Column("body", LargeBinary, nullable=False),
)
"""The leaves of that tree: one statement for each closed episode."""

label_leaves = Table(
    "label_leaves",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("first", String(64), nullable=False),
    Column("second", String(64), nullable=False),
    Column("slot", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
)
"""The leaves of the tree over all that people said (api/audit/label_leaf.py)."""

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("origin", String(256), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    Column("made_at", String(32), nullable=False),
    Column("delivered_at", String(32)),
    Index(None, "origin"),
    Index(None, "delivered_at"),
)

episode_facts = Table(
    "episode_facts",
    metadata,
    Column("episode", String(64), primary_key=True),
    Column("steps", BigInteger, nullable=False),
    Column("masked", BigInteger, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("syntax_errors", BigInteger, nullable=False),
    Column("execution_errors", BigInteger, nullable=False),
    Column("repeated_calls", BigInteger, nullable=False),
    Column("judged", BigInteger, nullable=False),
    Column("cost", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""What reports and the health of rewards need of a closed episode, read from its log once."""
