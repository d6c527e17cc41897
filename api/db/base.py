"""The one MetaData, with names for constraints that SQLite and Postgres share."""

from __future__ import annotations

from sqlalchemy import MetaData, String

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

PARTITIONED = ("segments", "steps", "milestones", "rewards", "commands")
"""The tables that Postgres keeps in a partition a day (docs/decisions/0008)."""
EPISODE_KEY = String(64).with_variant(String(64, collation="C"), "postgresql")
"""An episode's id where Postgres partitions by it: compared bytewise, whatever the locale."""
