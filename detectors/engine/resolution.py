"""What is asked beyond the rules, and the final reward of what was answered: both pure.

The final value of a step is a fold of the rules' reward and of the verdicts that were recorded, in
their order. A tier that abstained, or was never reached, weighs nothing; where nobody is sure the
reward is null. What a tier may add is known when the step is sealed (detectors/engine/stakes.py),
so it matters not which answer comes first. See docs/cascade.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from detectors.engine.stakes import goal_stake, goals, outcome_worth, rule_weight, step_stake
from detectors.engine.state import State
from detectors.model.codec import sha256
from detectors.model.rewards import blend, total
from detectors.model.types import Ask, Milestone, Reward, Verdict
from detectors.sdk.tier_rules import is_judged
from detectors.task.language import Escalation, MilestoneSpec
from detectors.task.ruleset import Ruleset

SOFT = 0.5
"""The confidence of a rule's word in a direction in which it is not decisive."""
BLEND = "blend"
CAUSE = "(cause)"
"""The item of a question why an episode failed; what is said of it changes no reward."""
_TIERS = ("rule", "model", "judge", "person")


@dataclass(frozen=True, slots=True)
class Word:
    """A recorded verdict about one item of a step, with the events that it leans on."""

    item: str
    verdict: Verdict
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Decision:
    """What an item was found to be: a score in [0, 1] or None, by whom, and why not. ``adds``: what
    that adds to the rules' pay, where it is not the score's part of the stake; ``note``: how
    weights were renormalised."""

    score: float | None
    by: str
    why: str
    evidence: tuple[int, ...] = ()
    adds: float | None = None
    note: str = ""


def policy_of(rules: Ruleset) -> Escalation:
    """The task's escalation; the defaults where it has none."""
    return rules.task.escalation or Escalation()


def asks(rules: Ruleset, state: State, reward: Reward, *, acted: bool = True) -> tuple[Ask, ...]:
    """Return what is asked about ``reward``, which is about to be sealed in ``state``; nothing
    where it is not known.

    ``acted``: the step is the agent's, and not the close after the last one, which has no deed to
    look at.
    """
    policy = rules.task.escalation
    if policy is None or reward.reward is None or reward.reason is not None:
        return ()  # not known, or in part
    judged = [
        Ask(reward.step, m.id, (m.when.rule,))
        for n, m in enumerate(rules.task.milestones)
        if _is_due(rules, state, n)
    ]
    asked = _escalated(rules, state, reward, policy, acted=acted)
    audited = "goal" if reward.done and rules.has_goal else "step"
    if not asked and (acted or audited == "goal") and _is_audited(policy, reward):
        asked = [Ask(reward.step, audited, policy.tiers, audit=True)]
    if _asks_cause(rules, policy, reward):
        asked.append(Ask(reward.step, CAUSE, ("judge",), audit=True))
    return (*judged, *asked)


def _escalated(
    rules: Ruleset, state: State, reward: Reward, policy: Escalation, *, acted: bool
) -> list[Ask]:
    """What is asked about step and goal because the rules leave it open, with what it is worth."""
    tiers = _tiers_of(policy)
    asked = []
    offered = state.offered
    if acted:
        stake = step_stake(rules, state) if _takes_stake(rules, policy, reward) else 0.0
        if _escalates_step(rules, policy, reward, stake):
            asked.append(Ask(reward.step, "step", tiers, stake=stake))
            offered = total((offered, stake))
    if _escalates_goal(rules, policy, reward):
        stake = goal_stake(rules, state, offered)
        asked.append(Ask(reward.step, "goal", tiers, stake=stake))
    return asked


def waits_for_goal(rules: Ruleset) -> bool:
    """Whether the judge is asked about steps only once the goal is decided."""
    return policy_of(rules).goal_first


def needs_goal(rules: Ruleset, ask: Ask, tier: str) -> bool:
    """Whether a tier is asked about an item only once the goal is decided."""
    return waits_for_goal(rules) and tier == "judge" and ask.item == "step" and not ask.audit


def offered_by(asked: Iterable[Ask]) -> float:
    """What tiers can add at most to the steps that they are asked about."""
    return total(ask.stake for ask in asked if ask.item == "step")


def waits(asked: Iterable[Ask]) -> bool:
    """Whether the step's value waits for an answer."""
    return any(not ask.audit for ask in asked)


