"""What every view of an episode is made of: its row, its outline, what was paid. Never its whole
log."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
from fastapi import Request

from api.http.support import parts_of
from api.pages.viewer import viewer
from api.timeline.timeline import Outline
from detectors.task.language import Task


class EpisodeView(NamedTuple):
    """One look: ``row`` is the episode's, ``rewards`` and ``reached`` (milestones) are as the wire
    has them."""

    row: Any
    task: Task
    outline: Outline
    rewards: list[dict[str, Any]]
    reached: list[dict[str, Any]]

    @property
    def paid(self) -> dict[int | None, dict[str, Any]]:
        """Each reward by its step."""
        return {one["step"]: one for one in self.rewards}

    @property
    def evidence(self) -> frozenset[int]:
        """The numbers of all events that earned something."""
        return frozenset(seq for one in self.reached for seq in one["evidence"])


async def load_view(request: Request) -> EpisodeView:
    """The episode of the path, as far as it is stored. Raises what `viewer` does."""
    await viewer(request)
    parts = parts_of(request)
    row = await parts.episodes.get(request.path_params["episode"])
    rewards = [orjson.loads(body) for body in await parts.ledger.all(row.id)]
    reached = [
        orjson.loads(body)
        for _, body in await parts.ledger.milestones_between(row.id, 0, row.through)
    ]
    task = (await parts.tasks.ruleset(row.task_number)).task
    return EpisodeView(row, task, await parts.outlines.load(row.id, row.through), rewards, reached)
