"""What a proposal is made of: recorded runs, conditions with the runs that met them, and what was
chosen of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from api.proposal.candidates import ANY_TEXT, CHOICES, TaskCandidate
from api.proposal.slots import Values
from detectors.model.json_value import JsonValue
from detectors.model.safe_json import mapping
from detectors.model.types import Event

EFFECTS = frozenset(("state_accepted", "request_accepted", "file_matches", "answer_matches"))
"""Rules of what a server, the disk or the user got: what a goal is made of, if there is any."""

SETTINGS = ("field_filled", "element_state")
"""Rules of what can be set otherwise again before the last deed."""

DEEDS = ("element_clicked", "request_accepted", "url_reached")
"""Rules of which the last one that all successes met may be what ends the task."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recording: its name, its events, what its instruction gives the template's slots, and its
    site, where it is another than that of the task."""

    name: str
    events: Sequence[Event]
    values: Values = field(default_factory=dict)
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class ConditionSupport:
    """In how many successes and failures a condition was met. ``places``: where it stood in each of
    the successes, 0 is the first event, 1 the last; ``in_failures``: the same of each failure, None
    where it was not met; ``log`` has the event it was made of."""

    candidate: TaskCandidate
    log: str
    in_good: int
    places: tuple[float, ...]
    in_failures: tuple[float | None, ...]

    @property
    def in_bad(self) -> int:
        """In how many failures it was met."""
        return sum(place is not None for place in self.in_failures)

    @property
    def rule(self) -> str:
        """The name of the candidate's rule."""
        return next(iter(self.candidate.when))

    @property
    def is_by_script(self) -> bool:
        """Whether it is an address that only page script put there, in some of the recordings."""
        return mapping(self.candidate.when.get("url_reached")).get("loaded") is False

    @property
    def is_choice(self) -> bool:
        """Whether it is a click that chooses one of several values, and sends nothing."""
        role = mapping(self.candidate.when.get("element_clicked")).get("role")
        return isinstance(role, str) and role in CHOICES

    @property
    def is_switch(self) -> bool:
        """Whether it is a switch, or a box that a page made itself, that stands as it was set."""
        return "checked" in mapping(self.candidate.when.get("element_state"))

    @property
    def is_by_path(self) -> bool:
        """Whether it names an element by its place in the page."""
        of_elements = (self.candidate.when.get(rule) for rule in ("element_clicked", *SETTINGS))
        return any("path" in mapping(facts) for facts in of_elements)


@dataclass(frozen=True, slots=True)
class Proposal:
    """``milestones`` in the order in which successes reached them; ``goal``: those of them that
    make the goal; ``guards``: what only failures did; ``notes``: what could not be found out.
    ``is_decided``: every success met the goal, and no failure did, of which all steps are known;
    ``closing_click``: the click of the goal that ended every success, and tells no failure
    apart."""

    milestones: list[ConditionSupport]
    goal: list[ConditionSupport]
    guards: list[ConditionSupport]
    notes: list[str]
    is_decided: bool
    closing_click: ConditionSupport | None = None


def sort_by_place(milestones: Iterable[ConditionSupport]) -> list[ConditionSupport]:
    """Return milestones in the order in which the successes met them."""
    return sorted(milestones, key=lambda one: fmean(one.places))


def leaves_open(support: ConditionSupport) -> bool:
    """Return whether a condition takes any text: the successes' differed, by no slot."""
    return mapping(support.candidate.when.get("field_filled")).get("value") == ANY_TEXT


def address_of(candidate: TaskCandidate) -> tuple[JsonValue, JsonValue] | None:
    """Return method and address of a request whose content is asked for; None for others."""
    [about] = map(mapping, candidate.when.values())
    has_content = "body" in about or "facts" in about
    return (about.get("method"), about.get("url")) if has_content else None


def fields_of(support: ConditionSupport) -> set[str]:
    """Return the names of the fields of a body that a condition asks for."""
    return {*mapping(mapping(support.candidate.when.get("request_accepted")).get("body"))}


def facts_of(support: ConditionSupport) -> Mapping[str, JsonValue]:
    return mapping(support.candidate.when.get(support.rule))
