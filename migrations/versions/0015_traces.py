"""The trace of an episode's opener, and how far an episode's own trace is sent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("episodes", sa.Column("traceparent", sa.String(55)))
    op.create_table(
        "trace_exports",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("episode", name="pk_trace_exports"),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("trace_exports")
    op.drop_column("episodes", "traceparent")
