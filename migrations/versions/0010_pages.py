"""What the pages look for: labels and findings of episodes as marks, which one index finds.

Labels of episodes that are there are marked, and what their facts say; gaps only of episodes that
close from now on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

from api.audit.tables import episode_facts
from api.episodes.label_index import Finding, finding_key, label_rows
from api.episodes.tables import episode_marks, episodes

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_TOGETHER = 1_000
_LISTED_BY = ("opened_by", "status", "success")


def upgrade() -> None:
    """Apply."""
    key = [sa.Column(name, sa.String(length), nullable=False) for name, length in _COLUMNS]
    op.create_table(
        "episode_marks",
        *key,
        sa.PrimaryKeyConstraint(*(n for n, _ in _COLUMNS), name="pk_episode_marks"),
    )
    op.create_index("ix_episode_marks_episode_key", "episode_marks", ["episode", "key"])
    for name in _LISTED_BY:
        op.create_index(
            f"ix_episodes_tenant_{name}_opened_at_id",
            "episodes",
            ["tenant", name, "opened_at", "id"],
        )
    columns = (episodes.c.id, episodes.c.tenant, episodes.c.opened_at, episodes.c.labels)
    facts = (episode_facts.c.masked, episode_facts.c.body)
    joined = sa.select(*columns, *facts).outerjoin(
        episode_facts, episode_facts.c.episode == episodes.c.id
    )
    conn, after = op.get_bind(), ""
    page = joined.order_by(episodes.c.id).limit(_TOGETHER)
    while rows := conn.execute(page.where(episodes.c.id > after)).all():
        after = rows[-1].id
        marks = [mark for row in rows for mark in _marks(row)]
        if marks:
            conn.execute(sa.insert(episode_marks), marks)


_COLUMNS = (("key", 32), ("tenant", 64), ("opened_at", 32), ("episode", 64))


def _marks(row: Any) -> Iterator[dict[str, str]]:
    yield from label_rows(orjson.loads(row.labels), row.tenant, row.opened_at, row.id)
    found: list[Finding] = ["masked"] if row.masked else []
    if row.body is not None and orjson.loads(bytes(row.body))["tamper"]:
        found.append("tamper")
    for one in found:
        yield {
            "key": finding_key(one),
            "tenant": row.tenant,
            "opened_at": row.opened_at,
            "episode": row.id,
        }


def downgrade() -> None:
    """Take back."""
    for name in _LISTED_BY:
        op.drop_index(f"ix_episodes_tenant_{name}_opened_at_id", "episodes")
    op.drop_table("episode_marks")
