"""Whether an episode's daemon sees: what its log tells of the gaps of its sources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from api.core.notify import Deadline, Notifier, log_of
from api.episodes.store import Episodes
from api.fleet import leases
from api.fleet.daemon_calls import DaemonCalls
from api.fleet.leases import Leases
from api.log.frames import decode_frame
from api.log.segments import StoredSegments
from detectors.model.caches import SizedCache
from detectors.model.memory import size_of
from detectors.model.optional_values import entries_without_none

_SEGMENTS_A_LOOK = 64
SIGHTS_BYTES = 16 * 1024 * 1024
"""Bytes of the gaps that are remembered, to read only what the logs told since."""
_MAX_SOURCES = 64
_MAX_TEXT = 500
"""Characters of a source's name and of a reason that are told."""
NO_DAEMON = (
    "no daemon has begun: wanted `agentd run` with the episode's token, or the episode opened with"
    " a sandbox"
)
QUEUED = "no sandbox of the fleet has taken the episode"
SILENT = "its sandbox's daemon was not heard of for {} s"
SILENT_RUN = "the episode's daemon was not heard of for {} s"
LOOK_S = 5.0
"""Silence and its end are no change of the log: how often they are looked for."""
CLOSED = "the episode is closed"


class Sight(NamedTuple):
    """What was told up to event ``through``: every source with the reason why it does not see, None
    where it does."""

    through: int
    sources: dict[str, str | None]


class EpisodeReadiness:
    """Reads the gaps of whole sources out of logs. A gap of a part of a page is none of these: it
    comes and goes."""

    def __init__(
        self,
        segments: StoredSegments,
        episodes: Episodes,
        leases: Leases,
        notifier: Notifier,
        silent_s: Callable[[str], float],
        calls: DaemonCalls,
    ) -> None:
        """``silent_s``: how long nothing was heard of a sandbox of the fleet; ``calls``: those of
        the daemons outside of it."""
        self._silent_s, self._calls = silent_s, calls
        self._segments, self._episodes, self._leases, self._notifier = (
            segments,
            episodes,
            leases,
            notifier,
        )
        self.seen: SizedCache[str, Sight] = SizedCache(SIGHTS_BYTES)

    def forget(self) -> None:
        """Forget the readiness of episodes that were deleted."""
        self.seen.clear()

    async def wait_until_ready(self, episode: str, deadline: Deadline) -> dict[str, Any]:
        """Return the answer of the wire once every source sees, the episode is closed, or time is
        up."""
        while True:
            changed = self._notifier.watch(log_of(episode))
            answer = await self._describe(episode)
            left = deadline.remaining_s()
            over = left <= 0 or self._notifier.stopped
            if answer["ready"] or answer["status"] == "closed" or over:
                return answer
            await self._notifier.wait(changed, min(left, LOOK_S))

    async def _describe(self, episode: str) -> dict[str, object]:
        """Return which sources see, and what an episode still waits for: a sandbox, a daemon, a
        source."""
        row = await self._episodes.get(episode)
        sight = await self._sight(episode, row.through)
        waiting = entries_without_none(sight.sources)
        if row.status == "closed":
            waiting = {"episode": CLOSED}
        else:
            lease = await self._leases.find(episode)
            if sight.through == 0:
                queued = lease is not None and leases.describe(lease)["state"] == "queued"
                waiting = {"sandbox": QUEUED} if queued else {"agentd": NO_DAEMON}
            if lease is not None:
                waiting |= _silence("sandbox", SILENT, self._silent_s(str(lease.sandbox)))
            elif sight.through:
                waiting |= _silence("agentd", SILENT_RUN, self._calls.silent_s(episode))
        sources = [
            {"source": name, "sees": why is None, "reason": why}
            for name, why in sorted(sight.sources.items())
        ]
        return {
            "episode": episode,
            "status": row.status,
            "through": sight.through,
            "ready": not waiting,
            "waiting": waiting,
            "sources": sources,
        }

    async def _sight(self, episode: str, through: int) -> Sight:
        """Read the gaps of sources from the segments that came since."""
        sight = self.seen.get(episode) or Sight(0, {})
        while sight.through < through and (
            rows := await self._segments.list_after(episode, sight.through, _SEGMENTS_A_LOOK)
        ):
            frames = [bytes(row.frame) for row in rows]
            sight = Sight(
                rows[-1].last, await asyncio.to_thread(_apply_gaps, dict(sight.sources), frames)
            )
        self.seen.put(episode, sight, size_of([sight]))
        return sight


def _silence(name: str, why: str, silent_s: float) -> dict[str, str]:
    return {name: why.format(round(silent_s))} if silent_s else {}


def _apply_gaps(sources: dict[str, str | None], frames: Sequence[bytes]) -> dict[str, str | None]:
    """Change ``sources`` by the gaps of whole sources in the frames, and return them."""
    for frame in frames:
        for event in decode_frame(frame):
            if event.kind not in ("gap.began", "gap.ended") or event.data.get("part") is not None:
                continue
            name = str(event.data.get("source"))[:_MAX_TEXT]
            if name not in sources and len(sources) == _MAX_SOURCES:
                continue
            reason = str(event.data.get("reason") or "not told")[:_MAX_TEXT]
            sources[name] = reason if event.kind == "gap.began" else None
    return sources
