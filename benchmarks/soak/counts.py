"""What the page did, by its own count, beside what the recording says: nothing may be missing
without a word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from detectors.model.types import Event

_FACT = re.compile(r"\bfact (\d+)\.")
_TICK = re.compile(r"/tick\?n=(\d+)$")
_PLACE = re.compile(r"#place-(\d+)$")


class Held(NamedTuple):
    """One thing that the page counts: how many it did, and which of them the recording does not
    tell."""

    did: int
    missing: list[int]


def hold(
    events: Iterable[Event], before: Mapping[str, int], did: Mapping[str, int]
) -> dict[str, Held]:
    """Every numbered fact, request, place and click after those ``before`` the daemon watched."""
    told: dict[str, set[int]] = {
        "facts": set(),
        "requests": set(),
        "places": set(),
        "clicks": set(),
    }
    clicks = before["clicks"]
    for event in events:
        for what, number in _numbers(event):
            told[what].add(number)
        if event.kind == "element.clicked":
            clicks += 1
            told["clicks"].add(clicks)
    return {
        what: Held(
            did[what] - before[what],
            [
                number
                for number in range(before[what] + 1, did[what] + 1)
                if number not in told[what]
            ],
        )
        for what in told
    }


def _numbers(event: Event) -> Iterator[tuple[str, int]]:
    if event.kind == "text.appeared":
        yield from (("facts", int(number)) for number in _FACT.findall(event.data["text"]))
    elif event.kind == "request.finished" and (found := _TICK.search(event.data["url"])):
        yield "requests", int(found[1])
    elif event.kind == "page.navigated" and (found := _PLACE.search(event.data["url"])):
        yield "places", int(found[1])


def losses(events: Iterable[Event]) -> dict[str, Any]:
    """What the recording itself says was lost: dropped observations, and gaps but those of the
    start."""
    dropped: Counter[str] = Counter()
    gaps: Counter[str] = Counter()
    begun = False
    for event in events:
        begun = begun or event.kind == "step.began"
        if event.kind == "events.dropped":
            dropped[event.data["source"]] += event.data["count"]
        elif event.kind == "gap.began" and begun:
            of = f" of {event.data['part']}" if "part" in event.data else ""
            # How much went unseen differs from gap to gap: they are counted by what they are of.
            reason = re.sub(r"\d+", "…", str(event.data["reason"]))
            gaps[f"{event.data['source']}{of}: {reason}"] += 1
    return {"dropped": dict(dropped), "gaps": dict(gaps)}


def kinds(events: Iterable[Event]) -> dict[str, int]:
    """How many events of each kind, the most frequent first."""
    return dict(Counter(event.kind for event in events).most_common())
