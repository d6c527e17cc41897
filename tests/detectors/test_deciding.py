"""Who is asked about a step, and what it is worth once they have answered."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.engine.engine import Engine, EngineResult
from detectors.engine.resolution import Word, decide, escalating, next_tier, waits
from detectors.model.rewards import episode_total, reward_from_json, reward_to_json
from detectors.model.types import Ask, Reward, Verdict
from detectors.task.ruleset import Ruleset
from detectors.task.task_json import TaskError, task_from_json, task_to_json
from tests.support.logs import ORIGIN, Said, episode, log, ruleset, went

CART = {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "component": "nav"}
GOAL = {"id": "done", "when": {"goal": {"requires": ["cart"]}}}
NICE = {"id": "nice", "when": {"judge": {"rubric": ["The tone is friendly."]}}, "component": "form"}
WEIGHTS = {"nav": 0.4, "goal": 0.6, "form": 0.5}
STAKE = 0.5 * 0.6 / 10
"""What a score of 1 is worth in a silent step of these tasks: half of the goal, over ten steps."""


def rules(*more: dict[str, Any], **escalation: Any) -> Ruleset:
    """A task with a page, a goal and what is said of escalation; no audit unless it is asked
    for."""
    said = {"audit": 0, "share": 0.5, **escalation}
    return ruleset(CART, GOAL, *more, weights=WEIGHTS, limits={"steps": 10}, escalation=said)


def played(found: Ruleset, *steps: list[Said]) -> EngineResult:
    """An episode's outcome."""
    return Engine(found, "ep_1").feed(log(*episode(*steps)))


def said(stage: Any, score: float | None, confidence: float = 1.0, item: str = "step") -> Word:
    """One recorded word."""
    return Word(item, Verdict(stage, score, confidence, "because", "m"), (3,))


SILENT: list[Said] = [went("/elsewhere")]
PAID: list[Said] = [went("/cart")]


@pytest.mark.parametrize(
    ("escalation", "steps", "wanted"),
    [
        pytest.param({}, [SILENT, PAID], [(0, "step")], id="only where rules are silent"),
        pytest.param({"escalate": "never"}, [SILENT, SILENT], [], id="never"),
        pytest.param(
            {"escalate": "goal"},
            [SILENT, SILENT],
            [(1, "goal")],
            id="a rule's no is no proof of failure",
        ),
        pytest.param({"escalate": "goal"}, [SILENT, PAID], [], id="a rule's yes is proof"),
        pytest.param(
            {"escalate": "goal", "decisive": "both"}, [SILENT], [], id="a no may be proof"
        ),
        pytest.param(
            {"escalate": "goal", "decisive": "negative"},
            [PAID],
            [(0, "goal")],
            id="a yes may be none",
        ),
        pytest.param({"decisive": "both"}, [SILENT, PAID], [], id="silence may be proof"),
        pytest.param(
            {"escalate": "low_confidence", "decisive": "none"},
            [SILENT, PAID],
            [(0, "step"), (1, "step")],
            id="soft rules",
        ),
        pytest.param(
            {"escalate": "low_confidence"}, [SILENT, PAID], [(0, "step")], id="rules that are sure"
        ),
    ],
)
def test_what_is_asked(
    escalation: dict[str, Any], steps: list[list[Said]], wanted: list[tuple[int, str]]
) -> None:
    """A step goes beyond the rules where the task says so, and nowhere else."""
    assert [(ask.step, ask.item) for ask in played(rules(**escalation), *steps).asks] == wanted


def test_what_nobody_saw_is_not_asked_about() -> None:
    """Who judges a step in which a source was blind would guess: it stays unobserved."""
    gap: Said = ("gap.began", {"source": "cdp", "reason": "the browser died"})
    outcome = played(rules(), [gap])
    assert outcome.rewards[0].status == "unobserved"
    assert outcome.asks == []


def test_an_audit_s_lot_is_the_same_in_every_replay_and_changes_nothing() -> None:
    """A share of what the rules decided is judged as well; its step is sealed at once."""
    found = rules(escalate="never", audit=0.5)
    outcome = played(found, *[SILENT] * 200)
    drawn = [ask for ask in outcome.asks if ask.audit]
    assert drawn == outcome.asks == played(found, *[SILENT] * 200).asks
    assert 60 < len(drawn) < 140
    assert not waits(drawn)
    assert decide(found, outcome.rewards[0], drawn[:1], [said("judge", 1.0)]) == outcome.rewards[0]


def test_a_milestone_that_a_tier_decides_is_asked_once() -> None:
    """At the end, or at the step that reached the last of what it comes after."""
    end = played(rules(NICE, escalate="never"), PAID, SILENT)
    assert [(a.step, a.item, a.tiers) for a in end.asks] == [(1, "nice", ("judge",))]
    after = {
        **NICE,
        "after": ["cart"],
        "when": {"judge": {**NICE["when"]["judge"], "ask": "after"}},
    }  # type: ignore[index]
    assert [
        (a.step, a.item) for a in played(rules(after, escalate="never"), PAID, SILENT).asks
    ] == [(0, "nice")]
    assert played(rules(after, escalate="never"), SILENT).asks == []


