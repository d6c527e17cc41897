"""An episode's events as a person follows them: by step, and like ones folded into one line (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from api.recording_text import clip, telling
from detectors.codec import canonical
from detectors.types import Event


@dataclass(slots=True)
class Line:
    """``count`` like events in a row, the last of them told; ``marked``: one of them is evidence."""

    first: int
    last: int
    at: int
    source: str
    kind: str
    telling: str
    count: int = 1
    marked: bool = False


@dataclass(slots=True)
class Span:
    """The events of one step; ``step`` None: those before the first. ``at`` and ``until`` in ns since the opening."""

    step: int | None
    at: int
    until: int
    action: str
    events: list[Event] = field(default_factory=list)

    @property
    def key(self) -> str:
        """How an address names it."""
        return "opening" if self.step is None else str(self.step)

    @property
    def gaps(self) -> int:
        """How many gaps began in it."""
        return sum(event.kind == "gap.began" for event in self.events)


def spans(events: Iterable[Event]) -> list[Span]:
    """One span a step, in order, after what was before the first step; a step that begins again goes on."""
    found = [Span(None, 0, 0, "")]
    for event in events:
        step = event.data.get("step") if event.kind == "step.began" else None
        if step is not None and step != found[-1].step:
            found.append(Span(step, event.at, event.at, said(event.data.get("action"))))
        found[-1].events.append(event)
        found[-1].until = event.at
    return found


def said(action: Any) -> str:
    """An action as the harness reported it, on one line: the words of a flat one, without the names of its members."""
    if action is None:
        return ""
    if (
        isinstance(action, Mapping)
        and action
        and all(isinstance(value, str | int | float) for value in action.values())
    ):
        return clip(" ".join(str(value) for value in action.values()))
    return clip(_plain(action))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def folded(events: Iterable[Event], evidence: frozenset[int]) -> list[Line]:
    """The events as lines: neighbours of one source, kind and telling are one line; evidence stands alone."""
    lines: list[Line] = []
    for event in events:
        marked, text = event.seq in evidence, telling(event)
        last = lines[-1] if lines else None
        if (
            last is not None
            and not marked
            and not last.marked
            and (last.source, last.kind, last.telling) == (event.source, event.kind, text)
        ):
            last.last, last.count = event.seq, last.count + 1
            continue
        lines.append(Line(event.seq, event.seq, event.at, event.source, event.kind, text, marked=marked))
    return lines
