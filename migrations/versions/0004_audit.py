"""Checkpoints, the tree over all episodes, and what reports need of each."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_COUNTS = (
    "steps",
    "masked",
    "calls",
    "syntax_errors",
    "execution_errors",
    "repeated_calls",
    "judged",
)


def upgrade() -> None:
    """Apply. What was closed before waits for its checkpoint too."""
    op.create_table(
        "closings",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("queued_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("episode", name="pk_closings"),
    )
    op.create_table(
        "audit_trees",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("full", sa.LargeBinary(), nullable=False),
        sa.Column("signed_size", sa.BigInteger(), nullable=False),
        sa.Column("signed_day", sa.String(10), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_audit_trees"),
    )
    op.create_table(
        "leaves",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_leaves"),
        sa.UniqueConstraint("episode", name="uq_leaves_episode"),
    )
    op.create_table(
        "checkpoints",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("origin", sa.String(256), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
        sa.Column("delivered_at", sa.String(32)),
        sa.PrimaryKeyConstraint("number", name="pk_checkpoints"),
    )
    for column in ("origin", "delivered_at"):
        op.create_index(f"ix_checkpoints_{column}", "checkpoints", [column])
    op.create_table(
        "episode_facts",
        sa.Column("episode", sa.String(64), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _COUNTS),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("episode", name="pk_episode_facts"),
    )
    op.execute(
        "INSERT INTO closings (episode, queued_at) "
        "SELECT id, COALESCE(closed_at, opened_at) FROM episodes WHERE status = 'closed'"
    )


def downgrade() -> None:
    """Take back."""
    for table in ("episode_facts", "checkpoints", "leaves", "audit_trees", "closings"):
        op.drop_table(table)
