"""Looks at the fleet every few seconds: gives up sandboxes that are silent, ends the episodes that
they had.

Every replica looks; the database decides who acts (`Sandboxes.give_up`), and whatever a killed
replica left half done the next look of any other one finishes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping

import structlog
from zstandard import ZstdError

from api.core.background import AFTER_START_S, PeriodicTask
from api.core.errors import ProblemError, UnavailableError
from api.core.heartbeat import Pulse
from api.core.notify import Notifier
from api.fleet.daemon_calls import SILENT, DaemonCalls
from api.fleet.leases import Leases, UnconfirmedLease, settled_topic
from api.fleet.store import LivingSandbox, Sandboxes
from api.ingest.strangers import Strangers
from detectors.model.codec import CodecError
from detectors.model.errors import DetectorError

LOOKS = 6
"""Looks, and beats of an idle sandbox, within the time after which a silent one is lost: it waits
for its next episode beside its beat, and whoever looks for a free one counts on it."""
BUSY_BEAT = 3 / 4
"""Part of that time between two beats of a sandbox with an episode. Its daemon's segments and
questions for commands are signs of life too (api/fleet/daemon_calls.py)."""
MAX_LOOK_S = 5.0
IDLE = 1 / 2
"""Part of that time after which an idle sandbox is lost: it has no episode that could be lost with
it, and with its next heartbeat it is idle again."""
CONFIRM = 1 / 2
"""Part of the time between two heartbeats within which an idle sandbox, whose daemon waits at an
open connection, has to take an episode. Else another one gets it."""
MIN_CONFIRM_S = 1.0

_Sign = tuple[int, float | None]
"""Beats of a sandbox, and when the daemon of its episode called last."""
End = Callable[[str, str], Awaitable[None]]
"""Ends an episode's log, for a reason."""

log = structlog.get_logger()


class FleetWatch:
    """Watches from `start` to `stop`; ``lost_s`` is how long a sandbox may be silent."""

    def __init__(
        self,
        sandboxes: Sandboxes,
        leases: Leases,
        strangers: Strangers,
        notifier: Notifier,
        calls: DaemonCalls,
        end: End,
        lost_s: float,
        kept_days: int,
    ) -> None:
        self._sandboxes = sandboxes
        self._leases = leases
        self._notifier = notifier
        self._calls = calls
        self._end = end
        self._strangers = strangers
        self._swept = -math.inf
        self._closing: frozenset[str] = frozenset()
        self._lost_s, self._kept_days = lost_s, kept_days
        self._look_s = min(lost_s / LOOKS, MAX_LOOK_S)
        self._pulse: Pulse[_Sign] = Pulse(lost_s, self._look_s)
        self._idle_silent_s = lost_s * IDLE - self._look_s
        self._confirm_s = max(MIN_CONFIRM_S, self.beat_s * CONFIRM)
        self._looked_at = -math.inf
        self._unconfirmed: dict[UnconfirmedLease, float] = {}
        self._periodic = PeriodicTask(
            "fleet watch",
            self._turn,
            retry_s=self._look_s,
            postponed="The fleet can't be looked at now.",
            failed="The fleet can't be looked at.",
        )

    @property
    def beat_s(self) -> float:
        """How often an idle sandbox's daemon should beat, in seconds."""
        return self._lost_s / LOOKS

    def beat_of(self, state: str) -> float:
        """How often the daemon of a sandbox in that state should beat, in seconds."""
        return self._lost_s * BUSY_BEAT if state == "busy" else self.beat_s

    def silent_s(self, sandbox: str) -> float:
        """How long nothing was heard of a sandbox; 0 while it may be on its way to be heard: its
        beats and our looks each take their time."""
        silent = self._pulse.silent_s(sandbox)
        return silent if silent > self._lost_s * SILENT else 0.0

    async def start(self) -> None:
        """Forget who went long ago, and look from now on."""
        await self._sandboxes.forget(self._kept_days)
        strange = await self._strangers.count()
        if strange:
            log.warning(
                "Episodes are open of which this build has not the rules: it can only end them.",
                many=strange,
            )
        self._periodic.start(min(self._look_s, AFTER_START_S))

    async def stop(self) -> None:
        """Cancel the look that runs and return once it ended."""
        await self._periodic.stop()

    async def _turn(self) -> float:
        await self.look(time.monotonic())
        return self._look_s

    async def look(self, at: float) -> None:
        """One look, at the monotonic time ``at``."""
        living = await self._sandboxes.living()
        for sandbox in self._pulse.look(at, self._signs(living)):
            await self._give_up(sandbox, living[sandbox].beats, self._lost_s)
        for sandbox, one in living.items():
            if one.state == "idle" and self._pulse.silent_s(sandbox) >= self._idle_silent_s:
                await self._give_up(sandbox, one.beats, self._idle_silent_s)
        await self._take_back(at)
        for episode in await self._leases.to_cancel():
            await self._leases.lose(episode, "it was closed before a sandbox was free")
        for episode, why in await self._leases.to_end():
            await self._finish(episode, why)
        if at - self._swept >= self._lost_s:
            self._swept = at
            await self._sweep()

    def _signs(self, living: Mapping[str, LivingSandbox]) -> dict[str, _Sign]:
        """Return what changes whenever something was heard of a sandbox."""
        return {sandbox: (one.beats, self._called_at(one)) for sandbox, one in living.items()}

    def _called_at(self, sandbox: LivingSandbox) -> float | None:
        return None if sandbox.episode is None else self._calls.called_at(sandbox.episode)

    async def _give_up(self, sandbox: str, beats: int, silent_s: float) -> None:
        why = f"its sandbox {sandbox} was not heard of for {silent_s:g} s"
        if await self._sandboxes.give_up(sandbox, beats, why):
            log.warning("A sandbox is lost.", sandbox=sandbox, silent_s=silent_s)

    async def _take_back(self, at: float) -> None:
        """Give episodes of which a sandbox's daemon did not hear in time to other sandboxes."""
        if at - self._looked_at > 3 * self._look_s:
            self._unconfirmed = {}
        self._looked_at = at
        before = self._unconfirmed
        unconfirmed = await self._leases.list_unconfirmed()
        self._unconfirmed = {one: before.get(one, at) for one in unconfirmed}
        for one, since in self._unconfirmed.items():
            if at - since >= self._confirm_s and await self._leases.take_back(one):
                log.warning(
                    "A sandbox did not take its episode, which goes to another one.",
                    sandbox=one.sandbox,
                    episode=one.episode,
                )

    async def _sweep(self) -> None:
        """End what was to be closed a sweep ago already: in an upgrade a replica of the old build
        may do it better."""
        before, self._closing = self._closing, frozenset(await self._strangers.closing())
        for episode in sorted(before & self._closing):
            await self._finish(episode, "it was closed")

    async def _finish(self, episode: str, why: str) -> None:
        """End an episode whose sandbox is lost; what can't be ended now is tried again."""
        try:
            await self._end(episode, why)
        except UnavailableError:
            raise
        except (ProblemError, DetectorError, CodecError, ZstdError) as error:
            log.error(
                "An episode without its sandbox can't be ended; it is tried again.",
                episode=episode,
                why=str(error),
            )
            return
        self._notifier.tell(settled_topic(episode))
        log.info(
            "An episode was ended without its sandbox; what was not sealed is masked.",
            episode=episode,
            why=why,
        )
