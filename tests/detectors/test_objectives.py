"""Objectives: values by names of a task's own beside the reward, never part of it, null where a step is."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.engine.engine import Engine
from detectors.engine.resolution import Word, decide, escalating, word_of_rules
from detectors.model.rewards import encode_reward, reward_from_json, reward_to_json
from detectors.model.types import Reward, Verdict
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import TaskError, task_from_json
from tests.support.logs import Said, clicked, episode, filled, log, resumed, ruleset, run, went

SENT = {"id": "sent", "when": {"goal": {"when": {"url_reached": {"url": "/done"}}}}}
TERMS = {"id": "terms", "component": "care", "when": {"url_reached": {"url": "/terms"}}}
CHECK = {
    "id": "check",
    "component": "care",
    "weight": 3,
    "when": {"element_clicked": {"name": "Check"}},
}
LOOK = {
    "id": "look",
    "component": "breadth",
    "repeat": 5,
    "when": {"element_clicked": {"name": {"glob": "Item *"}}},
}
FORM = {
    "id": "form",
    "component": "breadth",
    "when": {"form_filled": {"fields": {"Name": "Ada", "City": "Oslo"}}},
}
JUDGED = {"id": "neat", "when": {"judge": {"rubric": ["Neat."]}}}
OBJECTIVES = {"care": 1, "breadth": 0.5}
GAP: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "lost"}),
    ("gap.ended", {"source": "cdp"}),
]


def rules(*milestones: dict[str, Any], **top: Any) -> Ruleset:
    given = milestones or (SENT, TERMS, CHECK, LOOK)
    names = {one.get("component") for one in given}
    objectives = {name: worth for name, worth in OBJECTIVES.items() if name in names}
    return ruleset(*given, weights={"goal": 1}, objectives=objectives, **top)


def values(rewards: list[Reward]) -> list[dict[str, float | None]]:
    return [dict(one.objectives) for one in rewards]


def test_a_step_adds_to_its_objectives_and_the_reward_knows_nothing_of_them() -> None:
    task = rules()
    said = episode(
        [went("/terms"), clicked("Item 1")],
        [clicked("Check")],
        [clicked("Item 1"), clicked("Item 2")],
        [went("/done")],
    )
    for play in (run, resumed):
        rewards = play(task, *said)
        assert values(rewards)[:4] == [
            {"care": 0.25, "breadth": 0.1}, {"care": 0.75, "breadth": 0.0}, {"care": 0.0, "breadth": 0.1}, {"care": 0.0, "breadth": 0.0},
        ]  # fmt: skip
        assert [one.reward for one in rewards][:4] == [0.0, 0.0, 0.0, 1.0]
        assert all(set(one.components) == {"goal"} for one in rewards)
    assert (task.attainable, task.components) == (1.0, ("goal",))


def test_parts_and_what_is_taken_back_count_as_they_do_in_the_reward() -> None:
    undone = {**CHECK, "revoke_on": {"element_clicked": {"name": "Undo"}}}
    task = rules(SENT, undone, FORM)
    said = episode(
        [filled("Name", "Ada"), clicked("Check")], [clicked("Undo")], [filled("City", "Oslo")]
    )
    assert values(run(task, *said))[:3] == [
        {"care": 1.0, "breadth": 0.25}, {"care": -1.0, "breadth": 0.0}, {"care": 0.0, "breadth": 0.25},
    ]  # fmt: skip


UNKNOWN: dict[str, list[Said]] = {
    "a gap": GAP,
    "a secret": [filled("Name", None, has_value=True)],
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_step_that_is_not_known_is_null_in_each_objective(name: str) -> None:
    """Also where an objective alone rests on what was not observed: never 0."""
    first, second, *_ = run(
        rules(SENT, CHECK, FORM), *episode(UNKNOWN[name], [clicked("Check")], [])
    )
    assert (first.reward, first.mask) == (None, True)
    assert first.objectives == {"care": None, "breadth": None}
    assert second.objectives == {"care": 1.0, "breadth": 0.0}


def test_what_stood_at_the_start_adds_nothing() -> None:
    said = episode([], before=[went("/terms", baseline=True)])
    assert values(run(rules(), *said))[0] == {"care": 0.0, "breadth": 0.0}


def test_they_are_told_and_read_again_and_of_a_task_without_them_nothing_is() -> None:
    (first, *_) = run(rules(), *episode([clicked("Check")]))
    assert reward_to_json(first)["objectives"] == {"care": 0.75, "breadth": 0.0}
    assert encode_reward(reward_from_json(reward_to_json(first))) == encode_reward(first)
    (plain, *_) = run(ruleset(SENT), *episode([]))
    assert "objectives" not in reward_to_json(plain)


def test_they_are_in_the_digest() -> None:
    assert (
        rules().digest
        != ruleset(
            SENT, TERMS, CHECK, LOOK, weights={"goal": 1}, objectives={"care": 2, "breadth": 0.5}
        ).digest
    )


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a component of its own without one": ({"milestones": [{**TERMS}]}, "or objectives.care"),
    "a name that is a component's": ({"milestones": [SENT], "objectives": {"nav": 1}}, "that is no component's"),
    "an odd name": ({"milestones": [SENT], "objectives": {"My Care": 1}}, "a name of lower case letters"),
    "none that belongs to it": ({"milestones": [SENT], "objectives": {"care": 1}}, "a milestone with component: care"),
    "worth nothing": ({"milestones": [SENT, TERMS], "objectives": {"care": 0}}, "a number above 0"),
    "a penalty": ({"milestones": [{**TERMS, "penalty": 1}], "objectives": {"care": 1}}, "no penalty in an objective"),
    "a judge": (
        {"milestones": [{"id": "j", "component": "care", "when": {"judge": {"rubric": ["Neat."]}}}], "objectives": {"care": 1}},
        "a condition that events decide",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_no_objective_can_be_is_refused_with_what_was_wanted(name: str) -> None:
    change, wanted = BAD[name]
    spec = {"id": "t", "version": "1", "instruction": "-", "origin": "http://shop.test", **change}
    with pytest.raises(TaskError) as error:
        compile_task(task_from_json(spec))
    assert wanted in " ".join(map(str, error.value.problems))


@pytest.mark.parametrize("pay", [{"care": 1.0}, {}])
def test_an_objective_decides_not_whether_a_tier_is_asked(pay: dict[str, float]) -> None:
    """Of a step in which the rules say nothing of the reward, whatever they say beside it."""
    first = clicked("Check") if pay else clicked("Other")
    policy = {"tiers": ["judge"], "escalate": ["unscored"]}
    outcome = Engine(rules(SENT, CHECK, escalation=policy), "ep_1").feed(log(*episode([first], [])))
    assert [(ask.step, ask.item) for ask in outcome.asks] == [(0, "step"), (1, "step")]


def test_what_an_objective_proves_makes_no_silence_sure() -> None:
    """Its being decisive where it is not met says nothing of the step."""
    sure = {**CHECK, "decisive": "both"}
    cart = {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "decisive": "both"}
    for milestones, confidence in (((cart, CHECK), 1.0), ((JUDGED, sure), 0.0)):
        task = ruleset(*milestones, objectives={"care": 1}, escalation={"tiers": ["judge"]})
        (first, *_) = Engine(task, "ep_1").feed(log(*episode([], []))).rewards
        assert word_of_rules(task, first, "step").confidence == confidence


@pytest.mark.parametrize("score", [1.0, 0.0, None])
def test_what_a_tier_answers_changes_no_objective(score: float | None) -> None:
    """While nobody answered, and where the answer, or that there is none, settles the reward."""
    policy = {"tiers": ["judge"], "escalate": ["unscored"]}
    task = rules(SENT, CHECK, escalation=policy)
    outcome = Engine(task, "ep_1").feed(log(*episode([clicked("Check")], [])))
    first, asked = outcome.rewards[0], [ask for ask in outcome.asks if ask.step == 0]
    answer = Word("step", Verdict("judge", score, float(score is not None), "so", "m"))
    final = decide(task, first, asked, [answer])
    waiting = escalating(task, first, asked)
    assert (waiting.status, final.status) == (
        "escalating",
        "unscored" if score is None else "sealed",
    )
    assert first.objectives == waiting.objectives == final.objectives == {"care": 1.0}


SHAPED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "those of milestones alone": ({}, ("nav",)),
    "as was said": ({"potential": ["nav"]}, ("nav",)),
}


@pytest.mark.parametrize("name", SHAPED)
@pytest.mark.parametrize("held", [False, True])
def test_an_objective_has_no_potential(name: str, held: bool) -> None:
    """Also where it must hold at the end, which no potential may."""
    shaping, shaped = SHAPED[name]
    cart = {"id": "cart", "component": "nav", "when": {"url_reached": {"url": "/cart"}}}
    check = {**CHECK, "must_hold_at_end": held}
    task = ruleset(SENT, cart, check, objectives={"care": 1}, shaping=shaping)
    assert task.task.shaped == shaped


def test_one_that_is_named_as_potential_is_refused() -> None:
    with pytest.raises(TaskError, match="a list of components with milestones"):
        ruleset(SENT, CHECK, objectives={"care": 1}, shaping={"potential": ["care"]})
