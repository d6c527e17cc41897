"""Sessions of the Open Reward Standard and the tool calls in them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "ors_sessions",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("sid", sa.String(128), nullable=False),
        sa.Column("environment", sa.String(512), nullable=False),
        sa.Column("task", sa.String(512), nullable=False),
        sa.Column("version", sa.String(256), nullable=False),
        sa.Column("episode", sa.String(64)),
        sa.Column("opened", sa.Boolean(), nullable=False),
        sa.Column("wait_ms", sa.Integer(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("step", sa.BigInteger()),
        sa.Column("finished", sa.Boolean(), nullable=False),
        sa.Column("seen_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "sid", name="pk_ors_sessions"),
    )
    for column in ("seen_at", "episode"):
        op.create_index(f"ix_ors_sessions_{column}", "ors_sessions", [column])
    op.create_table(
        "ors_calls",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("sid", sa.String(128), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("episode", sa.String(64)),
        sa.Column("name", sa.String(256), nullable=False),
        sa.Column("input", sa.LargeBinary(), nullable=False),
        sa.Column("result", sa.LargeBinary()),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ors_calls"),
    )
    op.create_index(
        "ix_ors_calls_tenant_sid_number", "ors_calls", ["tenant", "sid", "number"], unique=True
    )
    op.create_index("ix_ors_calls_episode", "ors_calls", ["episode"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("ors_calls")
    op.drop_table("ors_sessions")
