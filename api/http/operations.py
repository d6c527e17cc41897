"""For operators: is it alive, is it ready, how is it doing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse

from api.auth.store import OPERATOR, Principal
from api.core.errors import ForbiddenError, UnavailableError
from api.core.metrics import Metrics
from api.db.migrate import current, is_reached, latest_revision
from api.http.authorization import requires
from api.http.dependencies import DatabasePart
from api.http.describe import problems
from api.http.support import METRICS, answer, parts_of
from api.service.gauges import Gauges

router = APIRouter(tags=["operations"])


async def _gauges(request: Request) -> Gauges:
    return parts_of(request).gauges


async def _counters(request: Request) -> Metrics:
    return parts_of(request).metrics


@router.get("/healthz", summary="Is it alive")
async def healthz() -> Response:
    """Answer as long as the process runs, whatever its database does."""
    return answer({"status": "ok"})


@router.get("/readyz", summary="Is it ready", responses={**problems()})
async def readyz(database: DatabasePart) -> Response:
    """The database answers and has this build's schema, or a newer build's."""
    revision = await current(database)
    if not is_reached(revision):
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
async def metrics(
    who: Annotated[Principal, requires(METRICS)],
    gauges: Annotated[Gauges, Depends(_gauges)],
    counters: Annotated[Metrics, Depends(_counters)],
) -> Response:
    """Counters over all tenants, so for the operator's own tokens alone."""
    if who.tenant != OPERATOR:
        raise ForbiddenError(
            f"authorization: the token is {who.tenant}'s, wanted one of the operator's ({OPERATOR})"
        )
    await gauges.refresh()
    return Response(counters.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
