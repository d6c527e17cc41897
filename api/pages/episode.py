"""One episode: what happened, what it looked like, what was paid and why; live while it runs.

The page holds the steps; the events of a step are asked for when somebody comes near them. Nothing
here reads the whole log for a view: see api/timeline/outlines.py. The one that must, the nearest
miss of an unpaid milestone, is told when it is asked for, and kept.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from api.core.errors import InvalidError
from api.core.notify import log_of
from api.episodes.store import describe
from api.http.support import MAX_SEQ, parts_of, while_known, whole, whole_query
from api.pages.curve import HEIGHT, WIDTH, curve
from api.pages.detail import detail_of
from api.pages.episode_view import EpisodeView, load_view
from api.pages.render import HEADERS, page
from api.pages.viewer import COOKIE, viewer
from api.service.container import Parts
from api.timeline.timeline import Line, Span, fits, fold_lines
from detectors.task.language import Task

MAX_LINES = 400
"""Lines of one step that are sent at once; the rest is a link away."""
SEARCHED = 5_000
"""Events that one search looks through; where it ends, the next goes on."""
NEVER = -2
"""The step of what was not reached; -1 is what was so before the first."""
FRAMED = {
    **HEADERS,
    "content-security-policy": HEADERS["content-security-policy"] + "; frame-src 'self'",
}

router = APIRouter(include_in_schema=False)


@router.get("/episodes/{episode}")
async def episode(request: Request) -> Response:
    """The page; ``?step=3`` opens a step, ``?step=opening`` what came before the first, ``&after=``
    its next lines; ``?milestone=ID`` and ``?event=7`` say more of those."""
    now = await load_view(request)
    parts, query = parts_of(request), request.query_params
    chosen = _chosen(query, now)
    lines: list[Line] = []
    more = None
    if chosen is not None:
        lines, more = await _lines(parts, now, chosen, whole_query(request, "after", 0, MAX_SEQ))
    told = await detail_of(parts, now, query, chosen)
    data = {**_paid(now), "chosen": chosen, "lines": lines, "more": more, "detail": told}
    return page(
        "episode.html", headers=FRAMED, shown=now.outline.spans, slot_of=_slots(now), **data
    )


@router.get("/episodes/{episode}/now")
async def now(request: Request) -> Response:
    """What may have changed: all but the steps before the one that is at place ``from`` of the
    outline."""
    found = await load_view(request)
    spans = found.outline.spans[whole_query(request, "from", 0, MAX_SEQ) :]
    return page(
        "episode/now.html",
        shown=spans,
        slot_of=_slots(found),
        chosen=None,
        lines=[],
        more=None,
        **_paid(found),
    )


@router.get("/episodes/{episode}/window")
async def window(request: Request) -> Response:
    """The lines of ``step``, those after the event ``after``."""
    found = await load_view(request)
    span = _chosen(request.query_params, found)
    if span is None:
        raise InvalidError(
            f"step: got {request.query_params['step'][:40]!r}, to which the log has not come"
        )
    lines, more = await _lines(
        parts_of(request), found, span, whole_query(request, "after", 0, MAX_SEQ)
    )
    here = f"/episodes/{found.row.id}"
    return page("episode/window.html", span=span, lines=lines, more=more, here=here)


@router.get("/episodes/{episode}/detail")
async def detail(request: Request) -> Response:
    """More of one step, milestone or event."""
    found = await load_view(request)
    told = await detail_of(
        parts_of(request), found, request.query_params, _chosen(request.query_params, found)
    )
    return page("episode/detail.html", detail=told, here=f"/episodes/{found.row.id}")


@router.get("/episodes/{episode}/search")
async def search(request: Request) -> Response:
    """Lines that have the words ``q``, of the sources ``source``, after the event ``after``."""
    found = await load_view(request)
    query, after = request.query_params, whole_query(request, "after", 0, MAX_SEQ)
    sources = frozenset(filter(None, query.getlist("source")))
    events = await parts_of(request).follower.between(found.row.id, after + 1, after + SEARCHED)
    lines = [
        one
        for one in fold_lines(events, found.evidence)
        if fits(one, query.get("q", "").strip(), sources)
    ]
    at = [found.outline.span_of(line.first).key for line in lines[:MAX_LINES]]
    following = after + SEARCHED if after + SEARCHED < found.row.through else None
    if len(lines) > MAX_LINES:
        following = lines[MAX_LINES - 1].last
    return page(
        "episode/found.html", found=list(zip(at, lines, strict=False)), following=following,
        through=min(found.row.through, after + SEARCHED), here=f"/episodes/{found.row.id}",
    )  # fmt: skip


def _paid(now: EpisodeView) -> dict[str, Any]:
    """What the lane of rewards and the head of the page show."""
    drawn = curve(now.rewards)
    steps = {span.step for span in now.outline.spans}
    return {
        "episode": describe(now.row),
        "here": f"/episodes/{now.row.id}",
        "task": now.task,
        "milestones": _milestones(now.task, now.reached),
        "curve": drawn,
        "used": {bar.component for bar in drawn.bars} if drawn else set(),
        "width": WIDTH,
        "height": HEIGHT,
        "paid": now.paid,
        "outline": now.outline,
        "closing": [one for one in now.rewards if one["step"] not in steps],
    }


def _slots(now: EpisodeView) -> dict[int, int]:
    """Which place of the curve a step has."""
    return {one["step"]: place for place, one in enumerate(now.rewards)}


async def _lines(
    parts: Parts, now: EpisodeView, span: Span, after: int
) -> tuple[list[Line], int | None]:
    """The lines of a step beyond event ``after``, and the event after which there are more."""
    events = await parts.follower.between(now.row.id, max(span.first, after + 1), span.last)
    lines = fold_lines(events, now.evidence)
    return lines[:MAX_LINES], lines[MAX_LINES - 1].last if len(lines) > MAX_LINES else None


def _chosen(query: Mapping[str, str], now: EpisodeView) -> Span | None:
    """The span that was asked for; by default that of the event or milestone that was, or the last
    that was paid."""
    asked = query.get("step")
    if asked is not None:
        if asked != "opening" and not asked.isdecimal():
            raise InvalidError(
                f"step: got {asked[:40]!r}, wanted `opening` or the number of a step"
            )
        return next((span for span in now.outline.spans if span.key == asked), None)
    if "event" in query:
        return now.outline.span_of(whole("event", query["event"], MAX_SEQ))
    times = [one["step"] for one in now.reached if one["id"] == query.get("milestone", one["id"])]
    named = {-1 if span.step is None else span.step: span for span in now.outline.spans}
    return named.get(max(times, default=NEVER)) or now.outline.spans[-1]


def _milestones(task: Task, reached: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every milestone of the task, with the times that it was reached; what was true at the start
    is among them."""
    times: dict[str, list[Mapping[str, Any]]] = {}
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


