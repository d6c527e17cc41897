"""A worker may send requests before anybody can listen, as it is never paused: then that is a gap,
not silence."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import CdpObservation, SessionState


def emit_worker_gap(session: SessionState) -> Iterator[CdpObservation]:
    """The gap before a worker was listened to, once, unless the end of its own script's loading was
    heard."""
    if session.heard:
        return
    session.heard = True
    kind = session.via.replace("_", " ")
    yield from gap(
        REQUESTS, f"a {kind} began before it could be listened to; its first requests are not known"
    )
