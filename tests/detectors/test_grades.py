"""A milestone that is graded pays a part, never twice, and never more than it is worth."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.matchers.grade import Grade, bleu, f1
from detectors.model.errors import SpecError
from detectors.model.rewards import encode_reward, total
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import rules
from detectors.task.task_json import TaskError
from tests.detectors.tables_grades import ANSWER, NEAR, TIERS, pointed, probed
from tests.support.examples import examples
from tests.support.logs import (
    Said,
    answered,
    clicked,
    episode,
    log,
    resumed,
    ruleset,
    run,
    went,
    worth,
)

SHARED = [{"url_reached": {"url": f"/{n}"}} for n in range(4)]
RULES = ruleset(
    {"id": "near", "component": "ui", "weight": 3, "when": {"pointed_at": {"point": [50, 50], "grade": NEAR}}},
    {"id": "said", "component": "ui", "when": {"graded": {**ANSWER, "grade": {"f1": "a b c d"}}}},
    {"id": "tests", "component": "form", "when": {"graded": {"kind": "probe.answered", "value": "value", "grade": {"share": 5}}}},
    {"id": "pages", "component": "nav", "when": {"share": SHARED}},
    {
        "id": "undone",
        "component": "file",
        "when": {"graded": {**ANSWER, "grade": TIERS}},
        "revoke_on": {"element_clicked": {"name": "Undo"}},
    },
    {"id": "end", "when": {"goal": {"when": {"share": {"holding": True, "of": SHARED}}}}, "must_hold_at_end": True},
    probes=[{"id": "cart", "get": "/state"}],
)  # fmt: skip
UNDO = ("element.clicked", {**clicked("Undo")[1], "point": [500, 500]})
SAID = st.one_of(
    st.builds(answered, st.sampled_from(["a", "a b", "a b c d", "3", "17", "99", "nothing", ""])),
    st.builds(pointed, st.integers(0, 120), st.integers(0, 120)),
    st.builds(probed, st.sampled_from([0, 1, "2", 5, 9, None, True, [1]])),
    st.builds(lambda n: went(f"/{n}"), st.integers(0, 5)),
    st.sampled_from([UNDO, clicked("Go")]),  # of the second one nobody knows where it was
)
STEPS = st.lists(st.lists(SAID, max_size=5), min_size=1, max_size=6)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, st.integers(0, 40))
def test_no_cut_replay_or_restart_changes_what_is_paid(steps: list[list[Said]], cut: int) -> None:
    said = episode(*steps)
    whole = [encode_reward(reward) for reward in run(RULES, *said)]
    assert [encode_reward(reward) for reward in resumed(RULES, *said)] == whole
    engine, events = Engine(RULES, "ep_1"), log(*said)
    first = engine.feed(events[:cut]).rewards
    rest = Engine.load(RULES, engine.dump()).feed(events[cut:]).rewards
    assert [encode_reward(reward) for reward in (*first, *rest)] == whole


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
def test_what_is_paid_is_bounded_and_each_increase_once(steps: list[list[Said]]) -> None:
    """After every step: what a milestone has paid so far is its share of its best level, whatever
    came in between; a step that is not known pays nothing."""
    paid: dict[str, float] = {}
    for reward in run(RULES, *episode(*steps)):
        for milestone in () if reward.mask else reward.milestones:
            paid[milestone.id] = total((paid.get(milestone.id, 0.0), milestone.worth))
            assert -1e-9 <= paid[milestone.id] <= RULES.share[RULES.index[milestone.id]] + 1e-9
            if milestone.id != "undone":
                assert milestone.worth > 0, "a lower level takes nothing back"


def test_a_better_answer_pays_the_difference() -> None:
    said = ruleset({"id": "m", "component": "nav", "when": {"graded": {**ANSWER, "grade": NEAR}}}, weights={"nav": 1})  # fmt: skip
    steps = [[answered(text)] for text in ("80", "60", "90", "60", "50", "x", "0", "0")]
    assert worth(run(said, *episode(*steps, close=False)))[:8] == [0.2, 0.2, 0, 0, 0.1, 0, 0.5]


def test_what_was_so_at_the_start_is_nobody_s() -> None:
    tests = {"kind": "probe.answered", "value": "value", "grade": {"share": 4}}
    graded = ruleset({"id": "m", "component": "nav", "when": {"graded": tests}}, weights={"nav": 1}, probes=[{"id": "cart", "get": "/s"}])  # fmt: skip
    start = probed(2, when="start", baseline=True)
    rewards = run(graded, *episode([probed(2)], [probed(3)], [probed(4)], before=[start]))
    assert worth(rewards)[:3] == [0, 0.25, 0.25]


@pytest.mark.parametrize(
    ("when", "said", "why"),
    [
        ({"pointed_at": {"box": [0, 0, 9, 9]}}, clicked("Go"), "not in the recording"),
        (
            {"graded": {"kind": "probe.answered", "value": "value", "grade": {"share": ["a"]}}},
            probed(["b"], cut=True),
            "too long",
        ),
    ],
)
def test_what_is_not_known_is_null(when: dict[str, Any], said: Said, why: str) -> None:
    given_rules = ruleset({"id": "m", "component": "nav", "when": when}, probes=[{"id": "cart", "get": "/s"}])  # fmt: skip
    reward = run(given_rules, *episode([said]))[0]
    assert (reward.reward, reward.mask) == (None, True)
    assert why in str(reward.reason)


SENTENCE = "the cat is on the mat today"
LIKENESS = [
    (f1, "the cat", "the cat", 1.0),
    (f1, "cat cat", "cat", 2 / 3),
    (f1, "", "cat", 0.0),
    (bleu, SENTENCE, SENTENCE, 1.0),
    (bleu, "mat", SENTENCE, 0.0025),
    (bleu, "The cat is on a mat today.", SENTENCE, 0.5915),
    (bleu, "the the the the the the the", SENTENCE, 0.1921),
    (bleu, "dog", SENTENCE, 0.0),
    (bleu, "cat", "cat", 1.0),
]


@pytest.mark.parametrize(("measure", "text", "reference", "level"), LIKENESS)
def test_likeness(measure: Any, text: str, reference: str, level: float) -> None:
    assert measure(text, reference) == pytest.approx(level, abs=5e-4)


REFUSED = [
    ({}, "one of {linear"),
    ({"linear": {"from": 1, "to": 1}}, "the number worth nothing"),
    ({"linear": {"from": 1}}, "the number worth nothing"),
    ({"linear": {"from": 1, "to": 2}, "from": 0.5}, "the last three with from beside it"),
    ({"tiers": []}, "a list of 1 to 16"),
    ({"tiers": [{"pays": 1}]}, "at_most or at_least"),
    ({"tiers": [{"at_most": 1, "pays": 2}]}, "pays above 0, at most 1"),
    ({"tiers": [{"at_most": 1, "at_least": 2, "pays": 1}]}, "at_most or at_least"),
    ({"f1": "..."}, "a text with a word"),
    ({"bleu": []}, "a text with a word"),
    ({"f1": "a", "from": 1}, "below 1"),
    ({"share": 0}, "the number that is all of it"),
    ({"share": []}, "the number that is all of it"),
    ({"f1": "a", "bleu": "a"}, "one of {linear"),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED)
def test_what_is_no_grade_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        Grade.parse(spec, ("grade",))


POINTS = [
    ({}, "point or box"),
    ({"point": [1, 2]}, "grade beside point"),
    ({"box": [1, 2, 3]}, "box: [x, y, width, height]"),
    ({"box": [1, 2, 0, 3]}, "both above 0"),
    ({"box": [1, 2, 3, 4], "grade": {"f1": "a"}}, "linear or tiers"),
]


@pytest.mark.parametrize(("args", "message"), POINTS)
def test_what_is_no_place_is_refused(args: Any, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        parse_args(rules()["pointed_at"].args, args, ("pointed_at",), None)


def test_a_share_of_what_did_not_happen_pays_for_nothing() -> None:
    with pytest.raises(TaskError, match="something that happens"):
        ruleset({"id": "m", "component": "nav", "when": {"share": [{"url_reached": {"url": "/a"}}, {"none_of": [{"url_reached": {"url": "/b"}}]}]}})  # fmt: skip


def test_where_clicks_were_is_asked_for_only_where_it_is_read() -> None:
    asked = [{"pointed_at": {"box": [0, 0, 9, 9]}}, {"observed": {"kind": "element.clicked", "where": {"point.0": {"max": 9}}}}]  # fmt: skip
    for when in asked:
        assert ruleset({"id": "m", "component": "nav", "when": when}).plan("E")["points"] == [True]
    plain = {"id": "m", "when": {"element_clicked": {"name": "Go"}}}
    assert ruleset(plain).plan("E")["points"] == []
