"""What an episode looked like: screenshots, and the replay of its pages in a frame of its own.

The frame is sandboxed, and its policy lets two scripts run, both ours, and nothing be loaded but
pictures that the recording itself holds. In it rrweb's player builds the recorded page in another
frame, in which no script runs at all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence

import orjson
from fastapi import APIRouter, Request, Response

from api.http.dependencies import EpisodesPart, FollowerPart, OutlinesPart
from api.http.parameters import After
from api.http.support import JSON
from api.pages.render import HEADERS, page, static_path
from api.pages.replaying import is_whole, recorded_text, sanitize
from api.pages.viewer import Viewer
from api.timeline.pictures import load_picture
from detectors.model.types import Event

MAX_CHARACTERS = 8 << 20
"""Of recorded text in one answer; a message is never cut."""
LOOK = 500
"""Events that are read at once."""
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src data:;"
    " font-src data:; connect-src {source}; frame-src 'none'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'self'"
)

router = APIRouter(include_in_schema=False)


@router.get("/episodes/{episode}/pictures/{sha256}")
async def show_picture(
    _who: Viewer,
    episode: str,
    sha256: str,
    episodes: EpisodesPart,
    outlines: OutlinesPart,
    follower: FollowerPart,
) -> Response:
    """A screenshot that the daemon put into the log."""
    row = await episodes.get(episode)
    picture = await load_picture(row, sha256, outlines, follower)
    kept = {"cache-control": "private, max-age=86400, immutable"}
    return Response(picture.content, 200, {**HEADERS, **kept}, picture.media_type)


@router.get("/episodes/{episode}/replay")
async def replay(
    request: Request,  # for its own address, which the policy names
    _who: Viewer,
    episode: str,
) -> Response:
    """The document of the frame that shows the replay."""
    origin = f"{request.url.scheme}://{request.headers['host']}"
    here = f"/episodes/{episode}"
    scripts = " ".join(origin + static_path(name) for name in ("rrweb-replay.min.js", "replay.js"))
    policy = POLICY.format(scripts=scripts, source=f"{origin}{here}/visual")
    return page("episode/replay.html", headers={"content-security-policy": policy}, here=here)


@router.get("/episodes/{episode}/visual")
async def visual(
    _who: Viewer,
    episode: str,
    episodes: EpisodesPart,
    outlines: OutlinesPart,
    follower: FollowerPart,
    after: After = 0,
) -> Response:
    """The replay's events after the event ``after``, tab by tab, and where the next answer
    begins."""
    row = await episodes.get(episode)
    first, last = (await outlines.load(row.id, row.through)).visual
    at, found, size = max(after + 1, first), list[Event](), 0
    while last and at <= last and (size < MAX_CHARACTERS or not is_whole(found[-1])):
        events = await follower.between(row.id, at, min(last, at + LOOK - 1))
        recorded = [event for event in events if event.kind == "visual.dom_recorded"]
        found += recorded
        size += sum(len(recorded_text(event)) for event in recorded)
        at += LOOK
    body = await asyncio.to_thread(_render, found, at - 1 if last and at <= last else None)
    return Response(body, 200, HEADERS, JSON)


def _render(found: Sequence[Event], following: int | None) -> bytes:
    told = [{**one._asdict(), "events": list(_written(one.events))} for one in sanitize(found)]
    return orjson.dumps({"told": told, "next": following})


def _written(events: Iterable[dict[str, object]]) -> Iterator[orjson.Fragment]:
    """Each event by itself: one that can't be written costs no other."""
    for one in events:
        with contextlib.suppress(TypeError, RecursionError):
            yield orjson.Fragment(orjson.dumps(one))
