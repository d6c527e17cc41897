"""A recording in its normal form: names instead of ids, no times, and order only where one thing
follows from another.

Within a step the events of one subject (a frame, a request, a tab, ...) keep their order; those of
different subjects come as the browser and the wire please.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import zstandard

from detectors.model.codec import decode_segment, split_segments
from detectors.model.types import Event

NAMED = {"tab": "tab", "opener": "tab", "frame": "tab", "download": "download", "socket": "socket"}
"""Fields that hold an id, and how they are called. A tab's main frame has the tab's id."""
SUBJECTS = ("request", "socket", "download", "frame", "tab")
"""What an event is about: the first of these fields that it has."""


class Allowed(NamedTuple):
    """A difference that is allowed between two transports: ``of`` says whether an event shows
    it."""

    of: Callable[[str, Mapping[str, Any]], bool]
    why: str


Normal = dict[tuple[int | None, str], list[str]]


def events_of(recording: Path) -> list[Event]:
    """Every event of a recording; its chain is checked on the way."""
    with recording.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    return [event for segment in split_segments(text) for event in decode_segment(segment).events]


def normal(events: list[Event], left_out: Mapping[str, str], allowed: Sequence[Allowed]) -> Normal:
    """Step and subject → what happened to it, but for fields that are left out and events that may
    be missing."""
    names = _Names()
    made: Normal = {}
    step: int | None = None
    for event in events:
        if event.kind == "step.began":
            step = event.data["step"]
        if event.source != "cdp":
            continue
        data = names.name(event.data)
        if any(difference.of(event.kind, data) for difference in allowed):
            continue
        subject = next((str(data[field]) for field in SUBJECTS if field in data), "")
        if (
            event.kind == "page.title_changed"
        ):  # told by the list of tabs, beside what the page itself tells
            subject += "'s title"
        kept = {key: value for key, value in data.items() if key not in left_out}
        line = f"{event.kind} {orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode()}"
        made.setdefault((step, subject), []).append(line)
    return made


def differing(one: Normal, other: Normal) -> list[str]:
    """What the two do not share, a line each; empty: they tell the same."""
    lines: list[str] = []
    for key in sorted(one.keys() | other.keys(), key=str):
        left, right = one.get(key, []), other.get(key, [])
        if left == right:
            continue
        lines.extend(
            f"step {key[0]}, {key[1]}: only there: {line}"
            for line in (Counter(left) - Counter(right)).elements()
        )
        lines.extend(
            f"step {key[0]}, {key[1]}: only here: {line}"
            for line in (Counter(right) - Counter(left)).elements()
        )
        if Counter(left) == Counter(right):
            lines.append(f"step {key[0]}, {key[1]}: another order: {left} there, {right} here")
    return lines


class _Names:
    """Ids by the order in which they appear; requests by what they ask for, since their order is
    the network's."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._counts: Counter[str] = Counter()

    def name(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """``data`` with names for ids."""
        made = dict(data)
        for field, noun in NAMED.items():
            if isinstance(made.get(field), str):
                made[field] = self._of(noun, made[field], noun)
        if "request" in made:
            made["request"] = self._of(
                "request", made["request"], f"{made.get('method')} {made.get('url')}"
            )
        return made

    def _of(self, what: str, number: str, called: str) -> str:
        if (what, number) not in self._known:
            self._counts[called] += 1
            self._known[what, number] = f"{called} {self._counts[called]}"
        return self._known[what, number]
