"""What tiers may pay: never as much as reaching the goal, whatever they say; and a blend is its
formula."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine, EngineResult
from detectors.engine.resolution import Word, decide
from detectors.engine.stakes import most_of_steps, spread_over
from detectors.model.rewards import encode_reward, total
from detectors.model.types import Ask, Reward, Verdict
from detectors.task.ruleset import Ruleset
from detectors.task.task_json import TaskError
from tests.support.examples import examples
from tests.support.logs import Said, episode, log, ruleset, sealed, went

SILENT: list[Said] = [went("/elsewhere")]
CART = {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "component": "nav"}
GOAL = {"id": "done", "when": {"goal": {"when": {"url_reached": {"url": "/done"}}}}}
RUDE = {"id": "rude", "when": {"url_reached": {"url": "/rude"}}, "penalty": 0.2, "repeat": 9}


def words(asked: list[Ask], model: float | None, judge: float | None) -> list[Word]:
    """What model and judge say of all that is asked; None: they abstain."""
    scores: dict[Any, float | None] = {"model": model, "judge": judge}
    return [
        Word(ask.item, Verdict(tier, scores[tier], float(scores[tier] is not None), "so", "m"))  # type: ignore[arg-type]
        for ask in asked
        for tier in ask.tiers
    ]


def judged(
    rules: Ruleset, outcome: EngineResult, model: float | None, judge: float | None
) -> list[Reward]:
    """The final rewards where both tiers say the same of everything."""
    found = []
    for reward in outcome.rewards:
        asked = [ask for ask in outcome.asks if ask.step == reward.step]
        found.append(decide(rules, reward, asked, words(asked, model, judge)))
    return found


def played(rules: Ruleset, *steps: list[Said]) -> EngineResult:
    """An episode that is closed in its last step."""
    return Engine(rules, "ep_1").feed(log(*episode(*steps)))


def paid(rewards: list[Reward]) -> float:
    """Σ of what is known."""
    return total(reward.reward or 0.0 for reward in rewards)


# What no sequence of silent steps may do.

parts = st.sampled_from([0.05, 0.1, 0.3, 0.5, 0.75, 1.0])
scores = st.one_of(st.none(), st.sampled_from([0.0, 0.3, 0.49, 0.5, 0.8, 1.0]))


@st.composite
def escalations(draw: st.DrawFn) -> dict[str, Any]:
    """Whatever a task may say of tiers, and some of what it may not."""
    escalate = draw(st.lists(st.sampled_from(["unscored", "goal", "low_confidence"]), unique=True))
    more: dict[str, Any] = {"escalate": escalate} if escalate else {}
    if draw(st.booleans()):
        rule = draw(st.sampled_from([0.05, 0.3, 0.5, 0.8]))
        model = draw(st.sampled_from([0.0, 0.5, 1.0])) * (1 - rule)
        more |= {
            "route": "blend",
            "weights": {"rule": rule, "model": model, "judge": 1 - rule - model},
        }
    return more | {
        "audit": 0,
        "share": draw(st.sampled_from([0.01, 0.2, 0.5, 0.99])),
        "decisive": draw(st.sampled_from(["positive", "negative", "both", "none"])),
        "confident": draw(st.sampled_from([0.0, 0.7, 1.0])),
    }


@st.composite
def tasks(draw: st.DrawFn) -> Ruleset:
    """A task that is accepted: any weights, goals, ends and tiers."""
    goals = draw(
        st.sampled_from(
            [[], [GOAL], [GOAL, {"id": "all", "when": {"goal": {"requires": ["cart"]}}}]]
        )
    )
    top: dict[str, Any] = {
        "weights": {"nav": draw(parts), "goal": draw(st.sampled_from([0.0, 0.2, 1.0]))}
    }
    if draw(st.booleans()):
        top["limits"] = {"steps": draw(st.integers(1, 70))}
    if goals and draw(st.booleans()):
        alpha = draw(st.sampled_from([None, 0.0, 0.3, 1.0]))
        success = draw(st.sampled_from([0.0, 1.0, 10.0]))
        failure = draw(st.sampled_from([-5.0, -1.0, 0.0, 1.0]))
        top["outcome"] = {"success": success, "failure": failure} | (
            {} if alpha is None else {"alpha": alpha}
        )
    if goals and draw(st.booleans()):
        top["efficiency"] = {"weight": 0.1, "best": 2, "worst": 20}
    if draw(st.booleans()):
        top["credit"] = "level"
    elif draw(st.booleans()):
        top["shaping"] = {"potential": ["nav"], "gamma": 1.0}
    try:
        return ruleset(CART, RUDE, *goals, **top, escalation=draw(escalations()))
    except TaskError:
        assume(False)
        raise


@settings(max_examples=examples(150), deadline=None)
@given(tasks(), st.sampled_from([1, 2, 9, 55]), scores, scores, scores, scores)
def test_no_sequence_of_silent_steps_beats_reaching_the_goal(
    rules: Ruleset,
    many: int,
    model: float | None,
    judge: float | None,
    of_work: float | None,
    of_work_too: float | None,
) -> None:
    """Whatever model and judge say of silence, and of the work: what the rules pay for the goal is
    at least as much.

    Where the task calls the rules' yes no proof, a tier may take the goal from who reached it: then
    it is the rules' own pay that silence is held against.
    """
    silent = judged(rules, played(rules, *[SILENT] * many), model, judge)
    outcome = played(rules, [went("/cart"), went("/done", tab="U")])
    soft = rules.task.escalation is not None and rules.task.escalation.decisive in (
        "negative",
        "none",
    )
    blends = rules.task.escalation is not None and rules.task.escalation.route == "blend"
    work = outcome.rewards if soft and not blends else judged(rules, outcome, of_work, of_work_too)
    if any(reward.mask for reward in work):
        return  # no tier was sure of it
    assert paid(silent) <= paid(work) + 1e-9
    if silent[-1].success is False and most_of_steps(rules):
        assert paid(silent) < paid(work)


@settings(max_examples=examples(100), deadline=None)
@given(
    tasks(),
    st.lists(st.sampled_from(["/cart", "/done", "/rude", "/elsewhere"]), max_size=20),
    scores,
    scores,
)
def test_what_tiers_add_is_bounded_by_what_the_rules_leave_unpaid(
    rules: Ruleset, paths: list[str], model: float | None, judge: float | None
) -> None:
    """However work, fines and silence follow each other: to be fined makes no room, after the goal
    there is none."""
    outcome = played(rules, *[[went(path)] for path in paths])
    offered = [ask.stake for ask in outcome.asks if ask.item == "step"]
    assert sum(offered) <= most_of_steps(rules) + 1e-9
    assert len([stake for stake in offered if stake]) <= spread_over(rules)
    final = judged(rules, outcome, model, judge)
    in_steps = [m for reward in final for m in reward.milestones if m.id in ("(model)", "(judge)")]
    assert total(m.worth for m in in_steps) <= most_of_steps(rules) + 1e-9


@pytest.mark.parametrize(
    ("top", "steps", "stakes"),
    [
        pytest.param(
            {},
            [SILENT] * 52,
            [0.2 * 0.6 / 50] * 50,
            id="without limits over fifty steps, then none",
        ),
        pytest.param(
            {"limits": {"steps": 4}},
            [SILENT] * 6,
            [0.03] * 4,
            id="over the task's limit, and none beyond",
        ),
        pytest.param(
            {"limits": {"seconds": 0.004}},
            [SILENT] * 4,
            [0.0024] * 3,
            id="none beyond a limit of time",
        ),
        pytest.param(
            {"limits": {"steps": 4}, "escalation": {"share": 0.8}},
            [SILENT],
            [0.12],
            id="of another share",
        ),
        pytest.param(
            {"limits": {"steps": 4}, "outcome": {"success": 1.0, "failure": 0.4}},
            [SILENT],
            [0.06],
            id="the end's too",
        ),
        pytest.param(
            {"limits": {"steps": 4}, "outcome": {"success": 0.4, "failure": -9}},
            [SILENT],
            [0.05],
            id="but no fine's",
        ),
        pytest.param(
            {"limits": {"steps": 4}},
            [[went("/rude")], SILENT],
            [0.03],
            id="a fined step is not silent, and no room",
        ),
        pytest.param(
            {"limits": {"steps": 4}},
            [[went("/cart")], SILENT],
            [0.03],
            id="work that is not the goal",
        ),
        pytest.param(
            {"limits": {"steps": 4}},
            [SILENT, [went("/done")], SILENT],
            [0.03],
            id="after the goal none",
        ),
    ],
)
def test_what_a_silent_step_is_worth(
    top: dict[str, Any], steps: list[list[Said]], stakes: list[float]
) -> None:
    """A part of what the goal is worth and was not paid yet, by the task's limit of steps."""
    weights = {"nav": 0.4, "goal": 0.6}
    escalation = {"audit": 0, "share": 0.2, **top.get("escalation", {})}
    rules = ruleset(CART, RUDE, GOAL, weights=weights, **{**top, "escalation": escalation})
    asked = [ask.stake for ask in played(rules, *steps).asks]
    # With the share of 0.2 the goal's 0.6 is 0.12, which four steps part.
    assert asked == pytest.approx(stakes)


