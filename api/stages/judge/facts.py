"""What happened, as facts for a judge: which events it is shown, what of them, and whose word each
is.

Never shown is what the agent thought or said of itself: a step's action is the agent's own text, so
what it did is told by what was observed. What an agent hands in (an answer, a call's arguments) is
a claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.stages.base import Question
from api.stages.judge.cleaning import clean
from api.stages.judge.flags import STRONG, flags
from detectors.model.types import Event, Reward

UNSHOWN = frozenset(
    "step.began step.ended step.sealed edge.computed alarm.raised alarm.ended tab.activated"
    " page.parsed page.loaded page.idled page.scrolled frame.detached request.sent"
    " download.progressed element.focused element.hovered element.opaque visual.recorded"
    " visual.pictured widget.focused process.started process.ended app.appeared app.vanished"
    " text.selected".split()
)
"""Kinds that say nothing of what was reached, or (``step.began``) are the agent's own words."""
CLAIMS = frozenset({"agent.answered", "agent.tool_called"})
PICTURE = "screen.captured"
_STANDING = frozenset({"page.navigated", "page.titled"})
"""Of these the last one before the step is shown too: where it began."""
_UNSHOWN_FIELDS = frozenset(
    "frame request loader opener download command window pid parent id path phash form field ms"
    " bytes headers trusted main commit toolkit sha256 via type hops call".split()
)
_SENDING = frozenset({"request.finished", "request.redirected", "request.failed"})
_NEAR = 120
"""Characters of a neighbour that can belong to one instruction."""
_JOINED = (2, 3)
"""How many neighbours are read as one text: an instruction can be spread over lines that are shown."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of evidence. ``key`` is its name without the request's nonce; ``seq`` the event,
    None where there is none. A ``claim`` is somebody's own word; ``flags`` say why its words are
    withheld; ``picture`` is a sha256."""

    key: str
    seq: int | None
    kind: str
    step: int
    data: Any
    claim: bool = False
    flags: tuple[str, ...] = ()
    picture: str | None = None

    @property
    def canonical(self) -> list[Any]:
        """All that a judge's answer can depend on, the same in every request."""
        return [
            self.key,
            self.kind,
            self.step,
            self.data,
            self.claim,
            list(self.flags),
            self.picture,
        ]


class EventFacts:
    """Turns events into facts. ``most``: characters of one text; ``mark``: what no text may
    contain."""

    def __init__(self, most: int, mark: str) -> None:
        self._most, self._mark = most, mark
        self._tabs: dict[str, str] = {}

    def know(self, events: Iterable[Event]) -> None:
        """Name the tabs in the order of the log, so that each has one name wherever it is told."""
        for event in events:
            if isinstance(tab := event.data.get("tab"), str):
                self._tabs.setdefault(tab, f"t{len(self._tabs) + 1}")

    def fact(self, event: Event, step: int) -> Fact:
        """One event as a fact, its texts cleaned and cut."""
        data = {
            name: self._value(name, value)
            for name, value in event.data.items()
            if name not in _UNSHOWN_FIELDS
        }
        picture = (
            event.data.get("sha256")
            if event.kind == PICTURE and event.data.get("kept") is not False
            else None
        )
        claim = event.kind in CLAIMS or event.kind == PICTURE
        return Fact(f"e{event.seq}", event.seq, event.kind, step, data, claim, (), picture)

    def text(self, text: str) -> str:
        """``text`` cleaned, its head and tail kept where it is long, and the cut named."""
        if len(text) > 100 * self._most:  # before the work that is linear in it
            text = text[: 50 * self._most] + text[-50 * self._most :]
        shown = clean(text, self._mark)
        if len(shown) <= self._most:
            return shown
        head, tail = self._most * 2 // 3, self._most // 3
        return f"{shown[:head]} […{len(shown) - head - tail} characters cut…] {shown[-tail:]}"

    def _value(self, name: str, value: Any) -> Any:
        if name == "tab" and isinstance(value, str):
            return self._tabs.setdefault(value, f"t{len(self._tabs) + 1}")
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(str(key)): self._value("", inner)
                for key, inner in value.items()
                if key != "path"
            }
        if isinstance(value, list | tuple):
            return [self._value("", inner) for inner in value[:50]]
        return value


def facts_of(question: Question, reader: EventFacts) -> list[Fact]:
    """What ``question`` is about, in the log's order; of a step also where it began. `flagged` is
    the caller's."""
    reader.know(question.events)
    wanted: list[Fact] = []
    before: dict[tuple[str, Any], tuple[Event, int]] = {}
    for event, step in stepped(question.events):
        if event.kind in UNSHOWN or (event.kind in _SENDING and not _tells(event)):
            continue
        if question.about == "goal" or step == question.step:
            wanted.append(reader.fact(event, step))
        elif event.kind in _STANDING:
            before[event.kind, event.data.get("tab")] = event, step
    standing = [
        reader.fact(event, step)
        for event, step in sorted(before.values(), key=lambda pair: pair[0].seq)
    ]
    return [*standing, *wanted, *_earned(question)]


def stepped(events: Iterable[Event]) -> Iterator[tuple[Event, int]]:
    """Each event with the step in which it happened, -1 before the first."""
    step = -1
    for event in events:
        if event.kind == "step.began":
            step = event.data["step"]
        yield event, step


def flagged(facts: Sequence[Fact]) -> list[Fact]:
    """``facts`` with what is suspicious about each, alone and beside its neighbours; what is ours
    is not looked at."""
    words = ["" if fact.seq is None else " \n".join(texts(fact.data)) for fact in facts]
    found = [
        dict.fromkeys(_own(fact, word)) if word else {}
        for fact, word in zip(facts, words, strict=True)
    ]
    for width in _JOINED:
        shown = [i for i, names in enumerate(found) if words[i] and not names]
        for window in zip(*(shown[start:] for start in range(width)), strict=False):
            for name in _spread([words[i] for i in window]):
                for i in window:
                    found[i][name] = None
    return [replace(fact, flags=tuple(names)) for fact, names in zip(facts, found, strict=True)]


def _spread(words: Sequence[str]) -> tuple[str, ...]:
    if any(len(word) > _NEAR for word in words[1:-1]):
        return ()
    return flags(" ".join([words[0][-_NEAR:], *words[1:-1], words[-1][:_NEAR]]), STRONG)


def texts(data: Any) -> Iterator[str]:
    """Every text in ``data``, names of fields that came from outside included."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if key != "tab":
                yield str(key)
                yield from texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts(value)


def _own(fact: Fact, joined: str) -> Iterator[str]:
    for text in texts(fact.data):
        # A colon alone has earned rewards (arXiv 2507.08794), and proves nothing.
        if text and not any(c.isalnum() for c in text):
            yield "mute"
        yield from flags(text)
    yield from flags(joined)


def _tells(event: Event) -> bool:
    return (
        event.data.get("method") != "GET"
        or event.kind == "request.failed"
        or "answer" in event.data
    )


def _earned(question: Question) -> Iterator[Fact]:
    rewards: Sequence[Reward] = question.rewards
    about = [
        reward for reward in rewards if question.about == "goal" or reward.step == question.step
    ]
    for reward in about:
        for milestone in reward.milestones:
            if not milestone.baseline:
                key = f"m{reward.step}.{milestone.id}"
                yield Fact(key, None, "milestone.earned", reward.step, {"milestone": milestone.id})