def sealed(found: Ruleset, step: list[Said], *words: Word) -> Reward:
    """The only step of an episode, decided."""
    outcome = played(found, step)
    return decide(found, outcome.rewards[0], outcome.asks, words)


@pytest.mark.parametrize(
    ("escalation", "words", "reward", "by"),
    [
        pytest.param(
            {}, [said("model", 0.5, 0.9)], 0.5 * STAKE, "model", id="first confident tier decides"
        ),
        pytest.param(
            {},
            [said("model", 0.5, 0.2), said("judge", 1.0)],
            STAKE,
            "judge",
            id="an unsure one does not",
        ),
        pytest.param(
            {"share": 0.1},
            [said("judge", 0.5)],
            0.1 * STAKE,
            "judge",
            id="what a score of 1 is worth",
        ),
        pytest.param(
            {}, [said("model", None, 0.0), said("judge", None, 0.0)], None, None, id="all abstain"
        ),
        pytest.param({}, [], None, None, id="nobody was there"),
        pytest.param({"route": "blend"}, [said("model", None)], None, None, id="a blend of nobody"),
        pytest.param(
            {},
            [said("judge", 1.0), said("person", 0.0)],
            0.0,
            "person",
            id="a person is above a judge",
        ),
    ],
)
def test_the_route_of_a_silent_step(
    escalation: dict[str, Any], words: list[Word], reward: float | None, by: str | None
) -> None:
    """Both routes, on a step of which the rules say nothing."""
    found = sealed(rules(**escalation), SILENT, *words)
    assert found.reward == (None if reward is None else pytest.approx(reward))
    assert (found.decided_by, found.mask) == (by, reward is None)
    assert found.status == ("unscored" if reward is None else "sealed")
    assert reward is None or sum(m.worth for m in found.milestones) == found.reward
    assert reward is None or sum(part or 0.0 for part in found.components.values()) == found.reward
    assert reward_from_json(reward_to_json(found)) == found


def test_soft_pay_is_scaled_and_penalties_stay() -> None:
    """What a tier says of a step that earned something is its part of what the rules would pay."""
    rude = {"id": "rude", "when": {"url_reached": {"url": "/rude"}}, "penalty": 0.1}
    found = rules(rude, escalate="low_confidence", decisive="none")
    assert sealed(
        found, [went("/cart"), went("/rude")], said("judge", 0.5)
    ).reward == pytest.approx(0.5 * 1.0 - 0.1)
    assert sealed(found, [went("/rude")], said("judge", 1.0)).reward == pytest.approx(-0.1)
    assert sealed(found, [went("/rude")], said("judge", 1.0)).components["nav"] == pytest.approx(
        -0.1
    )
    both = rules(escalate=["low_confidence", "goal"], decisive="none")
    lost = sealed(both, PAID, said("judge", 0.0), said("judge", 0.0, item="goal"))
    assert lost.reward == 0.0, "what a judge takes from the goal is not taken from the step as well"


def test_the_goal() -> None:
    """A judge's yes is worth what the goal is worth, and makes a success; the rules' yes stands
    without it."""
    found = rules(escalate="goal")
    won, lost, none = (
        sealed(found, SILENT, said("judge", score, item="goal")) for score in (1.0, 0.0, None)
    )
    assert (won.reward, won.success, won.components["goal"]) == (0.6, True, 0.6)
    assert (lost.reward, lost.success) == (0.0, False)
    assert (none.reward, none.success, none.status) == (None, None, "unscored")
    outcome = played(found, SILENT)
    waiting = escalating(found, outcome.rewards[0], outcome.asks)
    assert (waiting.status, waiting.reward, waiting.mask, waiting.success, waiting.done) == (
        "escalating",
        None,
        True,
        None,
        True,
    )


@pytest.mark.parametrize(
    ("step", "score", "reward"),
    [
        pytest.param([went("/cart")], 1.0, 0.4 + 0.3 + 0.3, id="one was met"),
        pytest.param([went("/cart")], 0.0, 0.4 + 0.3, id="one was met, and the judge says no"),
        pytest.param(SILENT, 1.0, 0.6, id="none was met"),
        pytest.param(
            [went("/cart"), went("/paid")], 0.0, 0.4, id="all were met, and the judge says no"
        ),
    ],
)
def test_no_goal_is_paid_twice(step: list[Said], score: float, reward: float) -> None:
    """Of several goals the judge's yes pays those that the rules have not."""
    goals = [
        {"id": "g1", "when": {"goal": {"requires": ["cart"]}}},
        {"id": "g2", "when": {"goal": {"when": {"url_reached": {"url": "/paid"}}}}},
    ]
    found = ruleset(
        CART,
        *goals,
        weights=WEIGHTS,
        escalation={"audit": 0, "escalate": ["goal"], "decisive": "none"},
    )
    decided = sealed(found, step, said("judge", score, item="goal"))
    assert decided.reward == pytest.approx(reward)
    assert sum(m.worth for m in decided.milestones) == pytest.approx(reward)


