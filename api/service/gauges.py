"""What /metrics counts in the database: where that is slow to answer, the last counts are told,
with their age."""

from __future__ import annotations

import asyncio
import time

from api.audit.watching import HealthGauges
from api.core.background import end
from api.core.metrics import Metrics
from api.episodes.store import Episodes
from api.fleet.leases import Leases
from api.fleet.owners import Owners
from api.fleet.store import Sandboxes
from api.verdicts.escalations import Escalations

WITHIN_S = 2.0
"""How long a scrape waits for the counts; Prometheus gives up after ten seconds."""


class Gauges:
    """Counts at each scrape, one count at a time."""

    def __init__(
        self,
        metrics: Metrics,
        episodes: Episodes,
        sandboxes: Sandboxes,
        leases: Leases,
        owners: Owners,
        escalations: Escalations,
        health: HealthGauges,
    ) -> None:
        self._metrics, self._episodes, self._sandboxes = metrics, episodes, sandboxes
        self._leases, self._owners = leases, owners
        self._escalations, self._health = escalations, health
        self._counting: asyncio.Task[None] | None = None
        self._counted_at = time.monotonic()
        metrics.gauges_age.set_function(lambda: time.monotonic() - self._counted_at)

    async def refresh(self) -> None:
        """Count anew, or wait for the count under way; at most `WITHIN_S`. Raises
        `UnavailableError`."""
        if self._counting is None or self._counting.done():
            self._counting = asyncio.create_task(self._count())
            # Nobody may be left to hear what it failed with.
            self._counting.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Not cancelled when the time is over: a query that is given up costs its connection.
        for counted in (await asyncio.wait({self._counting}, timeout=WITHIN_S))[0]:
            await counted

    async def stop(self) -> None:
        """Give up the count under way."""
        await end(self._counting)

    async def _count(self) -> None:
        metrics = self._metrics
        metrics.open_episodes.set(await self._episodes.count_open())
        metrics.fleet(await self._sandboxes.counts(), await self._leases.queued())
        owned, longest_s = await self._owners.measure()
        metrics.owned.set(owned)
        metrics.owner_silence.set(longest_s)
        metrics.escalating.set(await self._escalations.count())
        await self._health.refresh()
        self._counted_at = time.monotonic()