def test_ten_silent_steps_that_a_judge_calls_perfect_are_not_worth_ten() -> None:
    """In a task whose rules can pay 0.3."""
    rules = ruleset(CART, GOAL, weights={"nav": 0.1, "goal": 0.2}, escalation={"audit": 0})
    found = judged(rules, played(rules, *[SILENT] * 10), 1.0, 1.0)
    assert paid(found) == pytest.approx(10 * 0.2 * 0.2 / 50)
    assert {reward.decided_by for reward in found} == {"model"}


@pytest.mark.parametrize("goals", [[], [GOAL]], ids=["no goal", "a goal"])
def test_a_task_whose_rules_can_pay_nothing_gives_tiers_nothing(goals: list[Any]) -> None:
    """Then its silent steps are worth 0, and nobody is asked what can't matter."""
    rules = ruleset(RUDE, *goals, weights={"goal": 0.0}, escalation={"audit": 0})
    outcome = played(rules, SILENT, [went("/rude")])
    assert outcome.asks == []
    assert [reward.reward for reward in outcome.rewards] == [0.0, -0.2]


def test_a_judged_goal_is_worth_what_steps_have_left_of_it() -> None:
    """So that silence which all tiers call a success is worth no more than the goal."""
    escalation = {"audit": 0, "share": 0.5, "escalate": ["unscored", "goal"]}
    rules = ruleset(
        CART, GOAL, weights={"nav": 0.4, "goal": 0.6}, limits={"steps": 5}, escalation=escalation
    )
    outcome = played(rules, *[SILENT] * 3)
    assert [(ask.item, ask.stake) for ask in outcome.asks] == [
        ("step", 0.06),
        ("step", 0.06),
        ("step", 0.06),
        ("goal", pytest.approx(0.6 - 3 * 0.06)),
    ]
    assert paid(judged(rules, outcome, 1.0, 1.0)) == pytest.approx(0.6)
    assert paid(judged(rules, outcome, None, 0.0)) == 0.0


