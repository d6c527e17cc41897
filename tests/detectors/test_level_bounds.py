"""What must hold at the end is decided where it is the same whatever could not be known, and null
where it is not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.model.types import Reward
from detectors.task.ruleset import Ruleset
from detectors.task.task_json import TaskError
from tests.support.examples import examples
from tests.support.logs import (
    Said,
    began,
    clicked,
    created,
    episode,
    log,
    resumed,
    ruleset,
    run,
    worth,
)

HASH = "ab" * 32
NAMES = "abc"
Told = tuple[str, str]
"""A file, and what is told of it: right, wrong, hidden (not read), found (right, when a source
attached), or a click."""


def wanted(name: str) -> dict[str, Any]:
    return {"file_matches": {"name": name, "sha256": HASH}}


def told(name: str, state: str) -> Said:
    if name == "click":
        return clicked(state)
    if state == "hidden":
        return created(name, kind="file.modified", sha256=None, unread_reason="busy")
    sha256 = HASH if state in ("right", "found") else "cd" * 32
    more = {"baseline": True} if state == "found" else {}
    return created(name, kind="file.modified", sha256=sha256, **more)


A, B, C = (wanted(name) for name in NAMES)
ALL: dict[str, Any] = {"all_of": {"holding": True, "of": [A, {"none_of": [B]}]}}
EITHER = {"any_of": [C, ALL]}
GUARDED = {"all_of": {"holding": True, "of": [C, {"none_of": [{"all_of": [A, B]}]}]}}
HIDE_A, HIDE_B = ("a", "hidden"), ("b", "hidden")
RIGHT_C = ("c", "right")
CASES: dict[str, tuple[Any, list[list[Told]], list[float | None]]] = {
    "an alternative holds beside it": (EITHER, [[RIGHT_C, HIDE_B]], [1.0]),
    "whichever came first": (EITHER, [[HIDE_B], [RIGHT_C], []], [0.0, 0.0, 1.0]),
    "beside two of which one may be so and the other not": (
        EITHER,
        [[RIGHT_C], [HIDE_A, HIDE_B]],
        [0.0, 1.0],
    ),
    "no alternative holds": (EITHER, [[("a", "right"), HIDE_B]], [None]),
    "one of two is so and the other is not": (EITHER, [[HIDE_A, HIDE_B]], [None]),
    "what it hangs on is known to be wrong": (EITHER, [[HIDE_B], [("a", "wrong")]], [0.0, 0.0]),
    "another part rules it out": (GUARDED, [[HIDE_A, HIDE_B], [("c", "wrong")]], [0.0, 0.0]),
    "another part rules the exception out": (
        GUARDED,
        [[RIGHT_C, HIDE_A], [("b", "wrong")]],
        [0.0, 1.0],
    ),
    "the exception may be so": (GUARDED, [[RIGHT_C, HIDE_A], [("b", "right")]], [0.0, None]),
    "it was right and is not known any more": (EITHER, [[RIGHT_C], [("c", "hidden")]], [0.0, None]),
    "an order, of which what was counts": (
        {"all_of": {"holding": True, "of": [C, {"none_of": [{"sequence": [A, B]}]}]}},
        [[HIDE_A], [("a", "wrong"), ("b", "right")], [RIGHT_C]],
        [0.0, 0.0, None],
    ),
    "what was there at the start was not known": (EITHER, [[RIGHT_C]], [None]),
}
BEFORE: dict[str, list[Told]] = {"what was there at the start was not known": [HIDE_A, HIDE_B]}


def at_end(when: Any, **more: Any) -> dict[str, Any]:
    return {"id": "m", "component": "file", "when": when, "must_hold_at_end": True, **more}


def rules_of(*milestones: dict[str, Any]) -> Ruleset:
    return ruleset(*milestones, weights={"file": 1.0})


def said(steps: list[list[Told]], before: list[Told]) -> list[Said]:
    return episode(*([told(*one) for one in step] for step in steps), before=[
        told(*one) for one in before
    ])  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_holds_at_the_end_is_null_only_where_it_could_be_otherwise(name: str) -> None:
    when, steps, expected = CASES[name]
    rules, events = rules_of(at_end(when)), said(steps, BEFORE.get(name, []))
    assert worth(run(rules, *events)) == expected
    assert resumed(rules, *events) == run(rules, *events)


CLICK = ("click", "Go")
GO = {"element_clicked": {"name": "Go"}}
MORE: dict[str, tuple[dict[str, Any], list[list[Told]], float | None]] = {
    "its gate is open": (at_end(EITHER, only_if=GO), [[CLICK, RIGHT_C, HIDE_B]], 1.0),
    "its gate is closed": (at_end(EITHER, only_if=GO), [[RIGHT_C, HIDE_B]], 0.0),
    "whether its gate is open": (at_end(EITHER, only_if=B), [[RIGHT_C, HIDE_B]], None),
    "a gate that nothing opens": (
        at_end(EITHER, only_if={"all_of": {"holding": True, "of": [B, GO]}}),
        [[RIGHT_C, HIDE_B]],
        0.0,
    ),
    "whether it was revoked": (at_end(EITHER, revoke_on=B), [[RIGHT_C, HIDE_B]], None),
    "a start that was taken back at some time": (
        at_end(EITHER, baseline="transition"),
        [[RIGHT_C, HIDE_B]],
        1.0,
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_gates_and_revocations_are_part_of_it(name: str) -> None:
    milestone, steps, expected = MORE[name]
    assert worth(run(rules_of(milestone), *said(steps, [])))[-1] == expected


def test_what_waits_for_it_is_known_with_it() -> None:
    """And what could not be known of another milestone leaves it open."""
    other = {"id": "n", "component": "file", "when": C, "must_hold_at_end": True, "after": ["m"]}
    rules = rules_of(at_end(EITHER), other)
    assert worth(run(rules, *said([[RIGHT_C, HIDE_B]], []))) == [None]
    apart = {"id": "n", "component": "file", "when": C, "must_hold_at_end": True}
    assert worth(run(rules_of(at_end(EITHER), apart), *said([[RIGHT_C, HIDE_B]], []))) == [1.0]


RIGHT_A, WRONG_B = ("a", "right"), ("b", "wrong")
GATED = {"id": "m", "component": "file", "when": A, "only_if": B}
BOTH = {"id": "m", "component": "file", "when": {"all_of": {"holding": True, "of": [A, B]}}}
STARTS: dict[str, tuple[dict[str, Any], list[Told], list[Told], float | None]] = {
    "a file, which was wrong, and a gate, which was open": (
        GATED,
        [HIDE_B, HIDE_A],
        [RIGHT_A],
        None,
    ),
    "the same, heard the other way round": (GATED, [HIDE_A, HIDE_B], [RIGHT_A], None),
    "the gate is known to be closed by then": (GATED, [HIDE_A, HIDE_B], [WRONG_B, RIGHT_A], 0.0),
    "nothing came that could be paid": (GATED, [HIDE_A, HIDE_B], [CLICK], 0.0),
    "two parts, of which one was so": (BOTH, [HIDE_A, HIDE_B], [RIGHT_A], None),
    "and the other is known to be wrong by then": (
        BOTH,
        [HIDE_A, HIDE_B],
        [WRONG_B, RIGHT_A],
        0.0,
    ),
    "a gate of the start, and what is hidden later": (
        GATED,
        [HIDE_B],
        [HIDE_A],
        None,
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_what_was_so_before_the_first_step_is_supposed_in_every_combination(name: str) -> None:
    """What was so then is not paid afterwards: the file was right is worth less than it was not,
    and the gate was open is worth more."""
    milestone, before, step, expected = STARTS[name]
    rules, events = rules_of(milestone), said([step], before)
    assert worth(run(rules, *events)) == [expected]
    assert resumed(rules, *events) == run(rules, *events)


LATER = {"id": "n", "component": "file", "when": B, "after": ["m"], "only_if": wanted("d")}
GATED_BY_C = {"id": "m", "component": "file", "when": A, "only_if": C}
OTHER = {"id": "o", "component": "file", "when": wanted("f")}
HIDDEN_STARTS: list[Told] = [(name, "hidden") for name in "ecdab"]
COMBINATIONS: dict[str, tuple[list[Told], float | None]] = {
    "paid where the first file was right, the last wrong, both gates open": (
        [("b", "right")],
        None,
    ),
    "a gate of another": ([RIGHT_C], None),
    "nothing that anything rests on": ([CLICK, ("e", "right")], 0.0),
    "a file that was known": ([("f", "right")], 1 / 3),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_of_more_unknown_starts_than_are_compared_only_what_rests_on_none_is_known(
    name: str,
) -> None:
    """Of five things not every combination has a state; a step that reads nothing of them is known."""
    step, expected = COMBINATIONS[name]
    rules, events = rules_of(GATED_BY_C, LATER, OTHER), said([step], HIDDEN_STARTS)
    assert worth(run(rules, *events)) == [pytest.approx(expected)]
    assert resumed(rules, *events) == run(rules, *events)


ALL_FOUR = {
    "id": "m",
    "component": "file",
    "when": {"all_of": {"holding": True, "of": [A, B, C, wanted("d")]}},
}
TWO_THEN_GATE = {"id": "m", "component": "file", "when": {"sequence": [A, B]}, "only_if": C}
FOUND: dict[str, tuple[dict[str, Any], list[list[Told]], list[float | None]]] = {
    "the last part comes after what was found": (
        ALL_FOUR,
        [[("d", "hidden")], [HIDE_A], [("b", "found"), RIGHT_A]],
        [0.0, 0.0, None],
    ),
    "the second of two, and the first": (
        TWO_THEN_GATE,
        [[HIDE_A], [("b", "found"), ("a", "found")], [RIGHT_A, HIDE_B, RIGHT_A]],
        [0.0, None, None],
    ),
    "found of another file": (ALL_FOUR, [[HIDE_A], [("e", "found"), CLICK]], [0.0, 0.0]),
    "nothing was found": (ALL_FOUR, [[HIDE_A], [("b", "right")]], [0.0, 0.0]),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_later_is_credited_to_nobody_in_some_combination(name: str) -> None:
    """Of several unknown things the found one may have been the last or not."""
    milestone, steps, expected = FOUND[name]
    rules, events = rules_of(milestone), said(steps, [("c", "hidden")])
    assert worth(run(rules, *events))[: len(expected)] == expected
    assert resumed(rules, *events) == run(rules, *events)


def _composed(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda of: {"any_of": of}),
        several.map(lambda of: {"none_of": of}),
        several.map(lambda of: {"all_of": {"holding": True, "of": of}}),
        several.map(lambda of: {"all_of": of}),
        several.map(lambda of: {"share": {"of": of}}),
        st.lists(parts, min_size=2, max_size=2).map(lambda of: {"sequence": of}),
    )


CONDITIONS = st.recursive(st.sampled_from([A, B, C, GO]), _composed, max_leaves=5)


@st.composite
def tasks(draw: st.DrawFn) -> Ruleset:
    found = []
    for n in range(draw(st.integers(1, 2))):
        milestone = {"id": f"m{n}", "component": "file", "when": draw(CONDITIONS)}
        if n == 0 or draw(st.booleans()):
            milestone["must_hold_at_end"] = True
        milestone |= draw(
            st.sampled_from([{}, {}, {"baseline": "transition"}, {"only_if": A}, {"revoke_on": B}])
        )
        if n and draw(st.booleans()):
            milestone["after"] = ["m0"]
        found.append(milestone)
    try:
        return rules_of(*found)
    except TaskError:
        assume(False)
        raise


AT_START = st.sampled_from(["right", "wrong", "hidden"])
STATES = st.sampled_from(["right", "wrong", "hidden", "hidden", "found"])
TOLD = st.one_of(st.tuples(st.sampled_from(NAMES), STATES), st.just(CLICK))


@st.composite
def histories(draw: st.DrawFn) -> list[Told | None]:
    """What is told, with None where a step begins; up to four things are hidden, before the first
    step too."""
    before: list[Told | None] = list(draw(st.lists(st.tuples(st.sampled_from(NAMES), AT_START))))
    steps = draw(st.lists(st.lists(TOLD, max_size=4), min_size=1, max_size=3))
    flat = before[:3] + [entry for step in steps for entry in (None, *step)]
    assume(1 <= flat.count(HIDE_A) + flat.count(HIDE_B) + flat.count(("c", "hidden")) <= 4)
    return flat


def events_of(history: list[Told | None]) -> list[Said]:
    entries: list[Said] = episode(close=False)
    steps = itertools.count()
    for entry in history:
        entries.append(began(next(steps)) if entry is None else told(*entry))
    return [*entries, ("episode.closed", {"reason": "done"})]


def worlds(history: list[Told | None]) -> list[list[Told | None]]:
    """The history in every way in which what is hidden may be."""
    places = [n for n, entry in enumerate(history) if entry is not None and entry[1] == "hidden"]
    found = []
    for states in itertools.product(("right", "wrong"), repeat=len(places)):
        world = list(history)
        for place, state in zip(places, states, strict=True):
            world[place] = (world[place] or ("", ""))[0], state
        found.append(world)
    return found


def scored(rules: Ruleset, history: list[Told | None]) -> list[Reward]:
    return Engine(rules, "ep_1").feed(log(*events_of(history))).rewards


@given(rules=tasks(), history=histories())
@settings(
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    deadline=None,
)
def test_what_is_known_is_so_in_every_world(rules: Ruleset, history: list[Told | None]) -> None:
    """Up to the first null, a step is worth what it is in each combination of what was hidden."""
    own = scored(rules, history)
    others = [scored(rules, world) for world in worlds(history)]
    for n, reward in enumerate(own):
        if reward.reason is not None:
            break
        for other in others:
            assert other[n].reward == pytest.approx(reward.reward), (n, reward)
    if own[-1].success is not None:
        assert {other[-1].success for other in others} == {own[-1].success}


@given(rules=tasks(), history=histories(), data=st.data())
@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    deadline=None,
)
def test_a_split_and_a_restart_change_nothing(
    rules: Ruleset, history: list[Told | None], data: st.DataObject
) -> None:
    events = log(*events_of(history))
    cut = data.draw(st.integers(1, len(events) - 1))
    engine = Engine(rules, "ep_1")
    first = engine.feed(events[:cut]).rewards
    rest = Engine.load(rules, engine.dump()).feed(events[cut:]).rewards
    assert first + rest == scored(rules, history)
