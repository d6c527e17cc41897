"""For operators: is it alive, is it ready, how is it doing."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from api.auth.store import OPERATOR
from api.core.errors import ForbiddenError, UnavailableError
from api.db.migrate import current, latest_revision, reached
from api.http.dependencies import DatabasePart
from api.http.describe import problems
from api.http.support import METRICS, answer, caller, parts_of

router = APIRouter(tags=["operations"])


@router.get("/healthz", summary="Is it alive")
async def healthz(request: Request) -> Response:
    """The process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", summary="Is it ready", responses={**problems()})
async def readyz(database: DatabasePart) -> Response:
    """The database answers and has this build's schema, or a newer build's."""
    revision = await current(database)
    if not reached(revision):
        raise UnavailableError(
            f"schema: the database is at {revision}, wanted {latest_revision()}: run `milestoned db"
            " upgrade`"
        )
    return answer({"status": "ready", "schema": revision})


@router.get(
    "/metrics",
    summary="How it is doing",
    response_class=PlainTextResponse,
    responses={200: {"description": "Prometheus' text form."}, **problems(401, 403)},
)
async def metrics(request: Request) -> Response:
    """Counters over all tenants, so for the operator's own tokens alone."""
    who = await caller(request, METRICS)
    if who.tenant != OPERATOR:
        raise ForbiddenError(
            f"authorization: the token is {who.tenant}'s, wanted one of the operator's ({OPERATOR})"
        )
    parts = parts_of(request)
    await parts.gauges.refresh()
    return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
