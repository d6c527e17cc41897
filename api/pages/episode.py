"""One episode: what happened, what it looked like, what was paid and why; live while it runs.

The page holds the steps; the events of a step are asked for when somebody comes near them. Nothing
here reads the whole log for a view: see api/timeline/outlines.py. The one that must, the nearest
miss of an unpaid milestone, is told when it is asked for, and kept.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from api.core.errors import InvalidError
from api.core.notify import Notifier, log_of
from api.episodes.store import Episodes, describe
from api.http.dependencies import FollowerPart
from api.http.parameters import DIGITS, After
from api.http.support import MAX_SEQ, parts_of
from api.live.live_subscribers import Followers
from api.log.reader import Follower
from api.pages.curve import HEIGHT, WIDTH, curve
from api.pages.detail import Focus, FocusPart, UsedDetailParts, detail_of
from api.pages.episode_view import EpisodeView, LoadedView, list_milestones
from api.pages.render import HEADERS, page
from api.pages.viewer import Viewer, ViewerStream
from api.timeline.timeline import Span, TimelineRow, fits, fold_lines

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


@dataclass(frozen=True, slots=True)
class EpisodeLiveParts:
    """What tells the page that its episode moved."""

    episodes: Episodes
    followers: Followers
    notifier: Notifier
    heartbeat_s: float


async def _live_parts(request: Request) -> EpisodeLiveParts:
    parts = parts_of(request)
    return EpisodeLiveParts(
        parts.episodes, parts.followers, parts.notifier, parts.settings.limits.heartbeat_s
    )


@router.get("/episodes/{episode}")
async def episode(
    now: LoadedView, focus: FocusPart, parts: UsedDetailParts, after: After = 0
) -> Response:
    """The page; ``?step=3`` opens a step, ``?step=opening`` what came before the first, ``&after=``
    its next lines; ``?milestone=ID`` and ``?event=7`` say more of those."""
    chosen = _chosen(focus, now)
    lines: list[TimelineRow] = []
    more = None
    if chosen is not None:
        lines, more = await _lines(parts.follower, now, chosen, after)
    told = await detail_of(parts, now, focus, chosen)
    return page(
        "episode.html",
        headers=FRAMED,
        start=await parts.guard.of_episode(now.row),
        shown=now.outline.spans,
        slot_of=_slots(now),
        chosen=chosen,
        lines=lines,
        more=more,
        detail=told,
        **_paid(now),
    )


@router.get("/episodes/{episode}/now")
async def now(
    view: LoadedView,
    first: Annotated[int, Query(alias="from", ge=0, le=MAX_SEQ), DIGITS] = 0,
) -> Response:
    """What may have changed: all but the steps before the one that is at place ``from`` of the
    outline."""
    return page(
        "episode/now.html",
        shown=view.outline.spans[first:],
        slot_of=_slots(view),
        chosen=None,
        lines=[],
        more=None,
        **_paid(view),
    )


@router.get("/episodes/{episode}/window")
async def window(
    view: LoadedView, focus: FocusPart, follower: FollowerPart, after: After = 0
) -> Response:
    """The lines of ``step``, those after the event ``after``."""
    span = _chosen(focus, view)
    if span is None:
        raise InvalidError(f"step: got {focus.step or ''!r:.42}, to which the log has not come")
    lines, more = await _lines(follower, view, span, after)
    here = f"/episodes/{view.row.id}"
    return page("episode/window.html", span=span, lines=lines, more=more, here=here)


@router.get("/episodes/{episode}/detail")
async def detail(view: LoadedView, focus: FocusPart, parts: UsedDetailParts) -> Response:
    """More of one step, milestone or event."""
    told = await detail_of(parts, view, focus, _chosen(focus, view))
    return page("episode/detail.html", detail=told, here=f"/episodes/{view.row.id}")


@router.get("/episodes/{episode}/search")
async def search(
    view: LoadedView,
    follower: FollowerPart,
    q: str = "",
    source: Annotated[Sequence[str], Query()] = (),
    after: After = 0,
) -> Response:
    """Lines that have the words ``q``, of the sources ``source``, after the event ``after``."""
    sources = frozenset(filter(None, source))
    events = await follower.between(view.row.id, after + 1, after + SEARCHED)
    lines = [line for line in fold_lines(events, view.evidence) if fits(line, q.strip(), sources)]
    at = [view.outline.span_of(line.first).key for line in lines[:MAX_LINES]]
    following = after + SEARCHED if after + SEARCHED < view.row.through else None
    if len(lines) > MAX_LINES:
        following = lines[MAX_LINES - 1].last
    return page(
        "episode/found.html",
        found=list(zip(at, lines, strict=False)),
        following=following,
        through=min(view.row.through, after + SEARCHED),
        here=f"/episodes/{view.row.id}",
    )


def _paid(now: EpisodeView) -> dict[str, Any]:
    """What the lane of rewards and the head of the page show."""
    drawn = curve(now.rewards)
    steps = {span.step for span in now.outline.spans}
    return {
        "episode": describe(now.row),
        "here": f"/episodes/{now.row.id}",
        "task": now.task,
        "milestones": list_milestones(now.task, now.reached),
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
    follower: Follower, now: EpisodeView, span: Span, after: int
) -> tuple[list[TimelineRow], int | None]:
    """The lines of a step beyond event ``after``, and the event after which there are more."""
    events = await follower.between(now.row.id, max(span.first, after + 1), span.last)
    lines = fold_lines(events, now.evidence)
    return lines[:MAX_LINES], lines[MAX_LINES - 1].last if len(lines) > MAX_LINES else None


def _chosen(focus: Focus, now: EpisodeView) -> Span | None:
    """The span that was asked for; by default that of the event or milestone that was, or the last
    that was paid."""
    asked = focus.step
    if asked is not None:
        if asked != "opening" and not asked.isdecimal():
            raise InvalidError(
                f"step: got {asked[:40]!r}, wanted `opening` or the number of a step"
            )
        return next((span for span in now.outline.spans if span.key == asked), None)
    if focus.event is not None:
        return now.outline.span_of(focus.event)
    times = [one["step"] for one in now.reached if focus.milestone in (None, one["id"])]
    named = {-1 if span.step is None else span.step: span for span in now.outline.spans}
    return named.get(max(times, default=NEVER)) or now.outline.spans[-1]


@router.get("/episodes/{episode}/live")
async def live(
    _who: Viewer,
    episode: str,
    stream: ViewerStream,
    parts: Annotated[EpisodeLiveParts, Depends(_live_parts)],
    after: After = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Server-sent words that the episode has moved on: the page asks for what is new."""
    row = await parts.episodes.get(episode)
    # What the page was rendered with, or was told of last before the connection was lost.
    shown = int(last_event_id) if re.fullmatch(r"\d{1,12}", last_event_id) else after
    return stream.response(_moves(parts, row.id, shown), HEADERS)


async def _moves(parts: EpisodeLiveParts, episode: str, through: int) -> AsyncIterator[bytes]:
    """Yield a message each time the episode's log grew, until it is closed."""
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
        if not await parts.notifier.wait(changed, parts.heartbeat_s):
            if parts.notifier.stopped:
                return
            yield b": still here\n\n"
