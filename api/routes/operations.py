"""For operators: is it alive, is it ready, how is it doing."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from api.errors import UnavailableError
from api.routes.describe import problems
from api.routes.support import answer, parts_of
from api.store.migrate import current, wanted

router = APIRouter(tags=["operations"])


@router.get("/healthz", summary="Is it alive")
async def healthz(request: Request) -> Response:
    """The process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", summary="Is it ready", responses={**problems()})
async def readyz(request: Request) -> Response:
    """The database answers and has this build's schema."""
    found, newest = await current(parts_of(request).database), wanted()
    if found != newest:
        raise UnavailableError(f"schema: the database is at {found}, wanted {newest}: run `milestoned db upgrade`")
    return answer({"status": "ready", "schema": found})


@router.get("/metrics", summary="How it is doing", responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Counters in Prometheus' text form."""
    parts = parts_of(request)
    parts.metrics.open_episodes.set(await parts.episodes.count_open())
    return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
