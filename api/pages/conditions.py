"""The conditions that an episode's events meet, ready to be pasted into a task; live while it
runs."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.episodes.rows import EpisodeRow
from api.episodes.store import describe
from api.http.dependencies import EpisodesPart, FollowerPart, TasksPart
from api.http.parameters import DIGITS
from api.http.support import MAX_SEQ
from api.log.reader import Follower
from api.pages.render import page
from api.pages.viewer import Viewer
from api.suggestions.trial import MAX_EVENTS, EventConditions, TaskSite, find_site, suggest
from api.tasks.store import Tasks

MAX_SHOWN = 100
"""Events of one look, the latest ones."""

router = APIRouter(include_in_schema=False)


@router.get("/episodes/{episode}/conditions")
async def conditions(
    _who: Viewer, episode: str, episodes: EpisodesPart, follower: FollowerPart, tasks: TasksPart
) -> Response:
    """The page: each event with what it meets, the newest first."""
    row = await episodes.get(episode)
    return page("conditions.html", **await _suggested(row, follower, tasks, MAX_SEQ))


@router.get("/episodes/{episode}/conditions/now")
async def conditions_now(
    _who: Viewer,
    episode: str,
    episodes: EpisodesPart,
    follower: FollowerPart,
    tasks: TasksPart,
    before: Annotated[int, Query(ge=1, le=MAX_SEQ), DIGITS] = MAX_SEQ,
) -> Response:
    """The list alone, of the events before number ``before``."""
    row = await episodes.get(episode)
    return page("conditions/list.html", **await _suggested(row, follower, tasks, before))


async def _suggested(
    row: EpisodeRow, follower: Follower, tasks: Tasks, before: int
) -> dict[str, Any]:
    """What the templates show: the latest events below ``before`` that meet conditions."""
    told: dict[str, object] = {
        "episode": describe(row),
        "here": f"/episodes/{row.id}",
        "through": row.through,
        "most": MAX_EVENTS,
        "is_too_long": row.through > MAX_EVENTS,
        "found": [],
        "earlier": None,
        "origin": None,
    }
    if told["is_too_long"]:
        return told
    task = (await tasks.ruleset(row.task_number)).task
    log = await follower.between(row.id, 1, row.through)
    site = TaskSite(task.origin, task.hosts) if task.origin else find_site(log)
    found = await asyncio.to_thread(suggest, log, site)
    shown = [one for one in found if one.event.seq < before]
    latest = shown[-MAX_SHOWN:]
    is_more = len(shown) > len(latest)
    return told | {
        "found": _newest_first(latest),
        "earlier": latest[0].event.seq if is_more else None,
        "origin": site.origin,
    }


def _newest_first(found: list[EventConditions]) -> list[EventConditions]:
    return found[::-1]