def word_of_rules(rules: Ruleset, reward: Reward, item: str) -> Verdict:
    """Return the rules' own verdict on ``step`` or ``goal``, with the confidence that the task
    gives it.

    Of a step the score is its reward; of the goal 1 or 0. Confidence 0: they are silent.
    """
    if reward.reward is None:
        return Verdict("rule", None, 0.0, reward.reason or "", rules.digest)
    if item == "goal":
        return _verdict_on_goal(rules, reward)
    reached = [rules.task.milestones[rules.index[m.id]] for m in _reached_milestones(rules, reward)]
    if reached:
        confidence = 1.0 if _are_decisive(rules, reached, met=True) else SOFT
        return Verdict("rule", reward.reward, confidence, reward.verdicts[0].why, rules.digest)
    ruled = [
        m
        for m in rules.task.milestones
        if m.component not in rules.task.objectives and not _tier(rules, m.id)
    ]
    if ruled and _are_decisive(rules, ruled, met=False):
        why = "nothing happened that the rules look for"
        return Verdict("rule", reward.reward, 1.0, why, rules.digest)
    return Verdict("rule", reward.reward, 0.0, "the rules are silent", rules.digest)


def _verdict_on_goal(rules: Ruleset, reward: Reward) -> Verdict:
    met = reward.success is True
    at_goal = [m for m in rules.task.milestones if m.when.rule == "goal"]
    confidence = 1.0 if _are_decisive(rules, at_goal, met=met) else SOFT
    why = "the goal's rules are met" if met else "the goal's rules are not met"
    return Verdict("rule", float(met), confidence, why, rules.digest)


def _are_decisive(rules: Ruleset, milestones: Iterable[MilestoneSpec], *, met: bool) -> bool:
    """Whether all of the milestones prove what is so by being met, or not."""
    policy = policy_of(rules)
    proving = ("both", "positive" if met else "negative")
    return all((m.decisive or policy.decisive) in proving for m in milestones)


def escalating(rules: Ruleset, reward: Reward, asked: Sequence[Ask]) -> Reward:
    """Return what is reported while the step waits for answers: nothing is known, so nothing is
    paid and the step is masked."""
    items = ", ".join(f"{ask.item} ({' then '.join(ask.tiers)})" for ask in asked if not ask.audit)
    goal_asked = any(ask.item == "goal" and not ask.audit for ask in asked)
    return _without_value(rules, reward, f"asked beyond the rules: {items}")._replace(
        status="escalating",
        verdicts=_rule_words(rules, reward, asked),
        success=None if goal_asked else reward.success,
    )


def decide(rules: Ruleset, reward: Reward, asked: Sequence[Ask], words: Sequence[Word]) -> Reward:
    """Return the final reward of a step whose asks are answered: ``reward`` is the rules',
    ``words`` came in this order."""
    if not waits(asked):
        return unasked_reward(rules, reward)
    goal_asked = any(ask.item == "goal" for ask in asked)
    decisions = {
        ask.item: _decide_item(rules, reward, ask, words, goal_asked=goal_asked)
        for ask in asked
        if not ask.audit
    }
    recorded = [word.verdict for word in words if word.item in decisions]
    reward = reward._replace(verdicts=(*_rule_words(rules, reward, asked), *recorded))
    success = _success(reward, decisions.get("goal"))
    unsure = [f"{item}: {d.why}" for item, d in decisions.items() if d.score is None]
    if unsure or reward.reward is None:
        return _without_value(rules, reward, "; ".join(unsure))._replace(
            status="unscored", success=success
        )
    additions = _additions(rules, reward, asked, decisions)
    notes = "; ".join(f"{item}: {d.note}" for item, d in decisions.items() if d.note)
    return _with_additions(rules, reward, additions)._replace(
        status="sealed",
        reason=notes or reward.reason,
        decided_by=max((d.by for d in decisions.values()), key=_rank),
        success=success,
    )


def _success(reward: Reward, on_goal: _Decision | None) -> bool | None:
    """Whether the episode succeeds: as the rules say, where nobody was asked about the goal."""
    if on_goal is None:
        return reward.success
    return None if on_goal.score is None else on_goal.score >= 0.5


def _additions(
    rules: Ruleset, reward: Reward, asked: Sequence[Ask], decisions: Mapping[str, _Decision]
) -> list[Milestone]:
    """What the decisions add to the rules' pay."""
    stakes = {ask.item: ask.stake for ask in asked}
    additions: list[Milestone | None] = []
    if "step" not in decisions:
        additions.append(_weighed(rules, reward, goal_asked="goal" in decisions))
    for item, decision in decisions.items():
        additions.append(_paid(rules, reward, item, decision, stakes))
    return [milestone for milestone in additions if milestone is not None]


