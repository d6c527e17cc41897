"""What is told of one step, one milestone or one event when somebody asks for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import orjson
from fastapi import Depends, Query, Request

from api.blame.blames import Blames
from api.cascade.submitted import criteria_texts
from api.core.errors import NotFoundError
from api.http.dependencies import FollowerPart, OutlinesPart, TasksPart
from api.http.parameters import DIGITS
from api.http.support import MAX_SEQ, parts_of
from api.log.reader import Follower
from api.pages.episode_view import EpisodeView
from api.rewards.event_text import telling
from api.rewards.explaining import of_events
from api.rewards.rendering import terms, waits_for
from api.start_states.store import StartGuard
from api.tasks.store import Tasks
from api.timeline.outlines import Outlines
from api.timeline.timeline import Span
from detectors.model.json_value import list_or_empty
from detectors.model.rewards import RewardJson
from detectors.sdk.registry import Rule, rules
from detectors.task.conditions import condition_to_json
from detectors.task.language import MilestoneSpec

MAX_CHARACTERS = 20_000
"""Of one event that are shown."""
MAX_BLAMED = 200
"""Steps whose cause is shown."""


class Focus(NamedTuple):
    """What the address asks to see of an episode: a step by its key, an event, a milestone, or why
    it failed."""

    step: str | None
    event: int | None
    milestone: str | None
    blame: bool = False


async def _focus(
    step: str | None = None,
    event: Annotated[int | None, Query(ge=0, le=MAX_SEQ), DIGITS] = None,
    milestone: str | None = None,
    blame: bool = False,
) -> Focus:
    return Focus(step, event, milestone, blame)


class SubmittedEvidence(NamedTuple):
    """A criterion, and the events and pictures (sha256) to which the agent pointed as its evidence;
    ``event`` is the one in which it did."""

    event: int
    criterion: str
    text: str
    events: tuple[int, ...]
    pictures: tuple[str, ...]


FocusPart = Annotated[Focus, Depends(_focus)]


@dataclass(frozen=True, slots=True)
class DetailParts:
    """What telling more of an episode uses of the service."""

    follower: Follower
    tasks: Tasks
    outlines: Outlines
    blames: Blames
    guard: StartGuard


async def _detail_parts(
    request: Request,
    follower: FollowerPart,
    tasks: TasksPart,
    outlines: OutlinesPart,
) -> DetailParts:
    parts = parts_of(request)
    return DetailParts(follower, tasks, outlines, parts.blames, parts.start_guard)


UsedDetailParts = Annotated[DetailParts, Depends(_detail_parts)]


async def detail_of(
    parts: DetailParts, now: EpisodeView, focus: Focus, span: Span | None
) -> dict[str, object]:
    """What the panel shows: of ``event``, else of ``milestone``, else of ``blame``, else of the
    step. Raises `NotFoundError`."""
    if focus.event is not None:
        return await _event(parts, now, focus.event)
    if focus.milestone is not None:
        return await _milestone(parts, now, focus.milestone)
    if focus.blame:
        return await _blame(parts, now)
    reward = now.paid.get(span.step) if span is not None else None
    reached = reward["milestones"] if reward is not None else []
    evidence = [seq for one in reached for seq in one["evidence"]]
    submitted = [] if span is None else await _list_submitted(parts, now, span, reward)
    pointers = [seq for one in submitted for seq in (one.event, *one.events)]
    return {
        "of": "step",
        "span": span,
        "reward": reward,
        "evidence": evidence,
        "where": _evidence_steps(now, [*evidence, *pointers]),
        "submitted": submitted,
    }


async def _list_submitted(
    parts: DetailParts, now: EpisodeView, span: Span, reward: RewardJson | None
) -> list[SubmittedEvidence]:
    """What the agent submitted in a step as evidence of criteria; on the step that ended the
    episode all of it, for the goal is judged by that."""
    is_last = reward is not None and reward["done"]
    chosen = [seq for seq in now.outline.submitted if is_last or span.first <= seq <= span.last]
    if not chosen:
        return []
    texts = criteria_texts(await parts.tasks.ruleset(now.row.task_number))
    found = []
    for seq in chosen:
        (event,) = await parts.follower.between(now.row.id, seq, seq)
        criterion = str(event.data.get("criterion"))
        pictures = tuple(map(str, list_or_empty(event.data.get("pictures"))))
        events = [
            one
            for one in list_or_empty(event.data.get("events"))
            if type(one) is int and 0 < one <= seq
        ]
        text = texts.get(criterion, "")
        found.append(SubmittedEvidence(seq, criterion, text, tuple(events), pictures))
    return found


async def _event(parts: DetailParts, now: EpisodeView, seq: int) -> dict[str, object]:
    """Return what the page shows of an event: its data, and the milestones that it earned. Raises
    `NotFoundError`."""
    found = await parts.follower.between(now.row.id, seq, seq)
    if not found:
        raise NotFoundError(f"event: {seq} is not in the log, which ends at {now.row.through}")
    event = found[0]
    text = orjson.dumps(event.data, option=orjson.OPT_INDENT_2).decode()
    by = [one["id"] for one in now.reached if seq in one["evidence"]]
    return {
        "of": "event",
        "event": event,
        "telling": telling(event),
        "evidence": [seq],
        "by": list(dict.fromkeys(by)),
        "text": text[:MAX_CHARACTERS],
        "cut": len(text) > MAX_CHARACTERS,
        "key": now.outline.span_of(seq).key,
    }


async def _milestone(parts: DetailParts, now: EpisodeView, id: str) -> dict[str, object]:
    """Return what the page shows of a milestone: when it was reached, by which events, or why not.
    Raises `NotFoundError`."""
    place, spec = next(
        ((n, one) for n, one in enumerate(now.task.milestones) if one.id == id), (0, None)
    )
    if spec is None:
        raise NotFoundError(f"milestone: the task {now.task.id} has none that is named {id[:80]!r}")
    times = [one for one in now.reached if one["id"] == id]
    paid = now.paid
    evidence = [seq for one in times for seq in one["evidence"]]
    why = [] if any(one["value"] >= 1.0 for one in times) else await _became(parts, now, place)
    ruleset = await parts.tasks.ruleset(now.row.task_number)
    rule = rules()[spec.when.rule]
    verdicts = [
        (one["step"], paid[one["step"]]["verdicts"]) for one in times if one["step"] in paid
    ]
    return {
        "of": "milestone",
        "spec": spec,
        "times": times,
        "paid": paid,
        "evidence": evidence,
        "where": _evidence_steps(now, evidence),
        "why": why,
        "worth": ruleset.share[place],
        "digest": now.row.digest,
        "verdicts": dict(verdicts),
        "version": rule.version if isinstance(rule, Rule) else None,
        "waits": [*waits_for(spec.when), *terms(spec)],
        "arguments": _arguments(spec),
    }


async def _blame(parts: DetailParts, now: EpisodeView) -> dict[str, object]:
    """Why the episode failed, and each of its steps; this reads the log."""
    blame = await parts.blames.of_episode(now.row)
    failed = [step for step in blame["steps"] if step["cause"] is not None]
    evidence = [*blame["evidence"], *(seq for step in failed for seq in step["evidence"])]
    if blame["first_failure"] is not None:
        evidence.append(blame["first_failure"]["event"])
    return {
        "of": "blame",
        "blame": blame,
        "failed": failed[:MAX_BLAMED],
        "more": max(0, len(failed) - MAX_BLAMED),
        "evidence": evidence,
        "where": _evidence_steps(now, evidence),
    }


def _arguments(spec: MilestoneSpec) -> str:
    """The conditions as the task has them."""
    named = {"when": spec.when, "only_if": spec.only_if, "revoke_on": spec.revoke_on}
    said = {name: condition_to_json(one) for name, one in named.items() if one is not None}
    return orjson.dumps(said, option=orjson.OPT_INDENT_2).decode()


def _evidence_steps(now: EpisodeView, evidence: list[int]) -> dict[int, str]:
    return {seq: now.outline.span_of(seq).key for seq in evidence}


async def _became(parts: DetailParts, now: EpisodeView, place: int) -> list[str]:
    """The nearest miss in words: this alone runs the rules over the log, once for all milestones
    and all who ask."""
    known = parts.outlines.explained(now.row.id, now.row.through)
    if known is not None:
        return list(known[place].became)
    ruleset = await parts.tasks.ruleset(now.row.task_number)
    events = [event async for event in parts.follower.events(now.row.id)]
    explained, _ = await asyncio.to_thread(of_events, ruleset, events, now.row.id)
    parts.outlines.explain(now.row.id, now.row.through, explained)
    return list(explained[place].became)
