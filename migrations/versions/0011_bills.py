"""A question's row says on which budgets its bill is, and how many calls.

Of questions that are open now nobody knows that: they go, to be billed when they are asked again,
and no money stays set aside. The calls that they were billed stay charged.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column(
        "opinions", sa.Column("calls", sa.BigInteger(), nullable=False, server_default="0")
    )
    op.add_column("opinions", sa.Column("billed", sa.LargeBinary()))
    op.execute("DELETE FROM opinions WHERE body IS NULL")
    op.execute("UPDATE budgets SET held = 0")


def downgrade() -> None:
    """Take back."""
    op.drop_column("opinions", "billed")
    op.drop_column("opinions", "calls")
