"""One episode: what happened, what was paid, why; live while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from api.errors import InvalidError
from api.notify import log_of
from api.pages.curve import HEIGHT, WIDTH, curve
from api.pages.lanes import Span, folded, spans
from api.pages.render import HEADERS, page
from api.pages.viewer import COOKIE, viewer
from api.parts import Parts
from api.routes.support import parts_of, while_known
from api.store.episodes import describe

MOST_LINES = 400
"""Lines of one step on one page; the rest is a link away."""

router = APIRouter(include_in_schema=False)


@router.get("/episodes/{episode}")
async def episode(request: Request) -> Response:
    """The page; ``?step=3`` opens a step, ``?step=opening`` what came before the first, ``&after=`` its next lines."""
    await viewer(request)
    parts = parts_of(request)
    row = await parts.episodes.get(request.path_params["episode"])
    events = [event async for event in parts.follower.events(row.id)]
    rewards = [orjson.loads(body) for body in await parts.ledger.all(row.id)]
    reached = [orjson.loads(body) for _, body in await parts.ledger.milestones_between(row.id, 0, row.through)]
    task = (await parts.tasks.ruleset(row.task_number)).task
    data = await asyncio.to_thread(_view, request.query_params, spans(events), rewards)
    return page("episode.html", episode=describe(row), task=task, milestones=_milestones(task, reached), **data)


def _view(query: Mapping[str, str], found: Sequence[Span], rewards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    paid: dict[int | None, Any] = {one["step"]: one for one in rewards}
    chosen = _chosen(query.get("step"), found, paid)
    evidence = frozenset(seq for one in rewards for earned in one["milestones"] for seq in earned["evidence"])
    after = query.get("after", "")
    lines = [] if chosen is None else folded(chosen.events, evidence)
    rest = [line for line in lines if line.first > (int(after) if after.isdecimal() else -1)]
    drawn = curve(rewards)
    return {
        "curve": drawn,
        "used": {bar.component for bar in drawn.bars} if drawn else set(),
        "width": WIDTH,
        "height": HEIGHT,
        "spans": found,
        "paid": paid,
        "chosen": chosen,
        "where": {event.seq: span.key for span in found for event in span.events if event.seq in evidence},
        "lines": rest[:MOST_LINES],
        "more": rest[MOST_LINES - 1].first if len(rest) > MOST_LINES else None,
        "closing": [one for one in rewards if one["step"] not in {span.step for span in found}],
    }


def _chosen(asked: str | None, found: Sequence[Span], paid: Mapping[int | None, Any]) -> Span | None:
    """The span that was asked for; by default the last one that was paid, else the last."""
    named = {span.key: span for span in found}
    if asked is not None:
        if asked not in named and not asked.isdecimal():
            raise InvalidError(f"step: got {asked[:40]!r}, wanted `opening` or the number of a step")
        return named.get(asked)
    earned = [span for span in found if span.step in paid and paid[span.step]["milestones"]]
    return (earned or list(found))[-1]


def _milestones(task: Any, reached: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every milestone of the task, with the times that it was reached; what was true at the start is among them."""
    times: dict[str, list[Mapping[str, Any]]] = {}
    for one in reached:
        times.setdefault(one["id"], []).append(one)
    return [
        {"id": spec.id, "component": spec.component, "penalty": spec.penalty, "times": times.get(spec.id, [])}
        for spec in task.milestones
    ]


@router.get("/episodes/{episode}/live")
async def live(request: Request) -> Response:
    """Server-sent words that the episode has moved on: the page asks for itself anew."""
    await viewer(request)
    parts = parts_of(request)
    row = await parts.episodes.get(request.path_params["episode"])
    if row.status == "closed":
        return Response(status_code=204)
    return StreamingResponse(
        while_known(parts, request.cookies[COOKIE], _moves(parts, row.id, row.through)),
        media_type="text/event-stream",
        headers=HEADERS,
    )


async def _moves(parts: Parts, episode: str, through: int) -> AsyncIterator[bytes]:
    while True:
        changed = parts.notifier.watch(log_of(episode))
        row = await parts.episodes.get(episode)
        if row.through != through:
            through = row.through
            yield b"event: moved\nid: %d\ndata: %b\n\n" % (through, row.status.encode())
            if row.status == "closed":
                return
        elif not await parts.notifier.wait(changed, parts.settings.limits.heartbeat_s):
            if parts.notifier.stopped:
                return
            yield b": still here\n\n"
