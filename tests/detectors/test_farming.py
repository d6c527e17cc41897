"""Ways to be paid twice, for nothing, or not at all for what was done; each was found by looking
for it."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.engine.engine import Engine, relevant_kinds
from detectors.model.kinds import KINDS
from tests.detectors.test_properties import RULES
from tests.support.logs import (
    Said,
    clicked,
    created,
    episode,
    filled,
    finished,
    log,
    resumed,
    ruleset,
    run,
    sealed,
    went,
    worth,
)

A: dict[str, Any] = {"id": "a", "when": {"url_reached": {"url": "/a"}}}
GO: dict[str, Any] = {"id": "go", "when": {"element_clicked": {"name": "Go"}}}
UNDO: dict[str, Any] = {"element_clicked": {"name": "Undo"}}
FORM: dict[str, Any] = {
    "id": "form",
    "when": {"form_filled": {"fields": {"Name": "Ada", "Mail": "a@b"}}},
}
BOTH = [{"element_clicked": {"name": "Go"}}, {"url_reached": {"url": "/a"}}]
HALF, EMPTY, REST = filled("Name", "Ada"), filled("Name", ""), filled("Mail", "a@b")
DEAD: Said = ("gap.began", {"source": "cdp", "reason": "x"})
ALIVE: Said = ("gap.ended", {"source": "cdp"})
GONE: Said = ("tab.closed", {"tab": "T"})
HOLDING = {
    "sequence": {
        "holding": True,
        "of": [
            {"field_filled": {"field": "Name", "value": "Ada"}},
            {"element_clicked": {"name": "Go"}},
        ],
    }
}

Case = tuple[list[dict[str, Any]], dict[str, Any], list[list[Said]], list[float | None]]
CASES: dict[str, Case] = {
    "a form emptied and filled again under transition": (
        [{**FORM, "baseline": "transition"}], {}, [[HALF, EMPTY]] * 4, [0.1, 0, 0, 0]),
    "revoked behind a mask, done again": (
        [{**GO, "revoke_on": UNDO}], {}, [[clicked("Go")], [DEAD, ALIVE, clicked("Undo")], [clicked("Go")]], [0.2, None, 0]),
    "done behind a mask, revoked in sight": (
        [{**GO, "revoke_on": UNDO}], {}, [[DEAD, ALIVE, clicked("Go")], [clicked("Undo")]], [None, 0]),
    "a revoked composite is not remembered by its parts": (
        [{"id": "m", "when": {"all_of": BOTH}, "revoke_on": UNDO}], {},
        [[clicked("Go")], [went("/a")], [clicked("Undo")], [went("/a")], [clicked("Go")]], [0, 0.2, -0.2, 0, 0.2]),
    "leaving a page pays nobody": (
        [{"id": "m", "when": {"any_of": BOTH}, "revoke_on": UNDO}], {},
        [[went("/a"), clicked("Go")], [clicked("Undo")], [went("/zzz")]], [0.2, -0.2, 0]),
    "leaving a page is not the event that `after` waits for": (
        [GO, {"id": "m", "component": "nav", "when": {"any_of": BOTH}, "after": ["go"]}], {},
        [[went("/a")], [clicked("Go")], [went("/x")]], [0, 0.2, 0]),
    "a goal falls with what it required, also at the end": (
        [{**GO, "revoke_on": UNDO}, {"id": "g", "when": {"goal": {"requires": ["go"]}}, "must_hold_at_end": True}], {},
        [[clicked("Go")], [clicked("Undo")]], [0.2, -0.2]),
    "revoked before the end that it must hold to": (
        [{"id": "m", "when": {"request_accepted": {"method": "POST", "url": "/a"}}, "must_hold_at_end": True, "revoke_on": UNDO}],
        {}, [[finished("POST", "/a", 201)], [clicked("Undo")]], [0, 0]),
    "revoked under level credit": (
        [{**GO, "revoke_on": UNDO}], {"credit": "level"}, [[clicked("Go")], [clicked("Undo")], []], [0.2, 0, 0]),
    "what must not happen does not pass across a gap": (
        [{"id": "m", "when": {"all_of": {"holding": True, "of": [{"url_reached": {"url": "/a"}}, {"none_of": [UNDO]}]}}}], {},
        [[DEAD, ALIVE], [went("/a")]], [None, None]),
    "nor does `before`": ([{**A, "before": ["go"]}, GO], {}, [[DEAD, ALIVE], [went("/a")]], [None, None]),
    "a field of a page that was left does not hold": (
        [{"id": "m", "when": HOLDING}], {}, [[HALF], [went("/other")], [clicked("Go")]], [0, 0, 0]),
    "nor that of a closed tab": (
        [{"id": "m", "when": HOLDING}], {}, [[HALF], [GONE], [clicked("Go", tab="U")]], [0, 0, 0]),
    "a composite that must hold, and does not": (
        [{"id": "m", "when": {"all_of": [{"url_reached": {"url": "/a"}}]}, "must_hold_at_end": True}], {},
        [[went("/a")], [went("/x")]], [0, 0]),
    "a goal that must hold, and does not": (
        [{"id": "m", "when": {"goal": {"when": {"url_reached": {"url": "/a"}}}}, "must_hold_at_end": True}], {},
        [[went("/a")], [went("/x")]], [0, 0]),
    "a file that was edited is still there": (
        [{"id": "m", "when": {"file_created": {"name": "a"}}, "must_hold_at_end": True}], {},
        [[created("a")], [created("a", "file.modified", sha256="cd" * 32)]], [0, 0.3]),
    "a goal written before what it requires, both decided by the end": (
        [{"id": "g", "when": {"goal": {"requires": ["a"]}}, "must_hold_at_end": True}, {**A, "must_hold_at_end": True}], {},
        [[went("/a")]], [0.3]),
    "what must hold at the end, after a gap": ([{**A, "must_hold_at_end": True}], {}, [[went("/a")], [DEAD, ALIVE]], [0, None]),
    "half a form that appeared during a gap": (
        [FORM], {}, [[went("/x"), sealed(0), DEAD, filled("Name", "Ada", baseline=True), ALIVE], [REST]], [0, None]),
    "a form echoed by the page's own script stays the user's": (
        [{"id": "m", "when": HOLDING}], {}, [[HALF, filled("Name", "Ada", trusted=False)], [clicked("Go")]], [0, 0.2]),
    "a pressed key that page script repeats for another value is not": (
        [FORM], {}, [[filled("Name", "Ad"), filled("Name", "Ada", trusted=False)]], [0]),
}  # fmt: skip


@pytest.mark.parametrize(("milestones", "top", "steps", "paid"), CASES.values(), ids=CASES)
def test_what_it_is_worth(
    milestones: list[dict[str, Any]],
    top: dict[str, Any],
    steps: list[list[Said]],
    paid: list[float | None],
) -> None:
    """Step by step, and the same where the engine is stored and loaded after every event."""
    rules, said = ruleset(*milestones, **top), episode(*steps)
    assert worth(run(rules, *said)) == paid
    assert resumed(rules, *said) == run(rules, *said)


SETUP: dict[str, tuple[dict[str, Any], list[Said], list[Said], float]] = {
    "a click of the set-up": (GO, [clicked("Go")], [clicked("Go")], 0.2),
    "a request of the set-up": (
        {"id": "m", "when": {"request_accepted": {"url": "/a"}}}, [finished("GET", "/a", 200)], [finished("GET", "/a", 200)], 0.2),
    "a page visited and left": (A, [went("/a"), went("/x")], [went("/a")], 0.1),
    "a page stood on": (A, [went("/a")], [went("/x"), went("/a")], 0.0),
    "a part of all, visited and left": (
        {"id": "m", "when": {"all_of": BOTH}}, [went("/a"), went("/x")], [clicked("Go")], 0.0),
    "a part of all, stood on": ({"id": "m", "when": {"all_of": BOTH}}, [went("/a")], [clicked("Go")], 0.2),
    "half a form, and then the other half": (FORM, [HALF], [REST], 0.1),
}  # fmt: skip


@pytest.mark.parametrize(("milestone", "before", "step", "paid"), SETUP.values(), ids=SETUP)
def test_only_what_still_stands_when_the_agent_begins_is_baseline(
    milestone: dict[str, Any], before: list[Said], step: list[Said], paid: float
) -> None:
    """Set-up by the harness neither pays nor spoils what the agent does itself."""
    assert worth(run(ruleset(milestone), *episode(step, before=before))) == [paid]


ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    1e308,
    "",
    "x" * 9000,
    "\ud800",
    [],
    [None],
    ["x"],
    {},
    {"x": 1},
    [{}],
    [[]],
)


def test_odd_data_is_no_data() -> None:
    """Every field of every kind with every odd value: the engine pays what comes after it as if it
    were not there, or says that it can't know, and its state can be stored."""
    after = (went("/a"), ("episode.closed", {"reason": "r"}))
    (without,) = Engine(RULES, "ep_1").feed(log(("step.began", {"step": 0}), *after)).rewards
    read = relevant_kinds(RULES)
    for kind, known in KINDS.items():
        # Each value that something reads has an episode of its own; all others share one.
        groups = [[odd] for odd in ODD] if kind in read else [list(ODD)]
        for field in {f.rstrip("?") for f in known.fields}:
            for values in groups:
                engine = Engine(RULES, "ep_1")
                odd: list[Said] = [(kind, {field: value, "trusted": True}) for value in values]
                done = engine.feed(log(("step.began", {"step": 0}), *odd, *after))
                if not kind.startswith(("episode.", "step.")):  # these end what comes after them
                    (reward,) = done.rewards
                    assert reward.reward in (None, without.reward), (kind, field, values, reward)
                if values != ["\ud800"]:
                    engine.dump()


