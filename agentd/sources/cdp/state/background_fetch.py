"""Requests that the browser itself sends for a page (`BackgroundFetchManager.fetch`), which no
session reports: DevTools' record of background services says that they begin.

It has neither their bodies nor their answers: what they did is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.protocol import BackgroundServiceEventReceived
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, SessionState

_SERVICE = {"service": "backgroundFetch"}
COMMANDS = (
    ("BackgroundService.startObserving", _SERVICE),
    ("BackgroundService.setRecording", {**_SERVICE, "shouldRecord": True}),
)
"""What a page's session is sent where a rule hears requests. No page can read whether the record is
kept."""
EVENT = "BackgroundService.backgroundServiceEventReceived"
STARTED = "Request processing started"


def handle_event(
    _browser: BrowserState, _session: SessionState, params: BackgroundServiceEventReceived
) -> Iterator[CdpObservation]:
    """Handle an entry of the record: a request that starts is a gap of requests."""
    event = params["backgroundServiceEvent"]
    if event["service"] == _SERVICE["service"] and event["eventName"] == STARTED:
        yield from gap(
            REQUESTS, f"{event['origin']} began a background fetch, which no page reports"
        )
