"""Owners of episodes and since when they could be heard."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "owners",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("silence_s", sa.Float(), nullable=False),
        sa.Column("heard_at", sa.Float(), nullable=False),
        sa.Column("step", sa.BigInteger()),
        sa.Column("why", sa.String(1024)),
        sa.PrimaryKeyConstraint("episode", name="pk_owners"),
        sa.ForeignKeyConstraint(
            ["episode"], ["episodes.id"], name="fk_owners_episode_episodes", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_owners_why", "owners", ["why"])
    op.create_table(
        "hearing",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("looked_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hearing"),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("hearing")
    op.drop_table("owners")
