"""Hints for guided attempts: what came nearest to each milestone that is not reached yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Request, Response

from api.core.errors import ConflictError
from api.episodes.store import Episodes
from api.http.authorization import requires
from api.http.describe import problems
from api.http.parameters import EpisodeId
from api.http.support import HINTS, AnswerShape, answer, parts_of
from api.log.reader import Follower
from api.rewards.explaining import Explained, of_events
from api.rewards.ledger import Ledger
from api.tasks.store import Tasks
from api.timeline.outlines import Outlines
from detectors.model.rewards import MilestoneJson
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset

router = APIRouter(tags=["evidence"])
WHOLE = 1.0 - 1e-9


class HintShape(AnswerShape):
    """A milestone that is not reached yet."""

    milestone: str
    worth: float
    waits_for: list[str]
    """What it waits for, in words."""
    nearest: list[str]
    """What came nearest, and what of it was otherwise; or why nobody can know."""


class HintsShape(AnswerShape):
    """Hints on an episode; an open one counts as guided from now on."""

    episode: str
    through: int
    """The number of the log's last event that this was read from."""
    guided: bool
    """Whether hints were given before its close."""
    hints: list[HintShape]


@dataclass(frozen=True, slots=True)
class HintParts:
    """What giving hints uses of the service."""

    episodes: Episodes
    tasks: Tasks
    follower: Follower
    outlines: Outlines
    ledger: Ledger


async def _hint_parts(request: Request) -> HintParts:
    parts = parts_of(request)
    return HintParts(parts.episodes, parts.tasks, parts.follower, parts.outlines, parts.ledger)


@router.get(
    "/v1/episodes/{episode}/hints",
    summary="What came nearest",
    response_model=HintsShape,
    responses=problems(401, 403, 404, 409),
    dependencies=[requires(HINTS)],
)
async def hints(episode: EpisodeId, parts: Annotated[HintParts, Depends(_hint_parts)]) -> Response:
    """The milestones that earn something and are not reached yet, each with what came nearest.

    Only where the task has `hints: true`. An open episode is marked as guided before the answer is
    given, for good: evaluations, curriculum and the view `siblings` leave it out by default. A
    closed one stays as it was: its statement, which is signed, says whether it was guided.
    """
    row = await parts.episodes.get(episode)
    ruleset = await parts.tasks.ruleset(row.task_number)
    if not ruleset.task.hints:
        raise ConflictError(f"hints: the task {row.task} gives none; expected `hints: true` in it")
    await parts.episodes.mark_guided(row.id)
    row = await parts.episodes.get(episode)
    explained = parts.outlines.explained(row.id, row.through)
    if explained is None:
        events = [event async for event in parts.follower.events(row.id)]
        explained = await asyncio.to_thread(_explain, ruleset, events, row.id)
        parts.outlines.explain(row.id, row.through, explained)
    rows = await parts.ledger.milestones_between(row.id, 0, row.through)
    reached = find_reached(orjson.loads(body) for _, body in rows)
    found = list(_hints(ruleset, explained, reached))
    return answer(
        {"episode": row.id, "through": row.through, "guided": row.guided is True, "hints": found}
    )


def _explain(ruleset: Ruleset, events: Iterable[Event], episode: str) -> list[Explained]:
    explained, _ = of_events(ruleset, events, episode)
    return explained


def find_reached(milestones: Iterable[MilestoneJson]) -> set[str]:
    """Return the ids of the milestones that were reached whole, or were so at the start."""
    levels: dict[str, float] = {}
    for one in milestones:
        level = 1.0 if one["baseline"] else one["value"]
        levels[one["id"]] = levels.get(one["id"], 0.0) + level
    return {id for id, level in levels.items() if level > WHOLE}


def _hints(
    ruleset: Ruleset, explained: Iterable[Explained], reached: set[str]
) -> Iterator[dict[str, object]]:
    """Yield a hint for each milestone that earns something and is not reached."""
    penalties = {spec.id for spec in ruleset.task.milestones if spec.penalty is not None}
    for one in explained:
        if one.id not in reached and one.id not in penalties:
            yield {
                "milestone": one.id,
                "worth": one.worth,
                "waits_for": list(one.waits),
                "nearest": list(one.became),
            }
