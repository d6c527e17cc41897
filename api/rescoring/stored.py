"""Stored episodes as material: what they were worth is what the service sealed as they ran."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from api.db.database import Database
from api.rescoring.corpus import Corpus, CorpusSelection, StoredEpisode
from api.rescoring.work import Material
from api.rewards.scored_episode import stored_result
from detectors.model.codec import canonical


def material(stored: StoredEpisode, task: bytes | None, keep: bool) -> Material:
    """An episode to be scored by ``task``, or by its own under this build's rules (None)."""
    old = canonical(stored_result(stored.row, stored.rewards, stored.milestones))
    said, tenant = tuple(stored.verdicts), stored.row.tenant
    return Material(
        stored.row.id,
        stored.content,
        task or stored.task,
        old_result=old,
        keep=keep,
        said=said,
        tenant=tenant,
    )


def episodes(url: str, selection: CorpusSelection) -> Iterator[StoredEpisode]:
    """The selected episodes of a database, for a command that knows no loop. Raises
    `UnavailableError`.

    Each page is read by a connection of its own: who stops in the midst of the episodes leaves
    nothing that somebody would have to close.
    """
    after: str | None = ""
    while after is not None:
        page, after = asyncio.run(_read_page(url, selection, after))
        yield from page


async def _read_page(
    url: str, selection: CorpusSelection, after: str
) -> tuple[list[StoredEpisode], str | None]:
    database = Database(url)
    try:
        return await Corpus(database).page(selection, after)
    finally:
        await database.close()


def count(url: str, selection: CorpusSelection) -> int:
    """How many episodes are selected. Raises `UnavailableError`."""

    async def counted() -> int:
        database = Database(url)
        try:
            return sum([1 async for _ in Corpus(database).rows(selection)])
        finally:
            await database.close()

    return asyncio.run(counted())
