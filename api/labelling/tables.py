"""What people said: which of two episodes of a task is better, or whether a step brought the task
on.

``first`` is the lower id of a pair, whichever side it stood on when somebody looked, so that
everybody's words on a pair are found together; of a step ``second`` is empty and ``item`` is what
was asked (``step``, ``goal``, a milestone). ``choice``: first, second, tie or unsure of a pair;
yes, no or unsure of a step. ``annotator`` is a token's id.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table, UniqueConstraint

from api.db.base import metadata

preferences = Table(
    "preferences",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("task", String(512), nullable=False),
    Column("first", String(64), nullable=False),
    Column("second", String(64), nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("item", String(512), nullable=False),
    Column("choice", String(8), nullable=False),
    Column("annotator", String(32), nullable=False),
    Column("final", Boolean, nullable=False),
    Column("said_at", String(32), nullable=False),
    Column("leaf", BigInteger),
    UniqueConstraint("tenant", "first", "second", "step", "item", "annotator"),
    Index(None, "first"),
    Index(None, "second"),
    Index(None, "leaf"),
)
"""``step`` -1: whole episodes. ``final``: it became the step's final verdict. ``leaf``: its number
in `api.audit.tables.label_leaves`, None until it was added there."""
