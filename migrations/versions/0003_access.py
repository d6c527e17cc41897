"""Tenants, expiry, limits of tokens. What was there before belongs to the first tenant,
`default`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_OWNED = ("tasks", "episodes", "tokens")


def upgrade() -> None:
    """Apply."""
    for table in _OWNED:
        op.add_column(table, sa.Column("tenant", sa.String(64), nullable=False, server_default="-"))
        op.execute(f"UPDATE {table} SET tenant = 'default'")
    op.add_column("episodes", sa.Column("opened_by", sa.String(32)))
    op.create_index("ix_episodes_tenant_opened_at", "episodes", ["tenant", "opened_at"])
    for column in ("expires_at", "last_used"):
        op.add_column("tokens", sa.Column(column, sa.String(32)))
    op.add_column("tokens", sa.Column("requests_per_s", sa.Float()))
    _unique(("id", "version"), ("tenant", "id", "version"))


def downgrade() -> None:
    """Take back."""
    _unique(("tenant", "id", "version"), ("id", "version"))
    for column in ("requests_per_s", "last_used", "expires_at"):
        op.drop_column("tokens", column)
    op.drop_index("ix_episodes_tenant_opened_at", "episodes")
    op.drop_column("episodes", "opened_by")
    for table in _OWNED:
        op.drop_column(table, "tenant")


def _unique(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Let a task be unique by other columns."""
    if op.get_bind().dialect.name != "sqlite":
        op.drop_constraint(f"uq_tasks_{'_'.join(before)}", "tasks")
        op.create_unique_constraint(f"uq_tasks_{'_'.join(after)}", "tasks", list(after))
        return
    # SQLite changes no constraint of a table that is there, and episodes refer to this one: its
    # rows are put aside, and are back in a new one of the same name before the references are
    # looked at, at the end of the transaction.
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TEMPORARY TABLE tasks_aside AS SELECT * FROM tasks")
    op.drop_table("tasks")
    op.create_table(
        "tasks",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(512), nullable=False),
        sa.Column("version", sa.String(256), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("attainable", sa.Float(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False, server_default="-"),
        sa.PrimaryKeyConstraint("number", name="pk_tasks"),
        sa.UniqueConstraint(*after, name=f"uq_tasks_{'_'.join(after)}"),
    )
    op.execute(
        "INSERT INTO tasks SELECT number, id, version, digest, attainable, body, tenant FROM"
        " tasks_aside"
    )
    op.execute("DROP TABLE tasks_aside")
