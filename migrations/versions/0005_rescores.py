"""Rescores and their differences."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "rescores",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("task", sa.LargeBinary()),
        sa.Column("episodes", sa.BigInteger(), nullable=False),
        sa.Column("scored", sa.BigInteger(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("runner", sa.String(64)),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("finished_at", sa.String(32)),
        sa.PrimaryKeyConstraint("number", name="pk_rescores"),
        sa.UniqueConstraint("id", name="uq_rescores_id"),
    )
    op.create_index("ix_rescores_status_number", "rescores", ["status", "number"])
    op.create_index("ix_rescores_tenant_number", "rescores", ["tenant", "number"])
    op.create_table(
        "rescored",
        sa.Column("rescore", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16)),
        sa.Column("digest", sa.String(64)),
        sa.Column("body", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["rescore"],
            ["rescores.number"],
            name="fk_rescored_rescore_rescores",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["episode"], ["episodes.id"], name="fk_rescored_episode_episodes", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("rescore", "number", name="pk_rescored"),
    )
    op.create_index("ix_rescored_episode", "rescored", ["episode"])


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_rescored_episode", "rescored")
    op.drop_table("rescored")
    op.drop_index("ix_rescores_tenant_number", "rescores")
    op.drop_index("ix_rescores_status_number", "rescores")
    op.drop_table("rescores")
