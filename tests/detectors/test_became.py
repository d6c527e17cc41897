"""What becomes true late, or because something else ended, pays at that moment; what nobody can
know does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.logs import (  # fmt: skip
    ORIGIN,
    Said,
    answered,
    clicked,
    created,
    episode,
    filled,
    finished,
    resumed,
    ruleset,
    run,
    titled,
    went,
    worth,
)

GO: dict[str, Any] = {"id": "go", "when": {"element_clicked": {"name": "Go"}}}
A: dict[str, Any] = {"id": "a", "when": {"url_reached": {"url": "/a"}}}
DONE: dict[str, Any] = {"id": "done", "when": {"goal": {"requires": ["go"]}}}
N1: dict[str, Any] = {"field_filled": {"field": "N", "value": "1"}}
BAD: dict[str, Any] = {"none_of": [{"field_filled": {"field": "Bad", "checked": True}}]}
BOTH: dict[str, Any] = {"all_of": {"holding": True, "of": [N1, BAD]}}
SAVED: dict[str, Any] = {"probe_answers": {"probe": "rows", "value": "saved"}}
PROBES = [{"id": "rows", "get": "/api/rows"}]
CLICK, NO, RIGHT, IDLE = clicked("Go"), clicked("No"), filled("N", "1"), titled("x")
ON, OFF = filled("Bad", None, checked=True), filled("Bad", None, checked=False)
UNFILLED: dict[str, Any] = {"none_of": [N1]}
AT_A: dict[str, Any] = {"id": "done", "when": {"goal": {"requires": ["a"]}}}
HELD: dict[str, Any] = {**A, "must_hold_at_end": True}
FORM: dict[str, Any] = {"id": "k", "component": "form", "when": BOTH}
FILES = [created(f"{n}.csv") for n in range(3)]
CSV = {"file_created": {"name": {"glob": "*.csv"}}}
COUNTED = {"count": {"at_least": 3, "of": [CSV]}}
THREE: dict[str, Any] = {
    "id": "three",
    "component": "file",
    "when": COUNTED,
    "must_hold_at_end": True,
}
RENAMED = [{"file_matches": {"name": {"glob": "*.csv"}}}, {"file_matches": {"name": "b.csv"}}]


def moved(old: str, new: str) -> Said:
    kind, data = created(new, "file.moved")
    return kind, {**data, "from": old}


def probed(value: Any, when: str = "step") -> Said:
    start = {"baseline": True} if when == "start" else {}
    return ("probe.answered", {"probe": "rows", "when": when, "ms": 1, "value": value, **start})


def clicks(*names: str) -> list[Any]:
    """Conditions: a click on each; of one in brackets none."""
    made = [{"element_clicked": {"name": name.strip("()")}} for name in names]
    return [
        {"none_of": [one]} if name[0] == "(" else one for name, one in zip(names, made, strict=True)
    ]


def sequence(*names: str) -> list[dict[str, Any]]:
    return [{"id": "s", "component": "ui", "when": {"sequence": clicks(*names)}}]


Case = tuple[list[dict[str, Any]], list[list[Said]], list[float], bool | None]
CASES: dict[str, Case] = {
    # a goal whose last requirement another's event completed
    "a gate opens after the click": ([{**GO, "only_if": N1}, DONE], [[CLICK], [RIGHT]], [0, 0.4], True),
    "or before it": ([{**GO, "only_if": N1}, DONE], [[RIGHT], [CLICK]], [0, 0.4], True),
    "a probe opens it at the step's end": ([{**GO, "only_if": SAVED}, DONE], [[CLICK, probed("saved")]], [0.4], True),
    "a probe does not open it": ([{**GO, "only_if": SAVED}, DONE], [[CLICK, probed("lost")]], [0], False),
    "what must hold at the end does": ([HELD, AT_A], [[went("/a")]], [0.3], True),
    "and does not": ([HELD, AT_A], [[went("/a"), went("/b")]], [0], False),
    "one of two holds at the end": (
        [HELD, GO, {**DONE, "when": {"goal": {"requires": ["a", "go"]}}}],
        [[went("/a")], [CLICK]], [0, 0.5], True),
    # what was wrong and was put right
    "right, and the wrong box cleared": ([FORM], [[ON], [RIGHT], [OFF]], [0, 0, 0.2], None),
    "right, and the wrong box left": ([FORM], [[ON], [RIGHT], [IDLE]], [0, 0, 0], None),
    "cleared twice": ([FORM], [[RIGHT], [ON, OFF]], [0.2, 0], None),
    "the goal itself": ([{"id": "g", "when": {"goal": {"when": BOTH}}}], [[ON], [RIGHT], [OFF]], [0, 0, 0.2], True),
    "a gate that reopens": ([{**GO, "only_if": BAD}], [[ON], [CLICK], [OFF]], [0, 0, 0.2], None),
    "a gate that stays shut": ([{**GO, "only_if": BAD}], [[ON], [CLICK], [IDLE]], [0, 0, 0], None),
    "revoked by what ends": ([{**GO, "revoke_on": UNFILLED}], [[RIGHT, CLICK], [filled("N", "2")]], [0.2, -0.2], None),
    "not revoked by what never was": ([{**GO, "revoke_on": UNFILLED}], [[CLICK], [IDLE]], [0.2, 0], None),
    "three, and one is gone at the end": (
        [THREE],
        [[*FILES], [created("0.csv", "file.deleted")]], [0, 0.2], None),
    "three, and they stay": (
        [THREE],
        [[*FILES], [IDLE]], [0, 0.3], None),
    "two, once the third is gone": (
        [{"id": "two", "component": "file", "when": {"all_of": {"holding": True, "of": [
            {"count": {"at_least": 2, "at_most": 2, "of": [CSV]}}, {"url_reached": {"url": "/a"}}]}}}],
        [[*FILES, went("/a")], [created("0.csv", "file.deleted")]], [0, 0.3], None),
    # a sequence with what must not be in the middle
    "only the end of a sequence": (sequence("A", "(No)", "B"), [[clicked("B")]], [0], None),
    "a sequence backwards": (sequence("A", "(No)", "B"), [[clicked("B")], [clicked("A")]], [0, 0], None),
    "a sequence": (sequence("A", "(No)", "B"), [[clicked("A")], [clicked("B")]], [0, 0.2], None),
    "with what may not be": (sequence("A", "(No)", "B"), [[clicked("A")], [NO, clicked("B")]], [0, 0], None),
    "two that must not be": (sequence("A", "(No)", "(Nor)", "B"), [[clicked("A")], [clicked("B")]], [0, 0.2], None),
    "two that must not be, alone": (sequence("A", "(No)", "(Nor)", "B"), [[clicked("B")]], [0], None),
    "what must not be comes first": (sequence("(No)", "B"), [[clicked("B")]], [0.2], None),
    "one event that ends one thing and brings the next": (
        [{"id": "s", "component": "ui", "when": {"sequence": {"within": {"steps": 5}, "of": RENAMED}}}],
        [[created("a.csv")], [moved("a.csv", "b.csv")]], [0, 0.2], None),
    "what was undone before the beginning": (
        [{"id": "s", "component": "ui", "when": {"sequence": [*clicks("A"), BAD, *clicks("B")]}}],
        [[ON, OFF], [clicked("A")], [clicked("B")]], [0, 0, 0.2], None),
}  # fmt: skip


@pytest.mark.parametrize(("milestones", "steps", "paid", "success"), CASES.values(), ids=CASES)
def test_what_it_is_worth(
    milestones: list[dict[str, Any]],
    steps: list[list[Said]],
    paid: list[float],
    success: bool | None,
) -> None:
    """Step by step, and whether the goal was reached."""
    rules = ruleset(*milestones, probes=PROBES)
    rewards = run(rules, *episode(*steps, before=[probed("no", "start")]))
    assert (worth(rewards), rewards[-1].success) == (paid, success)


def test_the_evidence_is_the_event_that_completed_it() -> None:
    """Beside what came before."""
    rewards = run(ruleset({**GO, "only_if": N1}, DONE), *episode([CLICK], [RIGHT]))
    assert [m.evidence for m in rewards[1].milestones] == [(3, 5), (3, 5)]
    (undone,) = run(ruleset(FORM), *episode([ON, RIGHT, OFF]))[0].milestones
    assert undone.evidence == (4, 5)


REQUEST = {"url": {"any": [{"address": f"{ORIGIN}/orders"}]}, "method": "POST"}
BEFORE: dict[str, tuple[dict[str, Any], Said, float]] = {
    "answer_matches": ({"answer_matches": {"text": "42"}}, answered("42"), 0.3),
    "answer_says": ({"answer_says": {"value": {"number": [42]}}}, answered("42"), 0.3),
    "request_answered": ({"request_answered": REQUEST}, finished("POST", "/orders", 201), 0.2),
    "the last request": (
        {"request_answered": {**REQUEST, "which": "last"}},
        finished("POST", "/orders", 201),
        0.2,
    ),
    "the page that was opened": (
        {"request_answered": {"url": REQUEST["url"], "which": "opened"}},
        finished("GET", "/orders", 200),
        0.2,
    ),
}


@pytest.mark.parametrize(("when", "said", "pays"), BEFORE.values(), ids=BEFORE)
def test_what_was_done_before_the_first_step_is_nobody_s(
    when: dict[str, Any], said: Said, pays: float
) -> None:
    """It neither counts for the goal nor spoils what the agent does itself."""
    rules = ruleset(
        {"id": "m", "when": when},
        {"id": "g", "when": {"goal": {"requires": ["m"]}}},
        weights={"answer": 0.3},
    )
    idle = run(rules, *episode([IDLE], before=[said]))
    assert (worth(idle), idle[-1].success) == ([0.0], False)
    done = run(rules, *episode([said], before=[said]))
    assert (worth(done), done[-1].success) == ([pays + 0.2], True)


def test_the_page_that_stands_open_is_a_state() -> None:
    """It counts as reached and earns nothing."""
    opened = {"id": "m", "when": {"request_answered": {"url": REQUEST["url"], "which": "document"}}}
    rules = ruleset(opened, GO, {"id": "g", "when": {"goal": {"requires": ["m", "go"]}}})
    rewards = run(rules, *episode([CLICK], before=[finished("GET", "/orders", 200)]))
    assert (worth(rewards), rewards[-1].success) == ([0.4], True)


def test_what_stood_at_the_start_is_not_paid_after_a_revocation() -> None:
    """Of a repeated milestone neither: only what was paid may be done again."""
    each = {"field_filled": {"field": {"one_of": ["N", "M"]}, "value": "1"}}
    rules = ruleset(
        {"id": "r", "repeat": 2, "when": each, "revoke_on": {"element_clicked": {"name": "Undo"}}}
    )
    there, other = filled("N", "1", baseline=True), filled("M", "1")
    assert worth(run(rules, *episode([clicked("Undo")], [RIGHT], [other], before=[there]))) == [
        0.0,
        0.0,
        0.1,
    ]
    steps = [[other], [clicked("Undo")], [RIGHT, other]]
    assert worth(run(rules, *episode(*steps, before=[there]))) == [0.1, -0.1, 0.1]


@pytest.mark.parametrize(
    ("text", "pays"),
    [("ok", 0.3), ("ok\nbad", 0.0), ("ok\nbad" + " x" * 12_000, 0.0)],
    ids=["good", "bad", "padded"],
)
def test_a_guard_is_not_got_past_by_padding(text: str, pays: float) -> None:
    """A line of any length that the readers tell is read."""
    bad = {"file_text": {"path": "a.txt", "unit": "line", "text": {"regex": "bad.*"}}}
    parts = [{"file_text": {"path": "a.txt", "text": {"contains": "ok"}}}, {"none_of": [bad]}]
    rules = ruleset(
        {"id": "f", "component": "file", "when": {"all_of": {"holding": True, "of": parts}}}
    )
    told = {
        "root": "home",
        "path": "a.txt",
        "as": "auto",
        "format": "text",
        "status": "read",
        "facts": {"text": text},
    }
    assert worth(run(rules, *episode([("file.read", told)]))) == [pays]


@pytest.mark.parametrize(
    ("path", "start", "later", "pays"),
    [
        pytest.param(
            "body.rows", {"body": {"rows": [1]}}, {"body": {"rows": [1]}}, 0.2, id="there"
        ),
        pytest.param(
            "body.rows", {"body": {"rows": [1]}}, {"body": {"rows": []}}, 0.0, id="changed"
        ),
        pytest.param(
            "body.rows",
            {"body": {"rows": None}},
            {"body": {"rows": None}},
            0.2,
            id="null and there",
        ),
        pytest.param(
            "rows", {"body": {"rows": [1]}}, {"body": {"rows": []}}, None, id="a wrong path"
        ),
        pytest.param(
            "body.rows.3", {"body": {"rows": [1]}}, {"body": {"rows": [1]}}, None, id="no such row"
        ),
    ],
)
def test_what_was_not_there_can_not_be_kept(
    path: str, start: Any, later: Any, pays: float | None
) -> None:
    """Nothing equals nothing, and shows nothing: not known, and the reason says where it was looked
    for."""
    rules = ruleset(
        {**GO, "only_if": {"probe_kept": {"probe": "rows", "path": path}}}, probes=PROBES
    )
    (reward,) = run(rules, *episode([probed(later), CLICK], before=[probed(start, "start")]))
    assert reward.reward == pays
    assert pays is not None or f"at {path}" in str(reward.reason)


def test_a_penalty_that_was_seen_in_a_masked_step_is_paid_and_counts_for_the_floor() -> None:
    dead, alive = ("gap.began", {"source": "cdp", "reason": "x"}), ("gap.ended", {"source": "cdp"})
    rules = ruleset(
        {"id": "bad", "when": {"element_clicked": {"name": "No"}}, "penalty": 0.6, "repeat": 5}
    )
    steps: list[list[Said]] = [
        [dead, clicked("No"), alive],
        [clicked("No")],
        [clicked("No")],
        [clicked("No")],
    ]
    assert worth(run(rules, *episode(*steps))) == [-0.6, -0.4, 0.0, 0.0]


LONG = "x" * 2000


@pytest.mark.parametrize(
    ("typed", "script", "pays"),
    [
        pytest.param(LONG + "secret", LONG + "secret", 0.2, id="the same, long"),
        pytest.param(LONG, "secret" + LONG, 0.0, id="another, long"),
        pytest.param("secret", "secret", 0.2, id="the same, short"),
        pytest.param(None, "secret", 0.0, id="after a password"),
        pytest.param([LONG], ["secret", LONG], 0.0, id="a long choice"),
    ],
)
def test_only_an_echo_of_what_the_user_typed_stays_the_user_s(
    typed: Any, script: Any, pays: float
) -> None:
    """Of texts that are too long to keep, too."""
    rules = ruleset(
        {
            "id": "f",
            "when": {"field_filled": {"field": "N", "value": {"contains": "secret"}}},
            "after": ["a"],
        },
        A,
    )
    said = [filled("N", typed), went("/a", tab="U"), filled("N", script, trusted=False)]
    rewards = run(rules, *episode([went("/x")], said))
    assert sum(m.worth for m in rewards[1].milestones if m.id == "f") == pays


def test_a_state_is_read_back_with_what_became_true() -> None:
    """Stored and loaded after every event, the same rewards."""
    for milestones, steps, paid, _ in CASES.values():
        rules = ruleset(*milestones, probes=PROBES)
        assert worth(resumed(rules, *episode(*steps, before=[probed("no", "start")]))) == paid
