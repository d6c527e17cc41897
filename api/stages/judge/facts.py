"""What happened, as facts for a judge: which events it is shown, what of them, and whose word each
is.

What the agent thought or said of itself is never shown: a step's action is the agent's own text, so
only what was observed says what it did. What an agent hands in (an answer, a call's arguments) is a
claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from api.stages.base import Question
from api.stages.judge.cleaning import clean
from api.stages.judge.flags import STRONG, flags
from detectors.model.json_value import list_or_empty
from detectors.model.optional_values import drop_keys
from detectors.model.types import Event, Json

UNSHOWN = frozenset(
    "step.began step.ended step.sealed reward.estimated alarm.raised alarm.ended tab.activated"
    " page.parsed page.loaded page.network_idle page.scrolled frame.detached request.sent"
    " download.progressed element.focused element.hovered element.unobservable visual.dom_recorded"
    " visual.screenshot_taken widget.focused process.started process.ended app.appeared"
    " app.vanished text.selected".split()
)
"""Kinds that say nothing of what was reached, or (``step.began``) are the agent's own words."""
SUBMITTED = "agent.evidence_submitted"
"""What an agent points to: a claim that names lines, and no words of its own."""
POINTS_TO = "lines"
"""The field of such a fact that has the keys of what it points to."""
CLAIMS = frozenset({"agent.answered", "agent.tool_called", SUBMITTED})
MAX_POINTERS = 40
PICTURE = "screen.captured"
_STANDING = frozenset({"page.navigated", "page.title_changed"})
"""Of these the last one before the step is shown too: where it began."""
_UNSHOWN_FIELDS = frozenset(
    "frame request loader opener download command window pid parent id path phash form field ms"
    " delay_ms bytes headers trusted main commit toolkit sha256 via type hops call".split()
)
_SENDING = frozenset({"request.finished", "request.redirected", "request.failed"})
_NEAR = 120
"""Characters of a neighbour that can belong to one instruction."""
_JOINED = (2, 3)
"""How many neighbours are read as one text: an instruction can be spread over lines."""
MAX_ITEMS = 50
"""Items of one list that are shown."""
EventInStep = tuple[Event, int]
"""An event with the step in which it happened, -1 before the first."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of evidence. ``key`` is its name without the request's nonce; ``seq`` the event,
    None where there is none. A ``claim`` is somebody's own word; ``flags`` say why its words are
    withheld; ``picture`` is a sha256."""

    key: str
    seq: int | None
    kind: str
    step: int
    data: Json
    claim: bool = False
    flags: tuple[str, ...] = ()
    picture: str | None = None

    @property
    def canonical(self) -> list[Json]:
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
        self._most = most
        self._mark = mark
        self._tabs: dict[str, str] = {}

    def name_tabs(self, events: Iterable[Event]) -> None:
        """Name the tabs in the order of the log, so that each has one name wherever it is shown."""
        for event in events:
            tab = event.data.get("tab")
            if isinstance(tab, str):
                self._tab_name(tab)

    def _tab_name(self, tab: str) -> str:
        return self._tabs.setdefault(tab, f"t{len(self._tabs) + 1}")

    def fact(self, event: Event, step: int) -> Fact:
        """Return an event as a fact, its texts cleaned and cut."""
        data = {
            name: self._value(name, value)
            for name, value in event.data.items()
            if name not in _UNSHOWN_FIELDS
        }
        is_picture = event.kind == PICTURE
        has_picture = is_picture and event.data.get("kept") is not False
        return Fact(
            key=f"e{event.seq}",
            seq=event.seq,
            kind=event.kind,
            step=step,
            data=data,
            claim=is_picture or event.kind in CLAIMS,
            picture=event.data.get("sha256") if has_picture else None,
        )

    def pointer(self, event: Event, step: int, log: Mapping[int, Event]) -> Fact:
        """Return submitted evidence as a fact: of what it points to what ``log`` has before it, and
        how many of its pointers lead nowhere."""
        named = [seq for seq in list_or_empty(event.data.get("events")) if type(seq) is int]
        pictures = list_or_empty(event.data.get("pictures"))
        named += _of_pictures(log, {one for one in pictures if isinstance(one, str)})
        keys: dict[str, None] = {}
        for seq in named:
            is_before = seq < event.seq and seq in log
            if is_before and is_observed(log[seq]):
                keys[f"e{seq}"] = None
        data: dict[str, Json] = {
            "criterion": self.text(str(event.data.get("criterion"))),
            POINTS_TO: list(keys)[:MAX_POINTERS],
        }
        return Fact(f"e{event.seq}", event.seq, event.kind, step, data, claim=True)

    def text(self, text: str) -> str:
        """Return ``text`` cleaned; of a long one head and tail, with the size of the cut."""
        if len(text) > 100 * self._most:  # before the work that is linear in it
            text = text[: 50 * self._most] + text[-50 * self._most :]
        shown = clean(text, self._mark)
        if len(shown) <= self._most:
            return shown
        head, tail = self._most * 2 // 3, self._most // 3
        return f"{shown[:head]} […{len(shown) - head - tail} characters cut…] {shown[-tail:]}"

    def _value(self, name: str, value: Json) -> Json:
        """Return the value of a field called ``name``, its texts cleaned and cut."""
        if isinstance(value, str):
            return self._tab_name(value) if name == "tab" else self.text(value)
        if isinstance(value, Mapping):
            members: dict[str, Json] = {}
            for key, inner in drop_keys(value, ("path",)).items():
                members[self.text(str(key))] = self._value("", inner)
            return members
        if isinstance(value, list | tuple):
            return [self._value("", inner) for inner in value[:MAX_ITEMS]]
        return value


