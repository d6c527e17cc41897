"""What the calls of a session pay: the sealed reward of the step that a call completes, of the last
call with that of the episode's end.

A session may name causes (`mask_causes`): what failed for one of them is null. The cause of a step
is asked for when its call is answered, that of the episode when its last call is; what shows later
changes no answer that was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from api.blame.blames import Blames
from api.core.notify import Deadline
from api.episodes.store import Episodes
from api.ors.sessions import ToolSession
from api.ors.tools import Payment
from api.rewards.ledger import Ledger
from api.rewards.rewards import RewardReader
from api.scoring.cause_masks import CauseMasks
from api.scoring.score import SampleScore


class Payments:
    """Pays the calls of one service's sessions."""

    def __init__(
        self,
        rewards: RewardReader,
        ledger: Ledger,
        episodes: Episodes,
        blames: Blames,
        masks: CauseMasks,
    ) -> None:
        self._rewards, self._ledger, self._episodes = rewards, ledger, episodes
        self._blames, self._masks = blames, masks

    async def of_step(self, session: ToolSession, episode: str, step: int) -> Payment:
        """Return what a step that ended is worth, once it is sealed."""
        body = await self._rewards.read(session.tenant, episode, step, Deadline(session.wait_ms))
        reward = orjson.loads(body)
        if session.mask_causes and reward["reward"] is not None:
            viewed = await self._masked_steps(session, episode)
            reward = next((one for one in viewed if one["step"] == step), reward)
        return Payment(reward["reward"], reward["status"], reward["reason"], [reward])

    async def of_last_steps(
        self, session: ToolSession, episode: str, step: int, score: SampleScore
    ) -> Payment:
        """Return what ``step`` and the end of its episode are worth together: ``score``."""
        if session.mask_causes:
            sealed = await self._masked_steps(session, episode)
        else:
            sealed = await self._sealed_steps(episode)
        payment = payment_of(score, [reward for reward in sealed if reward["step"] >= step])
        return await self.of_end(session, episode, payment)

    async def of_end(self, session: ToolSession, episode: str, payment: Payment) -> Payment:
        """Return the payment of a call after which the episode is over: with what is blamed for its
        failure, and null where the session masks that."""
        payment = payment._replace(blame=await self._blames.summary(episode))
        if not session.mask_causes or payment.reward is None:
            return payment
        row = await self._episodes.get(episode)
        rewards = await self._sealed_steps(episode)
        reason = await self._masks.of_episode(row, rewards, session.masked)
        if reason is None:
            return payment
        return payment._replace(reward=None, status="masked", reason=reason)

    async def _masked_steps(self, session: ToolSession, episode: str) -> list[Any]:
        """Return the episode's sealed rewards, those of a masked cause as null."""
        row = await self._episodes.get(episode)
        rewards = await self._sealed_steps(episode)
        viewed, _ = await self._masks.of_steps(row, rewards, session.masked)
        return viewed

    async def _sealed_steps(self, episode: str) -> list[Any]:
        """Return the rewards of the episode's sealed steps, in their order."""
        return [orjson.loads(body) for body in await self._ledger.all(episode)]


def payment_of(score: SampleScore, rewards: Sequence[Mapping[str, Any]]) -> Payment:
    """Return the payment of several steps: the first that is not known says why."""
    unknown = next((reward for reward in rewards if reward["reward"] is None), None)
    if unknown is not None:
        return Payment(None, unknown["status"], unknown["reason"], rewards)
    if score.reward is not None:
        return Payment(score.reward, "sealed", None, rewards)
    status = (score.failure_kind or "").rpartition(":")[2] or "unobserved"
    return Payment(None, status, score.failure_reason, rewards)
