"""What stood at the start of each closed episode."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "start_states",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("task_number", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("episode", name="pk_start_states"),
    )
    op.create_index("ix_start_states_task_number_digest", "start_states", ["task_number", "digest"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("start_states")