@settings(max_examples=examples(50), deadline=None)
@given(tasks(), st.permutations(range(6)), scores, scores)
def test_late_words_give_the_same_bytes(
    rules: Ruleset, order: list[int], model: float | None, judge: float | None
) -> None:
    """What a step is worth follows from the log up to its seal: not from which step was answered
    first, nor from where the engine was stored and loaded in between."""
    said = episode(SILENT, [went("/cart"), *SILENT], SILENT, [went("/rude")], SILENT, SILENT)
    whole = Engine(rules, "ep_1").feed(log(*said))
    engine, again = Engine(rules, "ep_1"), EngineResult()
    for event in log(*said):
        outcome = engine.feed([event])
        again.rewards += outcome.rewards
        again.asks += outcome.asks
        engine = Engine.load(rules, engine.dump())
    assert again.asks == whole.asks
    late = {}
    for step in order:
        asked = [ask for ask in again.asks if ask.step == step]
        # Within a step the second tier's words may come before the first's.
        late[step] = encode_reward(
            decide(rules, again.rewards[step], asked, words(asked, model, judge))
        )
    assert [late[step] for step in range(6)] == [
        encode_reward(one) for one in judged(rules, whole, model, judge)
    ]


# r = α·r_rule + β·R + γ·r_judge, of which docs/cascade.md has the table.