def _without_value(rules: Ruleset, reward: Reward, reason: str) -> Reward:
    """The reward as nobody knows it: nothing is paid, and the step is masked. Its objectives are
    the rules' alone, whatever tiers say."""
    return reward._replace(
        reward=None,
        mask=True,
        reason=reason,
        components=dict.fromkeys(rules.components),
        decided_by=None,
    )


def unasked_reward(rules: Ruleset, reward: Reward) -> Reward:
    """The final reward of a step that nobody is asked about: the rules' own; in a blend, by the
    rules' weight.

    That is a closing step, in which the agent did nothing that a tier could look at.
    """
    weighed = _weighed(rules, reward, goal_asked=False)
    return reward if weighed is None else _with_additions(rules, reward, [weighed])


def _with_additions(rules: Ruleset, reward: Reward, additions: Iterable[Milestone]) -> Reward:
    """The reward with further milestones, and what that makes it worth."""
    milestones = (*reward.milestones, *additions)
    others = {m.component for m in milestones} - set(rules.task.objectives)
    names = sorted({*rules.components, *others})
    return reward._replace(
        reward=total(m.worth for m in milestones),
        components={
            name: total(m.worth for m in milestones if m.component == name) for name in names
        },
        milestones=milestones,
    )


def next_tier(rules: Ruleset, reward: Reward, ask: Ask, words: Sequence[Word]) -> str | None:
    """Which of the ask's tiers is asked next; None: no more. In a cascade a confident word is the
    last one.

    An audit asks all of them.
    """
    policy = policy_of(rules)
    about = [word.verdict for word in words if word.item == ask.item]
    if any(v.stage == "person" and v.score is not None for v in about):
        return None
    if policy.route == "cascade" and not ask.audit and any(_confident(policy, v) for v in about):
        return None
    answered = {verdict.stage for verdict in about}
    return next((tier for tier in ask.tiers if tier not in answered), None)


def _tier(rules: Ruleset, id: str) -> str | None:
    """The tier that decides a milestone, or None where rules do."""
    found = rules.nodes[rules.tops[rules.index[id]]].rule
    return found.name if is_judged(found) else None


def _is_due(rules: Ruleset, state: State, n: int) -> bool:
    """Whether milestone ``n`` is decided by a tier, and asked about now."""
    spec, node = rules.task.milestones[n], rules.nodes[rules.tops[n]]
    if not is_judged(node.rule):
        return False
    met = []
    for name in spec.after:
        award = state.awards.get(rules.index[name])
        met.append(0 if award is None else award.met)
    if node.args.ask == "after":
        return all(met) and max(met) > state.sealed_at
    return state.closed and all(met)


def _tiers_of(policy: Escalation) -> tuple[str, ...]:
    """Who is asked: in a blend those that weigh something."""
    if policy.route == "cascade":
        return policy.tiers
    return tuple(tier for tier in policy.tiers if policy.weights[tier] > 0)


def _takes_stake(rules: Ruleset, policy: Escalation, reward: Reward) -> bool:
    """Whether a tier may add to the step: to each of a blend, in a cascade to those of which the
    rules say nothing."""
    return policy.route == "blend" or not _reached_milestones(rules, reward)


def _escalates_goal(rules: Ruleset, policy: Escalation, reward: Reward) -> bool:
    """Whether the policy asks about the goal."""
    if not reward.done or "goal" not in policy.escalate:
        return False
    return policy.route == "blend" or word_of_rules(rules, reward, "goal").confidence < 1.0


def _asks_cause(rules: Ruleset, policy: Escalation, reward: Reward) -> bool:
    """Whether the policy asks why the episode failed, which has its end here."""
    is_failure = reward.done and rules.has_goal and reward.success is not True
    return is_failure and "cause" in policy.escalate


def _escalates_step(rules: Ruleset, policy: Escalation, reward: Reward, stake: float) -> bool:
    """Whether the policy asks about the step; ``stake``: what a tier may add to it."""
    if policy.route == "blend":
        return bool(stake or reward.reward)
    if not stake and not _earned(rules, reward):
        return False  # whatever the answer, it is worth the same
    confidence = word_of_rules(rules, reward, "step").confidence
    asks_unsure = "low_confidence" in policy.escalate
    if confidence == 0.0:
        return asks_unsure or "unscored" in policy.escalate
    return asks_unsure and confidence < policy.confident


