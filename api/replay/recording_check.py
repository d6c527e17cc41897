"""What can be wrong with a recording whose chains hold: its order, its clock, its kinds and fields,
its verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from api.verdicts.recorded import DECIDED, GIVEN
from detectors.model.kinds import KINDS
from detectors.model.types import Event

_ANYWHERE = frozenset(("baseline", "command"))
"""Fields that any event may have."""


def findings(events: Iterable[Event]) -> Iterator[str]:
    """One sentence each, with the event's number; nothing for a sound recording, open or closed."""
    at, step, closed = 0, -1, None
    for event in events:
        if closed is not None:
            yield (
                f"event {event.seq}: {event.kind} after the episode's close at event {closed};"
                " wanted nothing"
            )
        if (event.kind == "episode.opened") != (event.seq == 1):
            yield (
                f"event {event.seq}: {event.kind}; wanted episode.opened as the first event, and"
                " only there"
            )
        if event.at < at:
            yield (
                f"event {event.seq}: at is {event.at}, after {at}; wanted a clock that never goes"
                " back"
            )
        at = max(at, event.at)
        if event.kind == "step.began":
            began = event.data.get("step")
            if type(began) is not int or began <= step:
                yield f"event {event.seq}: step is {began!r}; wanted a number greater than {step}"
            else:
                step = began
        elif event.kind in ("step.ended", "step.sealed") and event.data.get("step") != step:
            yield (
                f"event {event.seq}: {event.kind} of step {event.data.get('step')!r}; wanted"
                f" {step}, which runs"
            )
        elif event.kind == "episode.closed":
            closed = event.seq
        yield from _of_kind(event)
        del event  # before the next one is read: of a bomb no two are in memory


def _of_kind(event: Event) -> Iterator[str]:
    """Yield what is wrong with an event by its kind: the source, fields that it has not, and such
    that it lacks."""
    kind = KINDS.get(event.kind)
    if kind is None:
        yield f"event {event.seq}: kind is {event.kind!r}, which this build does not know"
        return
    if event.source != kind.source:
        yield f"event {event.seq}: {event.kind} of source {event.source!r}; wanted {kind.source!r}"
    known = {field.rstrip("?"): field.endswith("?") for field in kind.fields}
    for name in sorted(set(event.data) - set(known) - _ANYWHERE):
        yield (
            f"event {event.seq}: {event.kind} has {name}: {_short(event.data[name])}; wanted no"
            " such field"
        )
    for name in sorted(
        name for name, may_miss in known.items() if not may_miss and name not in event.data
    ):
        yield f"event {event.seq}: {event.kind} has no {name}; wanted one"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def findings_of_said(
    said: Sequence[Mapping[str, Any]], steps: set[int], through: int
) -> Iterator[str]:
    """The same of its log of verdicts, by what the log shows: ``steps`` that began, and its last
    event's number.

    Whether a decision follows from what was said takes the task: `milestoned replay` computes it.
    """
    given: dict[int, list[int]] = {}
    decided: set[int] = set()
    # What the close decides after the last step is paid in a step that nobody began.
    known = steps | {max(steps, default=-1) + 1}
    for event in said:
        number, step = event["seq"], event["step"]
        if step not in known:
            yield f"verdict {number}: of step {step}, which the events do not have"
        if event["kind"] == GIVEN:
            beyond = [seq for seq in event["evidence"] if not 1 <= seq <= through]
            if beyond:
                yield f"verdict {number}: rests on event {beyond[0]}; the last one is {through}"
            if not event["audit"]:
                given.setdefault(step, []).append(number)
        elif event["kind"] == DECIDED:
            if step in decided:
                yield f"verdict {number}: step {step} is decided again; wanted once"
            decided.add(step)
            rests, before = event.get("verdicts"), given.get(step, [])
            if rests != before:
                yield f"verdict {number}: rests on {rests!r:.80}; of step {step} are {before}"
