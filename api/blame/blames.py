"""The causes of one service's episodes, read from their stored logs."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from api.blame.causes import (
    BlameJson,
    EpisodeBlameJson,
    blame_findings,
    obstacle_reader,
    summarise,
)
from api.blame.judged import with_judged
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.log.reader import Follower
from api.rewards.ledger import Ledger
from api.tasks.store import Tasks


class VerdictLog(Protocol):
    """What is read of the logs of verdicts."""

    async def read_log(self, episode: str, after: int = 0) -> list[dict[str, Any]]:
        """The events of an episode's log of verdicts."""
        ...


class Blames:
    """Finds causes; nothing is stored, since the same logs always give the same."""

    def __init__(
        self,
        episodes: Episodes,
        ledger: Ledger,
        tasks: Tasks,
        follower: Follower,
        verdicts: VerdictLog,
    ) -> None:
        self._episodes, self._ledger, self._verdicts = episodes, ledger, verdicts
        self._tasks, self._follower = tasks, follower

    async def of_episode(self, row: EpisodeRow) -> BlameJson:
        """Return the causes of an episode by its row, as far as its log goes."""
        task = await self._tasks.document(row.task_number)
        rewards = [orjson.loads(body) for body in await self._ledger.all(row.id)]
        reader = obstacle_reader(task)
        async for event in self._follower.events(row.id):
            reader.apply(event)
        closed = row.status == "closed"
        found = blame_findings(task, reader.findings(), rewards, closed=closed, success=row.success)
        if found["cause"] != "unknown":
            return found
        return with_judged(found, await self._verdicts.read_log(row.id))

    async def summary(self, episode: str) -> EpisodeBlameJson:
        """Return the cause of an episode by its id. Raises `NotFoundError`."""
        return summarise(await self.of_episode(await self._episodes.get(episode)))
