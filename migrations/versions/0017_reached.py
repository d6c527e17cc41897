"""Which set of milestones each closed episode reached, the index by which samples are drawn, and
which episodes were given hints."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_BATCH = 500
_COLUMNS = (
    *("tenant", "task", "opened_at", "id", "status", "success", "total", "reached", "guided",
      "task_number"),
)  # fmt: skip
_CLOSED = sa.text("status = 'closed'")


def upgrade() -> None:
    """Apply."""
    op.add_column("episodes", sa.Column("reached", sa.String(16)))
    op.add_column("episodes", sa.Column("guided", sa.Boolean()))
    connection = op.get_bind()
    after = ""
    while batch := _closed_after(connection, after):
        connection.execute(
            sa.text("UPDATE episodes SET reached = :reached WHERE id = :id"),
            [{"id": id, "reached": _key_of(connection, id)} for id in batch],
        )
        after = batch[-1]
    op.create_index(
        "ix_episodes_drawn",
        "episodes",
        list(_COLUMNS),
        sqlite_where=_CLOSED,
        postgresql_where=_CLOSED,
    )


def _closed_after(connection: sa.Connection, after: str) -> list[str]:
    """Return the ids of the next closed episodes."""
    found = connection.execute(
        sa.text(
            "SELECT id FROM episodes WHERE status = 'closed' AND id > :after"
            " ORDER BY id LIMIT :most"
        ),
        {"after": after, "most": _BATCH},
    )
    return [row.id for row in found]


def _key_of(connection: sa.Connection, episode: str) -> str:
    """Return the key of the episode's milestones, as api/episodes/reached.py makes it."""
    found = connection.execute(
        sa.text("SELECT DISTINCT id FROM milestones WHERE episode = :episode"),
        {"episode": episode},
    )
    text = "\n".join(sorted(row.id for row in found))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_episodes_drawn", "episodes")
    op.drop_column("episodes", "guided")
    op.drop_column("episodes", "reached")
