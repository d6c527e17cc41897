"""Reads rewards: sealed ones from memory, others from the ledger, and waits for those that are
settling."""

from __future__ import annotations

from api.core.errors import NotFoundError
from api.core.notify import Deadline, Notifier, log_of
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.rewards.ledger import Ledger
from detectors.model.rewards import encode_reward, settling


class RewardReader:
    """Gives a step's reward as the bytes that go out."""

    def __init__(self, ledger: Ledger, episodes: Episodes, notifier: Notifier) -> None:
        self._ledger, self._episodes, self._notifier = ledger, episodes, notifier

    def at_once(self, tenant: str, episode: str, step: int) -> bytes | None:
        """The sealed reward where it and whose it is are in memory: the whole of the fast way."""
        if self._episodes.surely_owned(tenant, episode):
            return self._ledger.remembered(episode, step)
        return None

    async def read(self, tenant: str, episode: str, step: int, deadline: Deadline) -> bytes:
        """The final reward, or when time is up a `settling` or `escalating` one. Raises
        `NotFoundError`."""
        await self._episodes.owned(tenant, episode)
        while True:
            changed = self._notifier.watch(log_of(episode))
            body, final = await self._ledger.stored(episode, step)
            if body is None:
                row = await self._episodes.get(episode)
                if not _is_past(row, step):
                    if await self._notifier.wait(changed, deadline.remaining_s()):
                        continue
                    return _unsealed(row, step)
                # The row may be younger than the first look, so one more look decides.
                body, final = await self._ledger.stored(episode, step)
                if body is None:
                    raise await self._missing(row, step)
                if not final:
                    continue
            if final or not await self._notifier.wait(changed, deadline.remaining_s()):
                return body

    async def _missing(self, row: EpisodeRow, step: int) -> NotFoundError:
        last = await self._ledger.last_step(row.id)
        return NotFoundError(
            f"step: episode {row.id} has no step {step}; its last step is {last}", last_step=last
        )


def _is_past(row: EpisodeRow, step: int) -> bool:
    """Whether the episode's log is beyond the step, which then has its reward or never gets one."""
    return row.status == "closed" or (row.step is not None and step < row.step)


def _unsealed(row: EpisodeRow, step: int) -> bytes:
    """Return the body of a reward that is not there yet, with the reason."""
    begun = row.step is not None and step <= row.step
    reason = "the step is not complete yet" if begun else "the step has not begun"
    if row.through == 0:
        reason += ", since no daemon has (`agentd run` with the episode's token)"
    return encode_reward(
        settling(
            row.id, step, row.through, row.digest, f"{reason}; the log is at event {row.through}"
        )
    )
