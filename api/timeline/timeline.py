"""An episode as a person follows it: what each step holds, and its events with like ones folded
into one line (pure).

The outline is what a page needs of the whole log: it grows event by event, so that nobody reads the
log twice, and its size goes with the number of steps, not of events. The events themselves are read
a step at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any

from api.rewards.event_text import clip, telling
from detectors.model.codec import canonical
from detectors.model.types import Event

LOOKS = "visual"
"""The noun, and the source, of events that hold what was seen: they are shown as that, not as lines."""
MAX_PICTURES = 20_000
SPAN_BYTES = 768
"""What a span takes at most beside the text of its action."""
PICTURE_BYTES = 288


@dataclass(slots=True)
class Line:
    """``count`` like events in a row, the last of them told; ``marked``: one of them is
    evidence."""

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
    """The events of one step; ``step`` None: those before the first. ``at`` and ``until`` in ns
    since the opening.

    ``lines``: how many lines its events fold into; ``picture``: the sha256 of the last screenshot
    taken of it.
    """

    step: int | None
    first: int
    at: int
    action: str
    last: int = 0
    until: int = 0
    count: int = 0
    lines: int = 0
    gaps: int = 0
    picture: str | None = None

    @property
    def key(self) -> str:
        """How an address names it."""
        return "opening" if self.step is None else str(self.step)


@dataclass(slots=True)
class Outline:
    """Everything up to event ``through``. ``pictures``: sha256 → the event that holds the picture;
    ``visual``: the numbers of the first and the last event that hold a replay, 0 where there is
    none."""

    spans: list[Span] = field(default_factory=lambda: [Span(None, 1, 0, "")])
    through: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    pictures: dict[str, int] = field(default_factory=dict)
    visual: tuple[int, int] = (0, 0)
    bytes: int = 8 * SPAN_BYTES
    """The most that it takes in memory."""
    _before: tuple[str, str, str] | None = None

    def take(self, event: Event) -> None:
        """The next event."""
        step = event.data.get("step") if event.kind == "step.began" else None
        if step is not None and step != self.spans[-1].step:
            action = action_text(event.data.get("action"))
            self.spans.append(Span(step, event.seq, event.at, action))
            self.bytes += SPAN_BYTES + getsizeof(action)
            self._before = None
        span = self.spans[-1]
        self.through, span.last, span.until = event.seq, event.seq, event.at
        if event.source == LOOKS:
            self._look(event)
            return
        span.count += 1
        self.sources[event.source] += 1
        span.gaps += event.kind == "gap.began"
        if event.kind == "screen.captured":
            self._captured(event)
        same = (event.source, event.kind, telling(event))
        span.lines += same != self._before
        self._before = same

    def _look(self, event: Event) -> None:
        if event.kind == "visual.recorded":
            self.visual = (self.visual[0] or event.seq, event.seq)
        elif event.kind == "visual.pictured" and len(self.pictures) < MAX_PICTURES:
            digest = str(event.data.get("sha256"))
            if digest not in self.pictures:
                self.pictures[digest] = event.seq
                self.bytes += PICTURE_BYTES + getsizeof(digest)

    def _captured(self, event: Event) -> None:
        step = event.data.get("step")
        of = next((span for span in reversed(self.spans[-8:]) if span.step == step), None)
        if of is not None:
            before, of.picture = of.picture, str(event.data.get("sha256"))
            self.bytes += getsizeof(of.picture) - (getsizeof(before) if before else 0)

    def span_of(self, seq: int) -> Span:
        """The span that holds the event ``seq``."""
        low, high = 0, len(self.spans) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.spans[middle].first <= seq else (low, middle - 1)
        return self.spans[low]


def action_text(action: Any) -> str:
    """An action as the harness reported it, on one line: the words of a flat one, without the names
    of its members."""
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
    """The events as lines: neighbours of one source, kind and telling are one line; evidence stands
    alone."""
    lines: list[Line] = []
    for event in events:
        if event.source == LOOKS:
            continue
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
        lines.append(
            Line(event.seq, event.seq, event.at, event.source, event.kind, text, marked=marked)
        )
    return lines


def fits(line: Line, words: str, sources: frozenset[str]) -> bool:
    """Whether a search for ``words``, in any case, among ``sources`` (none: all) finds the line."""
    return (
        not sources or line.source in sources
    ) and words.lower() in f"{line.kind} {line.telling}".lower()
