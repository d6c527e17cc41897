"""Tombstones of deleted episodes, and the order in which segments arrived."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_index("ix_episodes_closed_at", "episodes", ["closed_at"])
    op.create_table(
        "tombstones",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("intent", sa.String(64)),
        sa.Column("deleted_at", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("episode", name="pk_tombstones"),
        sa.UniqueConstraint("intent", name="uq_tombstones_intent"),
    )
    op.create_table(
        "arrivals",
        sa.Column("position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("xact", sa.BigInteger(), nullable=False),
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("earned", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_arrivals"),
    )
    op.create_index("ix_arrivals_xact_position", "arrivals", ["xact", "position"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("arrivals")
    op.drop_table("tombstones")
    op.drop_index("ix_episodes_closed_at", "episodes")
