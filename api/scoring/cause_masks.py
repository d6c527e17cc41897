"""Masks by cause over one service's episodes: what failed for a cause, or began otherwise, is null
in a view."""

from __future__ import annotations

from collections.abc import Sequence

from api.blame.blames import Blames
from api.blame.masking import (
    START_STATE,
    MaskCause,
    describe_mask,
    has_penalty,
    is_episode_masked,
    mask_steps,
    mask_with_reason,
)
from api.episodes.rows import EpisodeRow
from api.start_states.store import StartGuard
from detectors.model.rewards import RewardJson


class CauseMasks:
    """Masks the rewards of one service's episodes."""

    def __init__(self, blames: Blames, guard: StartGuard) -> None:
        self._blames, self._guard = blames, guard

    async def of_steps(
        self,
        row: EpisodeRow,
        rewards: Sequence[RewardJson],
        masked: frozenset[MaskCause],
        dropped: frozenset[MaskCause] = frozenset(),
    ) -> tuple[list[RewardJson], set[int]]:
        """Return an episode's ``rewards``, all of them, with those of the causes ``masked`` and
        ``dropped`` null, and the steps that a view leaves out."""
        causes = (await self._blames.of_episode(row))["steps"]
        viewed, left_out = mask_steps(rewards, causes[: len(rewards)], masked, dropped)
        reason = await self._start_reason(row, masked | dropped)
        if reason is None:
            return viewed, left_out
        viewed = [mask_with_reason(one, reason, at_first_contact=True) for one in viewed]
        if START_STATE in dropped:
            left_out |= {one["step"] for one in viewed if one["reward"] is None}
        return viewed, left_out

    async def of_episode(
        self, row: EpisodeRow, rewards: Sequence[RewardJson], causes: frozenset[MaskCause]
    ) -> str | None:
        """Why a closed episode is masked as a whole; None where it is not. ``rewards`` are those
        that its worth is made of."""
        start = await self._start_reason(row, causes)
        if start is not None and not any(
            has_penalty(one, at_first_contact=True) for one in rewards
        ):
            return start
        blame = await self._blames.of_episode(row)
        return describe_mask(blame) if is_episode_masked(rewards, blame, causes) else None

    async def _start_reason(self, row: EpisodeRow, causes: frozenset[MaskCause]) -> str | None:
        """Return why an episode is masked by its start, None where it is not."""
        if START_STATE not in causes:
            return None
        findings = (await self._guard.of_episode(row))["findings"]
        return f"masked by its start: {findings[0]['text']}" if findings else None
