"""What a service does by itself now and then: room for tomorrow's episodes, and an end of what is
kept too long."""

from __future__ import annotations

from datetime import timedelta

import structlog

from api.core.background import AFTER_START_S, PeriodicTask
from api.db.database import now
from api.episodes.idempotency import Answers
from api.episodes.partitions import Partitions
from api.log.arrivals import Arrivals
from api.service.removal import Removal

EVERY_S = 3_600.0
AGAIN_S = 60.0
"""How long until the next try where the database could not be used."""

log = structlog.get_logger(__name__)


class Upkeep:
    """The upkeep of one database; any number of replicas may do it at once. ``keep_days`` None: for
    ever."""

    def __init__(
        self,
        partitions: Partitions,
        removal: Removal,
        answers: Answers,
        arrivals: Arrivals,
        keys_kept_days: int,
        keep_days: float | None,
    ) -> None:
        self._partitions, self._removal = partitions, removal
        self._answers, self._arrivals = answers, arrivals
        self._keys_kept_days, self._keep_days = keys_kept_days, keep_days
        self.periodic = PeriodicTask(
            "upkeep",
            self._turn,
            retry_s=AGAIN_S,
            postponed="Upkeep has to wait.",
            failed="Upkeep failed.",
        )

    async def once(self) -> None:
        """Do all upkeep once. Raises `UnavailableError`."""
        await self._partitions.ahead()
        await self._answers.forget(self._keys_kept_days)
        await self._arrivals.trim()
        if self._keep_days is not None and not self._removal.refused:
            due = await self._removal.due(now(-timedelta(days=self._keep_days)))
            gone = await self._removal.prune(due, f"kept for {self._keep_days:g} days", "retention")
            if gone:
                log.info("Old episodes were deleted.", episodes=gone, kept_days=self._keep_days)
        for day in await self._removal.drop_empty():
            log.info(
                "A day's partitions were dropped: none of its episodes is left.",
                day=day.isoformat(),
            )

    async def start(self) -> None:
        """See to today's and tomorrow's partitions, then to all of it, soon and every hour until
        `stop`."""
        await self._partitions.ahead()
        self.periodic.start(AFTER_START_S)

    async def stop(self) -> None:
        """Cancel what is being done and return once it ended."""
        await self.periodic.stop()

    async def _turn(self) -> float:
        await self.once()
        return EVERY_S