def _of_pictures(log: Mapping[int, Event], hashes: set[str]) -> Iterator[int]:
    """Yield the numbers of the log's pictures that have one of these hashes."""
    yield from (
        seq
        for seq, event in log.items()
        if event.kind == PICTURE and event.data.get("sha256") in hashes
    )


def facts_of(question: Question, reader: EventFacts) -> list[Fact]:
    """Return what ``question`` is about, in the log's order; of a step also where it began.
    `flag_facts` is the caller's."""
    reader.name_tabs(question.events)
    log = {event.seq: event for event in question.events}
    facts: list[Fact] = []
    before: dict[tuple[str, Json], EventInStep] = {}
    for event, step in with_steps(question.events):
        if not _is_shown(event):
            continue
        if question.about == "goal" or step == question.step:
            is_pointer = event.kind == SUBMITTED
            fact = reader.pointer(event, step, log) if is_pointer else reader.fact(event, step)
            facts.append(fact)
        elif event.kind in _STANDING:
            before[event.kind, event.data.get("tab")] = event, step
    in_order = sorted(before.values(), key=lambda pair: pair[0].seq)
    standing = [reader.fact(event, step) for event, step in in_order]
    return [*standing, *facts, *_earned_facts(question)]


def with_steps(events: Iterable[Event]) -> Iterator[EventInStep]:
    """Yield each event with the step in which it happened, -1 before the first."""
    step = -1
    for event in events:
        if event.kind == "step.began":
            step = event.data["step"]
        yield event, step


def flag_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts with what is suspicious about each, alone and beside its neighbours; facts
    of the service's own are not looked at."""
    joined = [_joined_texts(fact) for fact in facts]
    flags_of: list[dict[str, None]] = []
    for fact, text in zip(facts, joined, strict=True):
        own = _own_flags(fact, text) if text else ()
        flags_of.append(dict.fromkeys(own))
    for width in _JOINED:
        unflagged = [at for at, text in enumerate(joined) if text and not flags_of[at]]
        for window in _windows(unflagged, width):
            names = dict.fromkeys(_joint_flags([joined[at] for at in window]))
            for at in window:
                flags_of[at] |= names
    return [replace(fact, flags=tuple(names)) for fact, names in zip(facts, flags_of, strict=True)]


def _joined_texts(fact: Fact) -> str:
    """Return all texts of a fact as one; empty for a fact of the service's own."""
    is_own = fact.seq is None
    return "" if is_own else " \n".join(texts(fact.data))


def _windows(places: Sequence[int], width: int) -> Iterator[tuple[int, ...]]:
    """Yield every run of ``width`` neighbours."""
    return zip(*(places[start:] for start in range(width)), strict=False)


def _joint_flags(neighbours: Sequence[str]) -> tuple[str, ...]:
    """Flag the text that neighbours make together: the first one's end to the last one's start."""
    first, *between, last = neighbours
    if any(len(text) > _NEAR for text in between):
        return ()
    return flags(" ".join([first[-_NEAR:], *between, last[:_NEAR]]), STRONG)


def texts(data: Json) -> Iterator[str]:
    """Yield every text in ``data``, names of fields that came from outside included."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in drop_keys(data, ("tab",)).items():
            yield str(key)
            yield from texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts(value)


def _own_flags(fact: Fact, joined: str) -> Iterator[str]:
    """Yield what is suspicious in a fact's texts, each alone and together."""
    for text in texts(fact.data):
        # A colon alone has earned rewards (arXiv 2507.08794), and proves nothing.
        if text and not any(c.isalnum() for c in text):
            yield "mute"
        yield from flags(text)
    yield from flags(joined)


def _is_shown(event: Event) -> bool:
    """Whether an event says something of what was reached; of requests only some do."""
    if event.kind in UNSHOWN:
        return False
    if event.kind not in _SENDING or event.kind == "request.failed":
        return True
    return event.data.get("method") != "GET" or "response" in event.data


def is_observed(event: Event) -> bool:
    """Whether a source observed an event, so that it may prove something: not the harness's and the
    agent's own words."""
    return event.source not in ("journal", "steps") and _is_shown(event)


def _earned_facts(question: Question) -> Iterator[Fact]:
    """Yield the milestones that the rules credited to what is asked about."""
    for reward in question.rewards:
        if question.about != "goal" and reward.step != question.step:
            continue
        for milestone in reward.milestones:
            if not milestone.baseline:
                key = f"m{reward.step}.{milestone.id}"
                yield Fact(key, None, "milestone.earned", reward.step, {"milestone": milestone.id})
