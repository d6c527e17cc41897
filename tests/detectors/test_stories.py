"""What nobody saw, told both ways: up to the first null, what a step is worth is what it is worth
either way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.model.types import Event, Reward
from detectors.task.ruleset import Ruleset
from detectors.task.task_json import TaskError
from tests.detectors.test_unseen import FIELD, FILE, GO, LOGIN, NAMED, unread
from tests.support.examples import examples
from tests.support.logs import Said, clicked, created, episode, filled, log, ruleset

UNDO: dict[str, Any] = {"element_clicked": {"name": "Undo"}}
LEAF = st.sampled_from([FIELD, LOGIN, FILE, GO, UNDO, NAMED])
"""Conditions; the first three ask for what may be hidden."""
HIDDEN: dict[str, tuple[Said, Said, Said]] = {
    "password": (
        filled("Password", None, has_value=True),
        filled("Password", "s3cret"),
        filled("Password", "no"),
    ),
    "file": (
        unread("busy", kind="file.modified"),
        created("a.pdf", kind="file.modified"),
        created("a.pdf", kind="file.modified", sha256="cd" * 32),
    ),
}
"""What is hidden: as the log has it, and as it would be if it is as wanted, and if not."""
SEEN = [
    clicked("Go"),
    clicked("Undo"),
    filled("Name", "Ada"),
    filled("Name", "Bob"),
    filled("Password", "s3cret"),
    filled("Password", None, has_value=False),
    created("a.pdf", kind="file.modified"),
]


def _composed(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(parts, min_size=2, max_size=2)
    within = st.sampled_from([{}, {"holding": True}, {"within": {"steps": 1}}])
    return st.one_of(
        several.map(lambda of: {"any_of": {"of": of}}),
        *(
            st.tuples(several, within).map(
                lambda both, name=name: {name: {"of": both[0], **both[1]}}
            )
            for name in ("all_of", "sequence")
        ),
    )


@st.composite
def tasks(draw: st.DrawFn) -> Ruleset:
    """One to three milestones, perhaps with gate, order, revocation, penalty or goal."""
    condition = st.recursive(LEAF, _composed, max_leaves=3)
    found: list[dict[str, Any]] = []
    for n in range(draw(st.integers(1, 3))):
        milestone = {"id": f"m{n}", "component": "ui", "when": draw(condition)}
        milestone |= draw(
            st.sampled_from(
                [{}, {}, {"penalty": 0.5}, {"revoke_on": draw(LEAF)}, {"only_if": draw(LEAF)}]
            )
        )
        if n and draw(st.booleans()):
            milestone["after"] = [f"m{n - 1}"]
        found.append(milestone)
    paid = [one["id"] for one in found if "penalty" not in one]
    more: dict[str, Any] = {}
    if paid and draw(st.booleans()):
        found.append({"id": "done", "when": {"goal": {"requires": paid[:1]}}})
        more = draw(st.sampled_from([{}, {"outcome": {"success": 1.0, "failure": -1.0}}]))
    try:
        return ruleset(
            *found,
            weights=dict.fromkeys(sorted({one.get("component", "goal") for one in found}), 1.0),
            **more,
        )
    except TaskError:
        assume(False)
        raise


@st.composite
def logs(draw: st.DrawFn) -> list[list[Event]]:
    """One episode three times: with something hidden once, and with it as wanted and as not."""
    steps: list[list[Said]] = [draw(st.lists(st.sampled_from(SEEN), max_size=3)) for _ in range(3)]
    at, place = draw(st.integers(0, 2)), draw(st.integers(0, 3))
    told = []
    for said in HIDDEN[draw(st.sampled_from(sorted(HIDDEN)))]:
        own = [list(step) for step in steps]
        own[at].insert(place, said)
        told.append(list(log(*episode(*own))))
    return told


def _penalties(reward: Reward) -> set[str]:
    return set() if reward.reward is None else {m.id for m in reward.milestones if m.worth < 0}


def scored(rules: Ruleset, events: list[Event]) -> list[Reward]:
    return Engine(rules, "ep_1").feed(events).rewards


@given(rules=tasks(), told=logs())
@settings(
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_what_is_told_holds_either_way(rules: Ruleset, told: list[list[Event]]) -> None:
    hidden, right, wrong = (scored(rules, events) for events in told)
    for own, one, other in zip(hidden, right, wrong, strict=True):
        if own.reason is not None:  # null, or no more than a penalty that is taken in any case
            assert _penalties(own) <= _penalties(one) & _penalties(other)
            break
        assert own.reward == pytest.approx(one.reward)
        assert own.reward == pytest.approx(other.reward)
    if hidden[-1].success is not None:
        assert {right[-1].success, wrong[-1].success} == {hidden[-1].success}


@given(rules=tasks(), told=logs(), data=st.data())
@settings(
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_a_stored_episode_goes_on_in_every_story(
    rules: Ruleset, told: list[list[Event]], data: st.DataObject
) -> None:
    events = told[0]
    cut = data.draw(st.integers(1, len(events) - 1))
    engine = Engine(rules, "ep_1")
    first = engine.feed(events[:cut]).rewards
    rest = Engine.load(rules, engine.dump()).feed(events[cut:]).rewards
    assert first + rest == scored(rules, events)
