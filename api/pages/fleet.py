"""The fleet: sandboxes with their heartbeat, what each does now, how fast, what it did not see;
live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from api.auth.store import OPERATOR
from api.core.metrics import Metrics
from api.core.notify import Notifier
from api.db.database import now
from api.fleet.owners import Owners, OwnerSilence
from api.fleet.store import GONE, LIVING, Sandboxes, describe
from api.fleet.watch import FleetWatch
from api.http.support import parts_of
from api.live.streams import Streams
from api.log.arrivals import Arrivals
from api.pages.render import HEADERS, page
from api.pages.viewer import Viewer, ViewerStream
from api.service.overview import Overview

SHOWN = 500
"""The most sandboxes on one page."""
RATE_S = 300.0
"""Rates are of the last so many seconds."""
EVERY_S = 2.0
"""How often the page is told to look again where no log of its tenant moved: heartbeats move no
log."""

MIN_INTERVAL_S = 0.1
"""How long the next word of a busy fleet waits."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class FleetPageParts:
    """What the page uses of the service."""

    sandboxes: Sandboxes
    overview: Overview
    owners: Owners
    watch: FleetWatch
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class FleetLiveParts:
    """What tells the page that something moved."""

    arrivals: Arrivals
    notifier: Notifier
    streams: Streams


async def _page_parts(request: Request) -> FleetPageParts:
    parts = parts_of(request)
    return FleetPageParts(parts.sandboxes, parts.overview, parts.owners, parts.watch, parts.metrics)


async def _live_parts(request: Request) -> FleetLiveParts:
    parts = parts_of(request)
    return FleetLiveParts(parts.arrivals, parts.notifier, parts.streams)


@router.get("/fleet")
async def fleet(who: Viewer, parts: Annotated[FleetPageParts, Depends(_page_parts)]) -> Response:
    """Show every sandbox, what it works on and when it was last alive."""
    rows = await parts.sandboxes.list_rows(who.tenant, SHOWN)
    sandboxes = [describe(row) for row in rows]
    busy_on = [one["episode"] for one in sandboxes if one["episode"]]
    running = await parts.overview.running(busy_on)
    silences = await parts.owners.silences(busy_on)
    states = dict.fromkeys((*LIVING, *GONE), 0) | await parts.sandboxes.states(who.tenant)
    pace = await parts.overview.pace(who.tenant, now(timedelta(seconds=-RATE_S)))
    at = datetime.now(UTC)
    shown = [
        {**one, **_sandbox_view(one, running, at), "owner": silences.get(one["episode"])}
        for one in sandboxes
    ]
    return page(
        "fleet.html",
        sandboxes=sorted(shown, key=_order),
        states=states,
        pace=pace,
        minutes=RATE_S / 60,
        alarms=alarms(shown, parts.watch.beat_of),
        latency=latency(parts.metrics) if who.tenant == OPERATOR else None,
        most=SHOWN,
        more=len(rows) == SHOWN,
    )


def _sandbox_view(
    one: Mapping[str, Any], running: Mapping[str, Any], at: datetime
) -> dict[str, object]:
    """How long ago its last beat is, in seconds, and what its episode does."""
    silent = (at - datetime.fromisoformat(one["heard_at"])).total_seconds()
    row = running.get(one["episode"])
    rate = None
    if row is not None and row.step is not None:
        open_s = max((at - datetime.fromisoformat(row.opened_at)).total_seconds(), 1.0)
        rate = (row.step + 1) * 60.0 / open_s
    return {"silent": max(silent, 0.0), "running": row, "steps_per_minute": rate}


def _order(one: Mapping[str, Any]) -> tuple[int, str]:
    return ("lost", "busy", "idle", "left").index(one["state"]), one["name"]


def alarms(
    shown: Sequence[Mapping[str, Any]], beat_of: Callable[[str], float]
) -> list[tuple[str, str]]:
    """(sandbox, what somebody should see to) of each that is lost, silent or blind, or works for an
    owner that is silent; ``beat_of``: the seconds between two beats in a state."""
    found = []
    for one in shown:
        beat_s = beat_of(one["state"])
        if one["state"] == "lost":
            found.append((one["name"], f"lost: not heard of since {one['heard_at'][11:19]} UTC"))
        elif one["state"] not in GONE and one["silent"] > 3 * beat_s:
            found.append(
                (
                    one["name"],
                    f"silent for {one['silent']:.0f} s; it should beat every {beat_s:.0f} s",
                )
            )
        owner: OwnerSilence | None = one["owner"]
        if owner is not None and owner.silent_s > owner.silence_s / 2:
            found.append((one["name"], _owner_alarm(owner)))
        if one["gaps"] and one["state"] not in GONE:
            found.append((one["name"], "does not see: " + ", ".join(map(str, one["gaps"]))))
    return found


def _owner_alarm(owner: OwnerSilence) -> str:
    return (
        f"its episode's owner was not heard of for {owner.silent_s:.0f} s; after"
        f" {owner.silence_s:.0f} s the episode ends"
    )


def latency(metrics: Metrics) -> tuple[float | None, int]:
    """Mean milliseconds from a segment's receipt to its durability, at this replica since it
    started, and of how many.

    It counts over all tenants, so it is for the operator's, as /metrics is."""
    found = {
        one.name: one.value for metric in metrics.ingest_seconds.collect() for one in metric.samples
    }
    many = int(found.get("milestoned_ingest_seconds_count", 0))
    return (found["milestoned_ingest_seconds_sum"] / many * 1000 if many else None), many


@router.get("/fleet/live")
async def live(
    who: Viewer, stream: ViewerStream, parts: Annotated[FleetLiveParts, Depends(_live_parts)]
) -> Response:
    """Server-sent words that there may be something new: the page asks for itself anew."""
    return stream.response(_moves(parts, who.tenant), HEADERS)


async def _moves(parts: FleetLiveParts, tenant: str) -> AsyncIterator[bytes]:
    place = await parts.arrivals.last()
    while not parts.notifier.stopped:
        place = await parts.streams.moved(tenant, place, EVERY_S)
        await asyncio.sleep(MIN_INTERVAL_S)
        yield b"event: moved\ndata: \n\n"
