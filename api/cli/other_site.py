"""The note that a recording has no page of the task's site: then rules about pages pay 0."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from detectors.model.types import Event
from detectors.sdk.site import origin_of
from detectors.task.ruleset import Ruleset

MAX_NAMED = 3
"""Origins that the note names."""


def note_other_site(ruleset: Ruleset, events: Iterable[Event]) -> bool:
    """Print a note to stderr if ``events`` have pages, and none of them is of the task's `origin`
    or `hosts`; returns whether it did."""
    task = ruleset.task
    if task.origin is None:
        return False
    wanted = {origin_of(address) for address in (task.origin, *task.hosts)}
    visited: dict[str, None] = {}
    for event in events:
        if event.kind == "page.navigated" and event.data.get("main"):
            visited[origin_of(str(event.data.get("url")))] = None
    sites = [origin for origin in visited if origin.startswith(("http://", "https://"))]
    if not sites or wanted.intersection(sites):
        return False
    print(
        f"note: no page of the recording is of the task's origin {task.origin}, so that rules about"
        f" pages pay 0; its pages are of {', '.join(sites[:MAX_NAMED])}. If that is the same site:"
        f" --set origin={sites[0]}",
        file=sys.stderr,
    )
    return True
