"""Labels and findings of episodes as keys of one index, the same on every database.

A label's value is compared as text: a string as it is, anything else as its JSON (``true``,
``null``, ``1.5``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from sqlalchemy import ColumnElement, exists, insert, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from api.episodes.tables import episode_marks, episodes
from detectors.model.codec import canonical, sha256, text_or_json

Finding = Literal["masked", "gap", "tamper"]
FINDINGS: tuple[Finding, ...] = get_args(Finding)
"""A step whose reward is null; a coverage gap; an access to rules or gold data (docs/audit.md)."""


def label_text(value: object) -> str:
    """A label's value as a query names it."""
    return text_or_json(value)


def label_key(name: str, value: str) -> str:
    """Digest a label's name and value into its key."""
    return sha256(canonical(["label", name, value]))[:32]


def finding_key(finding: Finding) -> str:
    """Digest a finding's name into its key."""
    return sha256(canonical(["finding", finding]))[:32]


def label_rows(
    labels: Mapping[str, object], tenant: str, opened_at: str, episode: str
) -> list[dict[str, str]]:
    """The rows of a new episode's labels."""
    keys = sorted({label_key(name, label_text(value)) for name, value in labels.items()})
    return [
        {"key": key, "tenant": tenant, "opened_at": opened_at, "episode": episode} for key in keys
    ]


async def mark_found(conn: AsyncConnection, episode: str, findings: Iterable[Finding]) -> None:
    """Note what was found in an episode that is there."""
    row = (episodes.c.tenant, episodes.c.opened_at, episodes.c.id)
    for finding in findings:
        found = select(literal(finding_key(finding)), *row).where(episodes.c.id == episode)
        await conn.execute(
            insert(episode_marks).from_select([column.name for column in episode_marks.c], found)
        )


def has_mark(key: str) -> ColumnElement[bool]:
    """What is true of rows of episodes that bear the mark: one look into its index for each."""
    of = episode_marks.c
    return exists().where(of.key == key, of.episode == episodes.c.id).correlate(episodes)
