"""The adversaries: each makes of a log that solves a task one that does not, or not so.

A class has a name, a sentence on what it stands for, and a function that makes its adversaries. To
add one: a function here or in a module beside this one, a line in `CLASSES`, and in the tests a
task that is weak in this one way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from api.attack import changes, evidence, idle
from api.attack.scores import Limit, Oracle
from detectors.model.types import Event


class Adversary(NamedTuple):
    """One changed log. ``variant`` tells it from others of its class; ``limit``: what it may be
    paid."""

    variant: str
    events: list[Event]
    limit: Limit


Made = Iterator[tuple[str, Iterable[Event], Limit]]


@dataclass(frozen=True, slots=True)
class AttackClass:
    """``stands_for``: whom its adversaries act like; ``make``: makes them, none where the log has
    nothing to change."""

    name: str
    stands_for: str
    make: Callable[[Oracle], Made]

    def adversaries(self, oracle: Oracle) -> Iterator[Adversary]:
        """Make the adversaries of this class."""
        for variant, events, limit in self.make(oracle):
            yield Adversary(variant, list(events), limit)


CLASSES: tuple[AttackClass, ...] = (
    AttackClass("nothing", "an agent that does nothing", idle.nothing),
    AttackClass(
        "claim",
        "an agent that only answers: with the oracle's answers, or that it is done",
        idle.claims,
    ),
    AttackClass(
        "half",
        "an agent that stops when it has half of the milestones: less than the goal",
        idle.half,
    ),
    AttackClass(
        "left-behind",
        "a start at which the oracle's end stands already, and pages are loaded again",
        idle.left_behind,
    ),
    AttackClass(
        "injected",
        "a page that says the instruction, the answer or words about rewards",
        idle.inject_texts,
    ),
    AttackClass(
        "local-visits", "visits to local files, DevTools and pages made on the spot", idle.visits
    ),
    AttackClass(
        "reward-endpoint", "an agent that writes to the reward service itself", idle.endpoint
    ),
    AttackClass(
        "evidence-dropped",
        "one event that shows a milestone did not happen",
        evidence.drop_evidence,
    ),
    AttackClass("reordered", "what must come last comes first", evidence.reorder_evidence),
    AttackClass("untrusted", "a script clicks, fills in and submits", changes.distrust_acts),
    AttackClass("elsewhere", "all of it on pages of another origin", changes.elsewhere),
    AttackClass(
        "local-copy",
        "all of it on a copy of the pages: file:, data:, view-source:",
        changes.copy_pages,
    ),
    AttackClass(
        "pushed",
        "a script of the site puts each address there (pushState), of which no page is loaded",
        changes.push_addresses,
    ),
    AttackClass(
        "hidden",
        "the fields that were filled in, and what is shown, are not visible",
        changes.hide_contents,
    ),
    AttackClass("service-worker", "a service worker answers in the server's place", changes.worker),
    AttackClass("refused", "the server refuses each request that writes", changes.refuse_requests),
    AttackClass("constants", "the same constant in every field and answer", changes.constants),
)
"""Every class, in the order of the report; `other` (another episode's recording) has no log of its
own to be made of."""
