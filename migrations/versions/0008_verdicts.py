"""Escalations and what stages said."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "verdicts",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("prev", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("episode", "seq", name="pk_verdicts"),
    )
    op.create_index("ix_verdicts_episode_step", "verdicts", ["episode", "step"])
    op.create_table(
        "escalations",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("step", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("item", sa.String(512), nullable=False),
        sa.Column("audit", sa.Boolean(), nullable=False),
        sa.Column("queued_at", sa.Float(), nullable=False),
        sa.Column("due", sa.Float(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("runner", sa.String(32)),
        sa.PrimaryKeyConstraint("episode", "step", "item", name="pk_escalations"),
    )
    op.create_index("ix_escalations_due", "escalations", ["due"])
    op.create_table(
        "opinions",
        sa.Column("stage", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("runner", sa.String(32)),
        sa.Column("until_at", sa.Float(), nullable=False),
        sa.Column("held", sa.Float(), nullable=False),
        sa.Column("body", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("stage", "digest", name="pk_opinions"),
    )
    op.create_index("ix_opinions_episode", "opinions", ["episode"])
    op.create_table(
        "budgets",
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("key", sa.String(640), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("held", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_budgets"),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("budgets")
    op.drop_index("ix_opinions_episode", "opinions")
    op.drop_table("opinions")
    op.drop_index("ix_escalations_due", "escalations")
    op.drop_table("escalations")
    op.drop_index("ix_verdicts_episode_step", "verdicts")
    op.drop_table("verdicts")