def _is_audited(policy: Escalation, reward: Reward) -> bool:
    """Whether the lot fell on this step of a cascade: the same in every replay."""
    if policy.route != "cascade" or not policy.audit:
        return False
    drawn = int(sha256(f"{reward.digest}:{reward.episode}:{reward.step}".encode())[:13], 16)
    return drawn < policy.audit * 16**13


def _rule_words(rules: Ruleset, reward: Reward, asked: Sequence[Ask]) -> tuple[Verdict, ...]:
    """On the step, always first, and on the goal where that is asked."""
    items = {ask.item for ask in asked if not ask.audit}
    step = word_of_rules(rules, reward, "step") if "step" in items else reward.verdicts[0]
    return (step, word_of_rules(rules, reward, "goal")) if "goal" in items else (step,)


def _confident(policy: Escalation, verdict: Verdict) -> bool:
    return verdict.score is not None and verdict.confidence >= policy.confident


def _decide_item(
    rules: Ruleset, reward: Reward, ask: Ask, words: Sequence[Word], *, goal_asked: bool
) -> _Decision:
    """What an item is, by the route that the task names. A person's word is above all others."""
    policy = policy_of(rules)
    about = [word for word in words if word.item == ask.item]
    by_people = [w for w in about if w.verdict.stage == "person" and w.verdict.score is not None]
    if by_people:
        return _decision_of(by_people[-1])
    if policy.route == "blend" and ask.item in ("step", "goal"):
        return _blended(rules, reward, ask, about, goal_asked=goal_asked)
    for word in about:
        if _confident(policy, word.verdict):
            return _decision_of(word)
    return _Decision(None, "", _why_open(about, policy))


def _decision_of(word: Word) -> _Decision:
    return _Decision(word.verdict.score, word.verdict.stage, word.verdict.why, word.evidence)


def _blended(
    rules: Ruleset, reward: Reward, ask: Ask, about: Sequence[Word], *, goal_asked: bool
) -> _Decision:
    """r = α·r_rule + β·R + γ·r_judge. Of a step r_rule is what the rules pay in it, and R and
    r_judge are parts of its stake; of the goal each is a part of the goal's stake. Of who abstained
    the weight goes to the others."""
    policy = policy_of(rules)
    rule = word_of_rules(rules, reward, ask.item)
    words = [word for word in about if word.verdict.score is not None]
    answered = [word.verdict for word in words]
    shown_by = {seq for word in words for seq in word.evidence}
    pay = _pay_without_success(rules, reward, goal_asked=goal_asked)
    is_goal = ask.item == "goal"
    if not answered and not _is_known(rule, pay, is_goal=is_goal):
        return _Decision(None, "", _why_open(about, policy))
    decision = _Decision(
        score=None,
        by=BLEND if answered else "rule",
        why="",
        evidence=tuple(sorted(shown_by)),
        note=_renormalised(policy, ask, answered),
    )
    if is_goal:
        return replace(decision, score=blend([rule, *answered], policy.weights))
    score = blend(answered, policy.weights) or 0.0
    value = _blended_pay(rule._replace(score=pay), answered, ask.stake, policy)
    return replace(decision, score=score, adds=total((value, -pay)))


def _blended_pay(
    rule: Verdict, answered: Sequence[Verdict], stake: float, policy: Escalation
) -> float:
    """What a step of a blend pays; the score of ``rule`` is what the rules pay in it."""
    scaled = [v._replace(score=(v.score or 0.0) * stake) for v in answered]
    value = blend([rule, *scaled], policy.weights)
    assert value is not None
    return value


def _is_known(rule: Verdict, pay: float, *, is_goal: bool) -> bool:
    """Whether the rules alone decide an item of a blend, of which they pay ``pay``."""
    if is_goal:
        return rule.confidence == 1.0
    return rule.confidence > 0.0 or pay != 0.0


def _renormalised(policy: Escalation, ask: Ask, answered: Sequence[Verdict]) -> str:
    """What became of the weights where a tier abstained; empty where none did."""
    there = {v.stage for v in answered}
    silent = [tier for tier in ask.tiers if tier not in there]
    if not silent:
        return ""
    speaking = ["rule", *(tier for tier in ask.tiers if tier in there)]
    whole = sum(policy.weights[name] for name in speaking)
    weights = ", ".join(f"{name} {policy.weights[name] / whole:.4g}" for name in speaking)
    return f"renormalised without {' and '.join(silent)}: {weights}"


