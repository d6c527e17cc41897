"""The tree says with whose key it is signed, from the first start on: a replica with another key is
refused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("audit_trees", sa.Column("key", sa.String(160)))


def downgrade() -> None:
    """Take back."""
    op.drop_column("audit_trees", "key")
