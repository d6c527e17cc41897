"""What every view of an episode is made of: its row, its outline, what was paid. Never its whole
log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import orjson
from fastapi import Depends

from api.episodes.rows import EpisodeRow
from api.http.dependencies import EpisodesPart, LedgerPart, OutlinesPart, TasksPart
from api.pages.viewer import Viewer
from api.timeline.timeline import Outline
from detectors.model.rewards import MilestoneJson, RewardJson
from detectors.task.language import Task


class EpisodeView(NamedTuple):
    """One look: ``row`` is the episode's, ``rewards`` and ``reached`` (milestones) are as the wire
    has them."""

    row: EpisodeRow
    task: Task
    outline: Outline
    rewards: list[RewardJson]
    reached: list[MilestoneJson]

    @property
    def paid(self) -> dict[int | None, RewardJson]:
        """The rewards of the episode, each by its step."""
        return {one["step"]: one for one in self.rewards}

    @property
    def evidence(self) -> frozenset[int]:
        """The numbers of all events that earned something."""
        return frozenset(seq for one in self.reached for seq in one["evidence"])


async def _load_view(
    _who: Viewer,
    episode: str,
    episodes: EpisodesPart,
    ledger: LedgerPart,
    tasks: TasksPart,
    outlines: OutlinesPart,
) -> EpisodeView:
    """Load the episode of the path, as far as it is stored."""
    row = await episodes.get(episode)
    rewards = [orjson.loads(body) for body in await ledger.all(row.id)]
    reached = [
        orjson.loads(body) for _, body in await ledger.milestones_between(row.id, 0, row.through)
    ]
    task = (await tasks.ruleset(row.task_number)).task
    return EpisodeView(row, task, await outlines.load(row.id, row.through), rewards, reached)


LoadedView = Annotated[EpisodeView, Depends(_load_view)]


def list_milestones(task: Task, reached: Sequence[MilestoneJson]) -> list[dict[str, object]]:
    """Return every milestone of the task, with the times that it was reached; what was true at the
    start is among them."""
    times: dict[str, list[MilestoneJson]] = {}
    for one in reached:
        times.setdefault(one["id"], []).append(one)
    return [
        {
            "id": spec.id,
            "component": spec.component,
            "penalty": spec.penalty,
            "times": times.get(spec.id, []),
        }
        for spec in task.milestones
    ]
