"""What an event says of who answered a request, and of one whose answer nobody knows."""

from __future__ import annotations

from collections.abc import Mapping

from detectors.model.types import Event

ENDS = ("request.finished", "request.failed")
"""The kinds that end a request."""

_NOT_THE_SERVER = ("worker", "unknown")
_READS = ("GET", "HEAD", "OPTIONS", "TRACE")


def is_servers(hop: Mapping[str, object]) -> bool:
    """Whether the server gave the answer: not the browser's cache, not a service worker, not
    whoever made it up."""
    return hop.get("cached") is not True and not is_made_up(hop)


def is_made_up(hop: Mapping[str, object]) -> bool:
    """Whether a service worker, DevTools or the browser itself made the answer up."""
    return hop.get("served_from") in _NOT_THE_SERVER


def is_lost(event: Event) -> bool:
    """Whether it tells of a request that may have changed something at the server: its headers went
    out, and whoever asked did not get the answer."""
    data = event.data
    return event.kind == "request.failed" and data.get("sent") is True and writes(data)


def writes(hop: Mapping[str, object]) -> bool:
    """Whether its method may change something at the server."""
    return str(hop.get("method")).upper() not in _READS


LOST = "a request went out and what the server answered is not known"
"""Why a rule can't know what it is asked of such a request."""
