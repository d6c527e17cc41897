"""Sandboxes and their heartbeats."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "sandboxes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("instance", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=512)),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("agentd", sa.String(length=64), nullable=False),
        sa.Column("wire", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("episode", sa.String(length=64)),
        sa.Column("beats", sa.BigInteger(), nullable=False),
        sa.Column("through", sa.BigInteger()),
        sa.Column("gaps", sa.Text(), nullable=False),
        sa.Column("registered_at", sa.String(length=32), nullable=False),
        sa.Column("heard_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sandboxes")),
        sa.UniqueConstraint("tenant", "name", name=op.f("uq_sandboxes_tenant_name")),
    )
    op.create_index("ix_sandboxes_state_tenant", "sandboxes", ["state", "tenant"])
    op.create_table(
        "leases",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("episode", sa.String(length=64), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("selector", sa.Text(), nullable=False),
        sa.Column("sandbox", sa.String(length=64)),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("why", sa.String(length=1024)),
        sa.Column("asked_at", sa.String(length=32), nullable=False),
        sa.Column("held_at", sa.String(length=32)),
        sa.Column("ended_at", sa.String(length=32)),
        sa.ForeignKeyConstraint(
            ["episode"],
            ["episodes.id"],
            name=op.f("fk_leases_episode_episodes"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_leases")),
        sa.UniqueConstraint("episode", name=op.f("uq_leases_episode")),
    )
    op.create_index("ix_leases_state_tenant_number", "leases", ["state", "tenant", "number"])


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_leases_state_tenant_number", "leases")
    op.drop_table("leases")
    op.drop_index("ix_sandboxes_state_tenant", "sandboxes")
    op.drop_table("sandboxes")
