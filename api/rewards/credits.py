"""Which step what an episode earned is credited to, of what is stored: a view, which changes no
sealed reward."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.rewards.ledger import Ledger
from api.tasks.store import Tasks
from detectors.engine.attribution import Credit, credit, credited_to_cause
from detectors.model.rewards import RewardJson


class Credits:
    """The credit of the steps of one service's episodes."""

    def __init__(self, ledger: Ledger, episodes: Episodes, tasks: Tasks) -> None:
        self._ledger, self._episodes, self._tasks = ledger, episodes, tasks

    async def by_step(
        self, row: EpisodeRow, rewards: Sequence[RewardJson], how: Credit
    ) -> dict[int, float | None]:
        """Step → credit, of an episode's row and its rewards."""
        to_cause = (
            credited_to_cause(await self._tasks.document(row.task_number))
            if how == "cause"
            else frozenset()
        )
        return credit(rewards, to_cause, how, closed=row.status == "closed")

    async def of_episode(self, episode: str, how: Credit) -> dict[int, float | None]:
        """The same of an episode's id. Raises `NotFoundError`."""
        row = await self._episodes.get(episode)
        return await self.by_step(
            row, [orjson.loads(body) for body in await self._ledger.all(episode)], how
        )