def test_a_judge_s_milestone_pays_its_level() -> None:
    """By the share of its criteria; unknown, the step is unknown."""
    found = rules(NICE, escalate="never")
    assert sealed(found, PAID, said("judge", 0.5, item="nice")).reward == pytest.approx(1.0 + 0.25)
    assert sealed(found, PAID, said("judge", None, item="nice")).reward is None


def test_who_is_asked_next() -> None:
    """In a cascade until one is sure, in a blend and an audit all."""
    reward = played(rules(), SILENT).rewards[0]
    ask = Ask(0, "step", ("model", "judge"))
    assert next_tier(rules(), reward, ask, []) == "model"
    assert next_tier(rules(), reward, ask, [said("model", 0.5, 0.1)]) == "judge"
    assert next_tier(rules(), reward, ask, [said("model", 0.5, 0.9)]) is None
    assert next_tier(rules(route="blend"), reward, ask, [said("model", 0.5, 0.9)]) == "judge"
    assert (
        next_tier(rules(), reward, ask._replace(audit=True), [said("model", 0.5, 0.9)]) == "judge"
    )


@pytest.mark.parametrize(
    ("more", "path"),
    [
        pytest.param({"escalation": {"route": "vote"}}, "escalation.route", id="no such route"),
        pytest.param(
            {"escalation": {"escalate": ["always"]}}, "escalation.escalate", id="no such reason"
        ),
        pytest.param(
            {"escalation": {"route": "blend", "weights": {"rule": 1, "judge": 1}}},
            "weights",
            id="sum of 2",
        ),
        pytest.param(
            {"escalation": {"weights": {"rule": 1}}}, "weights", id="weights of a cascade"
        ),
        pytest.param(
            {"escalation": {"budget": {"year": {"calls": 1}}}}, "budget.year", id="no such scope"
        ),
        pytest.param(
            {"escalation": {"budget": {"day": {"calls": 0.5}}}},
            "budget.day.calls",
            id="half a call",
        ),
        pytest.param({"escalation": {"rubric": {"goal": []}}}, "rubric.goal", id="an empty rubric"),
        pytest.param(
            {"escalation": {"rubric": {"goal": ["a", {"id": "c1", "text": "b"}]}}},
            "goal",
            id="an id twice",
        ),
        pytest.param({"escalation": {"audit": 2}}, "escalation.audit", id="more than all"),
        pytest.param(
            {"milestones": [CART, {**NICE, "repeat": 3}]}, "milestones[1].repeat", id="judged again"
        ),
        pytest.param(
            {"milestones": [NICE, {**GOAL, "when": {"goal": {"requires": ["nice"]}}}]},
            "when",
            id="waits for a judge",
        ),
        pytest.param(
            {"milestones": [CART, {**NICE, "id": "goal"}]},
            "milestones[1].id",
            id="judged as the goal is",
        ),
        pytest.param(
            {"milestones": [CART, {**NICE, "id": "step"}]},
            "milestones[1].id",
            id="judged as a step is",
        ),
        pytest.param(
            {"milestones": [{**CART, "decisive": "maybe"}]},
            "milestones[0].decisive",
            id="no direction",
        ),
        pytest.param(
            {"milestones": [{"id": "x", "when": {"all_of": [NICE["when"]]}}]},
            "judge",
            id="judged inside a condition",
        ),
        pytest.param(
            {"milestones": [CART], "escalation": {"escalate": "goal"}},
            "escalate",
            id="a goal nobody set",
        ),
    ],
)
def test_tasks_that_are_refused(more: dict[str, Any], path: str) -> None:
    """Each problem names its place."""
    spec = {
        "id": "t",
        "version": "1",
        "instruction": "Do it.",
        "origin": ORIGIN,
        "milestones": [CART, GOAL],
    }
    with pytest.raises(TaskError) as caught:
        task_from_json({**spec, **more})
    assert path in str(caught.value)


@pytest.mark.parametrize("route", ["cascade", "blend"])
def test_the_canonical_form_is_read_again(route: str) -> None:
    """With every default written out."""
    escalation = {
        "route": route,
        "budget": {"day": {"cost": 2.5}},
        "rubric": {"step": ["It helped."]},
    }
    task = rules(NICE, **escalation).task
    assert task_from_json(task_to_json(task)) == task


def test_totals() -> None:
    """Not known while one of them is not."""
    assert [episode_total(v) for v in ([], [0.1, 0.2], [0.1, None])] == [None, 0.3, None]
