"""What people said is committed to: a tree of which each word is a leaf. The service adds those
that are there when it starts. Back: they are no leaves, and what was signed of these is forgotten,
so that the tree may begin anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "label_leaves",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first", sa.String(64), nullable=False),
        sa.Column("second", sa.String(64), nullable=False),
        sa.Column("slot", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_label_leaves"),
    )
    op.add_column("preferences", sa.Column("leaf", sa.BigInteger()))
    op.create_index("ix_preferences_leaf", "preferences", ["leaf"])


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_preferences_leaf", "preferences")
    op.drop_column("preferences", "leaf")
    op.drop_table("label_leaves")
    op.execute("DELETE FROM audit_trees WHERE name = 'labels'")
    op.execute(
        "DELETE FROM checkpoints"
        " WHERE origin LIKE '%/labels' AND origin NOT LIKE '%/episodes/labels'"
    )