@router.get("/episodes/{episode}/live")
async def live(request: Request) -> Response:
    """Server-sent words that the episode has moved on: the page asks for what is new."""
    await viewer(request)
    parts = parts_of(request)
    row = await parts.episodes.get(request.path_params["episode"])
    after = _shown_through(request)
    return StreamingResponse(
        while_known(parts, request.cookies[COOKIE], _moves(parts, row.id, after)),
        media_type="text/event-stream",
        headers=HEADERS,
    )


def _shown_through(request: Request) -> int:
    """What the page has: what it was rendered with, or what it was told of last before the
    connection was lost."""
    last = request.headers.get("last-event-id", "")
    return (
        int(last) if re.fullmatch(r"\d{1,12}", last) else whole_query(request, "after", 0, MAX_SEQ)
    )


async def _moves(parts: Parts, episode: str, through: int) -> AsyncIterator[bytes]:
    while True:
        parts.followers.note(episode)
        changed = parts.notifier.watch(log_of(episode))
        row = await parts.episodes.get(episode)
        if row.through != through:
            through = row.through
            yield b"event: moved\nid: %d\ndata: \n\n" % through
        if row.status == "closed":
            yield b"event: closed\ndata: \n\n"  # else who looks would ask again
            return
        if not await parts.notifier.wait(changed, parts.settings.limits.heartbeat_s):
            if parts.notifier.stopped:
                return
            yield b": still here\n\n"