BLEND = {"route": "blend", "weights": {"rule": 0.5, "model": 0.3, "judge": 0.2}, "audit": 0}
UNIT = {
    "weights": {"nav": 0.1, "ui": 0.3, "goal": 0.0},
    "outcome": {"success": 40.0},
    "limits": {"steps": 4},
}
"""A task whose step has a stake of 1: 0.2 of 0.5 of 40, over 4 steps."""
FINE = {"id": "fine", "when": {"url_reached": {"url": "/fine"}}, "penalty": 0.2}
MORE = {"id": "more", "when": {"url_reached": {"url": "/more"}}, "component": "ui"}


@pytest.mark.parametrize(
    ("path", "model", "judge", "reward", "reason"),
    [
        pytest.param("/cart", 0.8, 0.5, 0.39, None, id="0.5 * 0.1 + 0.3 * 0.8 + 0.2 * 0.5"),
        pytest.param(
            "/elsewhere", 0.8, 0.5, 0.34, None, id="silence: 0.5 * 0 + 0.3 * 0.8 + 0.2 * 0.5"
        ),
        pytest.param(
            "/more", 0.8, 0.5, 0.49, None, id="more work: 0.5 * 0.3 + 0.3 * 0.8 + 0.2 * 0.5"
        ),
        pytest.param(
            "/fine", 0.8, 0.5, 0.24, None, id="a penalty: 0.5 * -0.2 + 0.3 * 0.8 + 0.2 * 0.5"
        ),
        pytest.param("/cart", 0.0, 0.0, 0.05, None, id="work that nobody likes: 0.5 * 0.1"),
        pytest.param(
            "/cart",
            0.8,
            None,
            (0.5 * 0.1 + 0.3 * 0.8) / 0.8,
            "step: renormalised without judge: rule 0.625, model 0.375",
            id="the judge abstained",
        ),
        pytest.param(
            "/elsewhere",
            None,
            0.5,
            0.2 * 0.5 / 0.7,
            "step: renormalised without model: rule 0.7143, judge 0.2857",
            id="silence, and the model abstained",
        ),
        pytest.param(
            "/cart",
            None,
            None,
            0.1,
            "step: renormalised without model and judge: rule 1",
            id="the rules alone",
        ),
        pytest.param(
            "/elsewhere",
            None,
            None,
            None,
            "step: model: so; judge: so",
            id="silence of which nobody knows anything is null",
        ),
    ],
)
def test_a_blend_is_its_formula(
    path: str, model: float | None, judge: float | None, reward: float | None, reason: str | None
) -> None:
    """On every step, with the rules' own number in it, and all terms on the scale of the step's
    stake, here 1."""
    rules = ruleset(CART, MORE, FINE, GOAL, **UNIT, escalation=BLEND)
    outcome = played(rules, [went(path)], SILENT)
    assert [(ask.step, ask.item, ask.stake) for ask in outcome.asks] == [
        (0, "step", 1.0),
        (1, "step", 1.0),
    ]
    found = judged(rules, outcome, model, judge)[0]
    assert (found.reward, found.reason) == (
        reward if reward is None else pytest.approx(reward),
        reason,
    )
    assert found.mask is (reward is None)
    if found.reward is not None:
        assert sum(m.worth for m in found.milestones) == pytest.approx(found.reward)
        assert sum(part or 0.0 for part in found.components.values()) == pytest.approx(found.reward)


def test_another_stake_scales_what_tiers_say_and_not_what_the_rules_paid() -> None:
    """The same words where a step's stake is 0.01: 0.5 * 0.1 + 0.01 * 0.34."""
    small = {**UNIT, "outcome": {"success": 0.4}}
    rules = ruleset(CART, GOAL, **small, escalation=BLEND)
    found = judged(rules, played(rules, [went("/cart")], SILENT), 0.8, 0.5)
    assert [reward.reward for reward in found] == [pytest.approx(0.0534), pytest.approx(0.0034)]


def test_more_work_is_worth_more_under_the_same_words() -> None:
    """The order of four steps that model and judge like equally is that of what the rules paid."""
    rules = ruleset(CART, MORE, FINE, GOAL, **UNIT, escalation=BLEND)
    values = [
        judged(rules, played(rules, [went(path)], SILENT), 0.8, 0.5)[0].reward
        for path in ("/fine", "/elsewhere", "/cart", "/more")
    ]
    assert values == sorted(set(values), key=values.index)
    assert values == sorted(values, key=lambda value: value or 0.0)


