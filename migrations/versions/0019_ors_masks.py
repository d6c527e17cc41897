"""Sessions of the Open Reward Standard name the causes that they mask. Back: they name none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("ors_sessions", sa.Column("mask_causes", sa.String(256)))


def downgrade() -> None:
    """Take back."""
    op.drop_column("ors_sessions", "mask_causes")
