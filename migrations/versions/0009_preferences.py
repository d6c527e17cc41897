"""What people said of trajectories and steps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_WHOSE = ("tenant", "first", "second", "step", "item", "annotator")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "preferences",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("task", sa.String(512), nullable=False),
        sa.Column("first", sa.String(64), nullable=False),
        sa.Column("second", sa.String(64), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.String(512), nullable=False),
        sa.Column("choice", sa.String(8), nullable=False),
        sa.Column("annotator", sa.String(32), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.Column("said_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_preferences"),
        sa.UniqueConstraint(*_WHOSE, name=f"uq_preferences_{'_'.join(_WHOSE)}"),
    )
    for column in ("first", "second"):
        op.create_index(f"ix_preferences_{column}", "preferences", [column])


def downgrade() -> None:
    """Take back."""
    op.drop_table("preferences")