def test_long_names_and_addresses_cost_little() -> None:
    """A page may use names and addresses of any length: the stored state stays small."""
    rules = ruleset(
        {"id": "m", "when": {"element_clicked": {"role": "button"}}, "repeat": 1000}, A, FORM
    )
    engine = Engine(rules, "ep_1")
    said: list[Said] = [("step.began", {"step": 0}), went("/")]
    for n in range(300):
        said += [
            clicked(f"{n}" + "x" * 50_000),
            went(f"/{n}?" + "a&" * 100_000, f"tab{n}"),
            filled(f"N{n}" * 5000, "v" * 50_000),
        ]
    engine.feed(log(*said))
    assert len(engine.dump()) < 2_000_000


def test_revoking_for_ever_is_bounded() -> None:
    """Ten thousand times in one step."""
    engine = Engine(ruleset({**GO, "revoke_on": UNDO}), "ep_1")
    engine.feed(log(("step.began", {"step": 0}), *([clicked("Go"), clicked("Undo")] * 10_000)))
    assert len(engine.dump()) < 200_000


REFUSED: dict[str, list[dict[str, Any]]] = {
    "none_of alone": [{"id": "m", "component": "ui", "when": {"none_of": [UNDO]}}],
    "all_of nothing but none_of": [{"id": "m", "component": "ui", "when": {"all_of": [{"none_of": [UNDO]}]}}],
    "any_of with a none_of": [{"id": "m", "component": "ui", "when": {"any_of": [{"none_of": [UNDO]}, *BOTH]}}],
    "repeat on a composite": [{"id": "m", "when": {"any_of": BOTH}, "repeat": 2}],
    "repeat that must hold": [{**A, "repeat": 2, "must_hold_at_end": True}],
    "a penalty that must hold": [{**A, "penalty": 1, "must_hold_at_end": True}],
    "waiting for each other": [{**A, "after": ["go"]}, {**GO, "after": ["a"]}],
}  # fmt: skip


@pytest.mark.parametrize("milestones", REFUSED.values(), ids=REFUSED)
def test_what_nobody_can_reason_about_is_refused(milestones: list[dict[str, Any]]) -> None:
    """By the check, before anything runs."""
    from detectors.task.task_json import TaskError

    with pytest.raises(TaskError):
        ruleset(*milestones)
