"""An episode as a person follows it: what each step holds, and its events with like ones folded
into one line (pure).

The outline is what a page needs of the whole log: it grows event by event, so that nobody reads the
log twice, and its size goes with the number of steps, not of events. The events themselves are read
a step at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from sys import getsizeof

from api.rewards.event_text import clip, telling
from api.stages.judge.facts import SUBMITTED
from detectors.model.codec import text_or_json
from detectors.model.types import Event, Json

LOOKS = "visual"
"""The source of events that hold what was seen: they are shown as that, not as lines."""
MAX_PICTURES = 20_000
SPAN_BYTES = 768
"""What a span takes at most beside the text of its action."""
PICTURE_BYTES = 288
MAX_SUBMITTED = 64
LATE_SPANS = 8
"""How many of the last spans a screenshot may still belong to."""


@dataclass(slots=True)
class TimelineRow:
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

    def is_like(self, other: TimelineRow) -> bool:
        """Whether both are one line: evidence is like nothing."""
        if self.marked or other.marked:
            return False
        return (self.source, self.kind, self.telling) == (other.source, other.kind, other.telling)


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
        """Return how an address names the span."""
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
    submitted: list[int] = field(default_factory=list)
    """The numbers of the events in which the agent pointed to evidence, the first ones."""
    bytes: int = 8 * SPAN_BYTES
    """The most that it takes in memory."""
    _before: tuple[str, str, str] | None = None

    def take(self, event: Event) -> None:
        """Add the next event of the log to the timeline."""
        step = event.data.get("step") if event.kind == "step.began" else None
        if step is not None and step != self.spans[-1].step:
            action = action_text(event.data.get("action"))
            self.spans.append(Span(step, event.seq, event.at, action))
            self.bytes += SPAN_BYTES + getsizeof(action)
            self._before = None
        span = self.spans[-1]
        span.last = event.seq
        span.until = event.at
        self.through = event.seq
        if event.kind == SUBMITTED and len(self.submitted) < MAX_SUBMITTED:
            self.submitted.append(event.seq)
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
        """Note where the visual record begins and ends, and its pictures."""
        if event.kind == "visual.dom_recorded":
            self.visual = (self.visual[0] or event.seq, event.seq)
        elif event.kind == "visual.screenshot_taken" and len(self.pictures) < MAX_PICTURES:
            digest = str(event.data.get("sha256"))
            if digest not in self.pictures:
                self.pictures[digest] = event.seq
                self.bytes += PICTURE_BYTES + getsizeof(digest)

    def _captured(self, event: Event) -> None:
        """Note the picture of a step, also one that came a little late."""
        step = event.data.get("step")
        for span in reversed(self.spans[-LATE_SPANS:]):
            if span.step == step:
                before = span.picture
                span.picture = str(event.data.get("sha256"))
                self.bytes += getsizeof(span.picture) - (getsizeof(before) if before else 0)
                return

    def span_of(self, seq: int) -> Span:
        """Return the span that holds the event ``seq``."""
        place = bisect_right(self.spans, seq, key=lambda span: span.first)
        return self.spans[max(0, place - 1)]


def action_text(action: Json) -> str:
    """Return an action as the harness reported it, on one line: the words of a flat one, without
    the names of its members."""
    if action is None:
        return ""
    if _is_flat(action):
        return clip(" ".join(map(str, action.values())))
    return clip(_plain(action))


def _is_flat(action: Json) -> bool:
    """Whether it is an object of texts and numbers alone."""
    if not isinstance(action, Mapping) or not action:
        return False
    return all(isinstance(value, str | int | float) for value in action.values())


def _plain(value: Json) -> str:
    return text_or_json(value)


def fold_lines(events: Iterable[Event], evidence: frozenset[int]) -> list[TimelineRow]:
    """Return the events as lines: neighbours of one source, kind and telling are one line; evidence
    stands alone."""
    lines: list[TimelineRow] = []
    for event in events:
        if event.source == LOOKS:
            continue
        marked = event.seq in evidence
        line = TimelineRow(
            first=event.seq,
            last=event.seq,
            at=event.at,
            source=event.source,
            kind=event.kind,
            telling=telling(event),
            marked=marked,
        )
        if lines and lines[-1].is_like(line):
            lines[-1].last = event.seq
            lines[-1].count += 1
        else:
            lines.append(line)
    return lines


def fits(line: TimelineRow, words: str, sources: frozenset[str]) -> bool:
    """Whether a search for ``words``, in any case, among ``sources`` (none: all) finds the line."""
    if sources and line.source not in sources:
        return False
    return words.lower() in f"{line.kind} {line.telling}".lower()