def _why_open(about: Sequence[Word], policy: Escalation) -> str:
    """Why nothing was decided: what each tier that was asked answered."""
    answers = []
    for word in about:
        verdict = word.verdict
        answer = verdict.why
        if verdict.score is not None:
            answer = f"{verdict.confidence:g} sure, wanted {policy.confident:g}"
        answers.append(f"{verdict.stage}: {answer}")
    return "; ".join(answers) or "nobody was asked"


def _paid(
    rules: Ruleset, reward: Reward, item: str, decision: _Decision, stakes: Mapping[str, float]
) -> Milestone | None:
    """What the score adds to the rules' pay, as a milestone: no unit of reward is without one."""
    assert decision.score is not None
    score, by = round(decision.score, 12), decision.by
    seqs = decision.evidence or (reward.through,)
    if item == "step":
        worth = _worth_of_step(rules, reward, decision, score, stakes)
        return _milestone(f"({by})", by, by, reward.step, score, worth, seqs)
    if item == "goal":
        worth = _worth_of_goal(rules, reward, score, stakes[item])
        return _milestone("(goal)", by, "goal", reward.step, score, worth, seqs)
    n = rules.index[item]
    worth = round(score * rules.share[n], 12)
    component = rules.task.milestones[n].component
    return _milestone(item, by, component, reward.step, score, worth, seqs)


def _worth_of_step(
    rules: Ruleset,
    reward: Reward,
    decision: _Decision,
    score: float,
    stakes: Mapping[str, float],
) -> float:
    """What a decision about the step adds: its part of what the rules paid, or else of the
    stake."""
    if decision.adds is not None:
        return decision.adds
    earned = _earned(rules, reward, but_goals="goal" in stakes)
    return total((score * (earned or stakes["step"]), -earned))


def _worth_of_goal(rules: Ruleset, reward: Reward, score: float, stake: float) -> float:
    """What a decision about the goal adds. A success of the rules was paid in full. Of what is
    none, some of the goal's milestones may have been."""
    worth = score * stake
    if reward.success is True:
        worth = (score - 1.0) * _goal_paid(rules, reward)
    return round(worth, 12) + 0.0


def _goal_paid(rules: Ruleset, reward: Reward) -> float:
    """Of a success of the rules: what they paid for it, in a blend in this step, and how much more
    the outcome is worth than that of a failure."""
    if rule_weight(policy_of(rules)) == 1.0:
        return total((*(rules.share[n] for n in goals(rules)), outcome_worth(rules)))
    ids = _goal_ids(rules)
    return total((*(m.worth for m in reward.milestones if m.id in ids), outcome_worth(rules)))


def _goal_ids(rules: Ruleset) -> set[str]:
    return {rules.task.milestones[n].id for n in goals(rules)}


def _pay_without_success(rules: Ruleset, reward: Reward, *, goal_asked: bool) -> float:
    """What the rules pay in a step of a blend, without the success that is blended by itself."""
    success = _goal_paid(rules, reward) if goal_asked and reward.success is True else 0.0
    return total((reward.reward or 0.0, -success))


def _weighed(rules: Ruleset, reward: Reward, *, goal_asked: bool) -> Milestone | None:
    """The rules' weight in a step of a blend that has no other term, as what it takes from the
    step."""
    less = rule_weight(policy_of(rules)) - 1.0
    if reward.reward is None:
        return None
    worth = total((less * _pay_without_success(rules, reward, goal_asked=goal_asked),))
    return _milestone(f"({BLEND})", BLEND, BLEND, reward.step, 0.0, worth, (reward.through,))


def _milestone(
    id: str, by: str, component: str, step: int, value: float, worth: float, seqs: tuple[int, ...]
) -> Milestone | None:
    return Milestone(id, by, 1, component, step, value, worth, seqs) if worth else None


def _reached_milestones(rules: Ruleset, reward: Reward) -> list[Milestone]:
    """What the rules say of the step: the milestones that were reached in it, penalties among
    them, but none of an objective, which says nothing of the reward."""
    return [
        m
        for m in reward.milestones
        if m.id in rules.index and m.component not in rules.task.objectives and (m.worth or m.value)
    ]


def _earned(rules: Ruleset, reward: Reward, *, but_goals: bool = False) -> float:
    """What the step's milestones pay, without penalties and what the end is worth; ``but_goals``:
    nor the goal."""
    counted = set(rules.index)
    if but_goals:
        counted -= _goal_ids(rules)
    return total(m.worth for m in reward.milestones if m.worth > 0 and m.id in counted)


def _rank(by: str) -> int:
    return _TIERS.index(by) if by in _TIERS else len(_TIERS)