def test_the_goal_of_a_blend_is_blended_once() -> None:
    """What the rules paid for it in this step is not a term of the step as well; and it counts by
    the rules' weight wherever nobody is asked, as in a closing step."""
    task = {"weights": {"nav": 0.2, "goal": 0.8}, "limits": {"steps": 2}}
    rules = ruleset(CART, GOAL, **task, escalation={**BLEND, "escalate": ["goal"]})
    won = judged(rules, played(rules, [went("/cart"), went("/done")]), 1.0, 0.0)[0]
    # The step: 0.5 * 0.2, its goal reached, so that no stake is left; the goal: 0.8 * (0.5 + 0.3).
    assert (won.reward, won.success) == (pytest.approx(0.1 + 0.64), True)
    lost = judged(rules, played(rules, [went("/cart")]), 0.8, 0.5)[0]
    stake = 0.2 * 0.5 * 0.8 / 2
    assert lost.reward == pytest.approx(0.5 * 0.2 + stake * 0.34 + (0.8 - stake) * 0.34)
    assert lost.success is False
    held = {**GOAL, "must_hold_at_end": True}
    at_end = ruleset(CART, held, **task, escalation=BLEND)
    closing = [
        *episode([went("/done")], close=False),
        sealed(0),
        ("episode.closed", {"reason": "done"}),
    ]
    outcome = Engine(at_end, "ep_1").feed(log(*closing))
    assert [reward.reward for reward in judged(at_end, outcome, 0.0, 0.0)] == [
        0.0,
        pytest.approx(0.4),
    ]


@pytest.mark.parametrize(
    ("escalation", "path"),
    [
        pytest.param({"share": 1}, "escalation.share", id="as much as the goal"),
        pytest.param({"share": 0}, "escalation.share", id="nothing"),
        pytest.param({"worth": 1.0}, "escalation.worth", id="a number without a bound"),
        pytest.param(
            {**BLEND, "escalate": "never"}, "escalation.escalate", id="a blend of no step"
        ),
        pytest.param(
            {**BLEND, "escalate": "low_confidence"},
            "escalation.escalate",
            id="a blend of some steps",
        ),
        pytest.param(
            {**BLEND, "tiers": ["model"]},
            "escalation.weights.judge",
            id="a weight of who is not asked",
        ),
        pytest.param(
            {**BLEND, "weights": {"judge": 1}},
            "escalation.weights.rule",
            id="rules that weigh nothing",
        ),
        pytest.param(
            {**BLEND, "weights": {"rule": 1}},
            "escalation.weights.rule",
            id="tiers that weigh nothing",
        ),
        pytest.param(
            {**BLEND, "escalate": "goal", "weights": {"rule": 0.4, "judge": 0.6}},
            "escalation.weights.rule",
            id="a judge whose yes to the goal is worth more than the rules'",
        ),
    ],
)
def test_tasks_in_which_silence_could_win_are_refused(
    escalation: dict[str, Any], path: str
) -> None:
    """Each by its place."""
    with pytest.raises(TaskError) as caught:
        ruleset(CART, GOAL, escalation=escalation)
    assert path in str(caught.value)


@pytest.mark.parametrize(
    ("outcome", "route", "wanted"),
    [
        pytest.param(
            {"failure": 0.5}, BLEND, "outcome.failure: got 0.5", id="a blend that pays for failing"
        ),
        pytest.param(
            {"success": -1, "failure": -2}, {}, "outcome.success: got -1", id="a success that costs"
        ),
    ],
)
def test_ends_by_which_silence_could_win_are_refused(
    outcome: dict[str, float], route: dict[str, Any], wanted: str
) -> None:
    """Of two ends that are both fined, one that nobody could score would be the better."""
    with pytest.raises(TaskError, match=wanted):
        ruleset(CART, GOAL, outcome=outcome, escalation=route)


def test_the_share_is_part_of_the_digest() -> None:
    """Another share is another ruleset; the default written out is not."""
    digests = [
        ruleset(CART, GOAL, escalation=said).digest for said in ({}, {"share": 0.2}, {"share": 0.3})
    ]
    assert digests[0] == digests[1] != digests[2]
