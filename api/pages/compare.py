"""Two episodes side by side, or one as it was paid and as another version of its task would pay
it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import orjson
from fastapi import APIRouter, Depends, Query, Response

from api.auth.store import Principal
from api.core.errors import InvalidError
from api.episodes.store import Episodes, describe
from api.http.dependencies import DatabasePart, EpisodesPart, TasksPart
from api.pages.aligned import align_steps
from api.pages.curve import running_totals
from api.pages.plot import together
from api.pages.render import page
from api.pages.viewer import Viewer
from api.replay.recordings import read_frames
from api.rescoring.corpus import Corpus, StoredEpisode
from api.rewards.event_text import line
from api.rewards.scored_episode import Result, ruleset_of, score, stored_result
from api.tasks.store import Tasks
from api.timeline.timeline import action_text
from detectors.model.types import Segment

router = APIRouter(include_in_schema=False)


class CompareColumn(NamedTuple):
    """What stands in one column."""

    name: str
    row: dict[str, Any]
    result: Result
    actions: dict[int, str]


@dataclass(frozen=True, slots=True)
class CompareParts:
    """What the page uses of the service."""

    tasks: Tasks
    episodes: Episodes
    corpus: Corpus


async def _compare_parts(
    tasks: TasksPart, episodes: EpisodesPart, database: DatabasePart
) -> CompareParts:
    return CompareParts(tasks, episodes, Corpus(database))


UsedParts = Annotated[CompareParts, Depends(_compare_parts)]


@router.get("/compare")
async def compare(
    who: Viewer,
    parts: UsedParts,
    a: str = "",
    b: str = "",
    version: str = "",
    episode: Annotated[Sequence[str], Query()] = (),
) -> Response:
    """``?a=`` and ``&b=``, or two ``episode=``, are episodes; ``&version=`` in place of b: a's task
    in that version."""
    given = {"a": a.strip(), "b": b.strip(), "version": version.strip()}
    asked = {name: text for name, text in given.items() if text}
    if episode:
        if len(episode) != 2:
            raise InvalidError(f"episode: got {len(episode)}, wanted two to compare")
        asked = {"a": episode[0], "b": episode[1]}
    if "a" not in asked:
        return page("compare.html", asked=asked, sides=None, versions=[])
    left = await _stored(parts, who, asked["a"])
    versions = [
        row.version for row in await parts.tasks.listed(who.tenant) if row.id == left.row.task
    ]
    if "b" in asked and "version" in asked:
        raise InvalidError("version: got one beside b, wanted a second episode or another version")
    if not asked.keys() & {"b", "version"}:
        return page("compare.html", asked=asked, sides=None, versions=versions)
    lines: dict[int, str] = {}
    if "version" in asked:
        task = bytes((await parts.tasks.find(who.tenant, left.row.task, asked["version"])).body)
        sides, lines = await asyncio.to_thread(_rulesets, left, task, asked["version"])
    else:
        sides = await asyncio.to_thread(_episodes, left, await _stored(parts, who, asked["b"]))
    return page(
        "compare.html", asked=asked, sides=sides, versions=versions, **_compared(sides, lines)
    )


async def _stored(parts: CompareParts, who: Principal, episode: str) -> StoredEpisode:
    await parts.episodes.owned(who.tenant, episode)
    [found] = await parts.corpus.whole([await parts.episodes.get(episode)])
    return found


def _episodes(left: StoredEpisode, right: StoredEpisode) -> tuple[CompareColumn, CompareColumn]:
    return _paid("A", left), _paid("B", right)


def _paid(name: str, stored: StoredEpisode) -> CompareColumn:
    result = stored_result(stored.row, stored.rewards, stored.milestones)
    return CompareColumn(name, describe(stored.row), result, _actions(_segments(stored)))


def _rulesets(
    stored: StoredEpisode, task: bytes, version: str
) -> tuple[tuple[CompareColumn, CompareColumn], dict[int, str]]:
    """Return an episode as it was paid beside the same under another version, with its evidence in
    words."""
    segments = _segments(stored)
    paid, row = _paid("as paid", stored), describe(stored.row)
    result: Result = paid.result
    if segments:
        words = [orjson.loads(body) for body in stored.verdicts]
        [result] = score(segments, ruleset_of(task), said=words)
    name = f"version {version}"
    under = {**row, "version": version, "digest": result["ruleset"]}
    under |= {"total": result["total"], "success": result["success"]}
    rewards = [*paid.result["rewards"], *result["rewards"]]
    evidence = {
        seq for one in rewards for earned in one["milestones"] for seq in earned["evidence"]
    }
    lines = {
        event.seq: line(event)
        for segment in segments
        for event in segment.events
        if event.seq in evidence
    }
    return (paid, CompareColumn(name, under, result, paid.actions)), lines


def _segments(stored: StoredEpisode) -> list[Segment]:
    return list(read_frames(stored.content, stored.row.id)) if stored.content else []


def _actions(segments: list[Segment]) -> dict[int, str]:
    """Return what the agent did in each step, in words."""
    began = (
        event for segment in segments for event in segment.events if event.kind == "step.began"
    )
    return {event.data["step"]: action_text(event.data.get("action")) for event in began}


def _compared(sides: tuple[CompareColumn, CompareColumn], lines: dict[int, str]) -> dict[str, Any]:
    """Return two sides step by step, with their running totals as a chart."""
    results = (sides[0].result, sides[1].result)
    rows = align_steps(
        (sides[0].name, sides[1].name), results, [side.actions for side in sides], lines
    )
    curves = {
        side.name: running_totals([one["reward"] for one in side.result["rewards"]])
        for side in sides
    }
    longest = max(results, key=lambda result: len(result["rewards"]))
    names = [str(one["step"]) for one in longest["rewards"]]
    return {
        "rows": rows,
        "differing": sum(bool(row.reasons) for row in rows),
        "plot": together(names, curves) if names else None,
        "same_task": sides[0].row["task"] == sides[1].row["task"],
    }
