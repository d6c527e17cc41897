"""What lists of episodes are sorted and filtered by, for a tenant."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_BY = (
    ("tenant", "opened_at", "id"),
    ("tenant", "total", "id"),
    ("tenant", "task", "opened_at", "id"),
)


def upgrade() -> None:
    """Apply."""
    op.drop_index("ix_episodes_tenant_opened_at", "episodes")
    for columns in _BY:
        op.create_index(f"ix_episodes_{'_'.join(columns)}", "episodes", list(columns))


def downgrade() -> None:
    """Take back."""
    for columns in _BY:
        op.drop_index(f"ix_episodes_{'_'.join(columns)}", "episodes")
    op.create_index("ix_episodes_tenant_opened_at", "episodes", ["tenant", "opened_at"])
