"""What is asked beyond the rules, and the final reward of what was answered: both pure.

The final value of a step is a fold of the rules' reward and of the verdicts that were recorded, in
their order. A tier that abstained, or was never reached, weighs nothing; where nobody is sure the
reward is null. What a tier may add is known when the step is sealed (detectors/engine/stakes.py),
so it matters not which answer comes first. See docs/cascade.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from detectors.engine.stakes import goal_stake, goals, outcome_worth, rule_weight, step_stake
from detectors.engine.state import State
from detectors.model.codec import sha256
from detectors.model.rewards import blend, total
from detectors.model.types import Ask, Decisive, Escalation, Milestone, Reward, Verdict
from detectors.sdk.tier_rules import is_judged
from detectors.task.ruleset import Ruleset

SOFT = 0.5
"""The confidence of a rule's word in a direction in which it is not decisive."""
BLEND = "blend"
_TIERS = ("rule", "model", "judge", "person")


@dataclass(frozen=True, slots=True)
class Word:
    """A recorded verdict about one item of a step, with the events that it leans on."""

    item: str
    verdict: Verdict
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """What an item was found to be: a score in [0, 1] or None, by whom, and why not. ``adds``: what
    that adds to the rules' pay, where it is not the score's part of the stake; ``note``: how
    weights were renormalised."""

    score: float | None
    by: str
    why: str
    evidence: tuple[int, ...] = ()
    adds: float | None = None
    note: str = ""


def asks(rules: Ruleset, state: State, reward: Reward, *, acted: bool = True) -> tuple[Ask, ...]:
    """What is asked about ``reward``, which is about to be sealed in ``state``; nothing where it is
    not known.

    ``acted``: the step is the agent's, and not the close after the last one, which has no deed to
    look at.
    """
    policy = rules.task.escalation
    if policy is None or reward.reward is None or reward.reason is not None:
        return ()  # not known, or in part
    found = [
        Ask(reward.step, m.id, (m.when.rule,))
        for n, m in enumerate(rules.task.milestones)
        if _due(rules, state, n)
    ]
    items = ("step", "goal") if acted else ("goal",)
    stake = step_stake(rules, state) if acted and _takes_stake(rules, policy, reward) else 0.0
    wanted = [item for item in items if _escalates(rules, policy, reward, item, stake)]
    offered = total((state.offered, stake if "step" in wanted else 0.0))
    stakes = {"step": stake, "goal": goal_stake(rules, state, offered)}
    tiers = _tiers_of(policy)
    found += [Ask(reward.step, item, tiers, stake=stakes[item]) for item in wanted]
    item = "goal" if reward.done and rules.has_goal else "step"
    if (
        policy.route == "cascade"
        and not wanted
        and item in items
        and policy.audit
        and _drawn(policy.audit, reward)
    ):
        found.append(Ask(reward.step, item, policy.tiers, audit=True))
    return tuple(found)


def offered_by(asked: Iterable[Ask]) -> float:
    """What tiers can add at most to the steps that they are asked about."""
    return total(ask.stake for ask in asked if ask.item == "step")


def waits(asked: Iterable[Ask]) -> bool:
    """Whether the step's value waits for an answer."""
    return any(not ask.audit for ask in asked)


def word_of_rules(rules: Ruleset, reward: Reward, item: str) -> Verdict:
    """The rules' own word on ``step`` or ``goal``, with the confidence that the task gives it.

    Of a step the score is its reward; of the goal 1 or 0. Confidence 0: they are silent.
    """
    policy = rules.task.escalation or Escalation()
    if reward.reward is None:
        return Verdict("rule", None, 0.0, reward.reason or "", rules.digest)
    if item == "goal":
        met = reward.success is True
        sure = all(
            _proof(m.decisive or policy.decisive, met)
            for m in rules.task.milestones
            if m.when.rule == "goal"
        )
        why = "the goal's rules are met" if met else "the goal's rules are not met"
        return Verdict("rule", float(met), 1.0 if sure else SOFT, why, rules.digest)
    said = _reached_milestones(rules, reward)
    specs = [rules.task.milestones[rules.index[m.id]] for m in said]
    if said:
        sure = all(_proof(spec.decisive or policy.decisive, met=True) for spec in specs)
        return Verdict(
            "rule", reward.reward, 1.0 if sure else SOFT, reward.verdicts[0].why, rules.digest
        )
    ruled = [m for m in rules.task.milestones if not _tier(rules, m.id)]
    sure = bool(ruled) and all(_proof(m.decisive or policy.decisive, met=False) for m in ruled)
    why = "nothing happened that the rules look for" if sure else "the rules are silent"
    return Verdict("rule", reward.reward, 1.0 if sure else 0.0, why, rules.digest)


def escalating(rules: Ruleset, reward: Reward, asked: Sequence[Ask]) -> Reward:
    """What is told while the step waits for answers: nothing is known, so nothing is paid and the
    step is masked."""
    items = ", ".join(f"{ask.item} ({' then '.join(ask.tiers)})" for ask in asked if not ask.audit)
    goal = any(ask.item == "goal" and not ask.audit for ask in asked)
    return reward._replace(
        status="escalating",
        reward=None,
        mask=True,
        reason=f"asked beyond the rules: {items}",
        components=dict.fromkeys(rules.components),
        verdicts=_rule_words(rules, reward, asked),
        decided_by=None,
        success=None if goal else reward.success,
    )


def decide(rules: Ruleset, reward: Reward, asked: Sequence[Ask], words: Sequence[Word]) -> Reward:
    """The final reward of a step whose asks are answered: ``reward`` is the rules', ``words`` came
    in this order."""
    if not waits(asked):
        return unasked(rules, reward)
    goal_asked = any(ask.item == "goal" for ask in asked)
    found = {
        ask.item: _find(rules, reward, ask, words, goal_asked=goal_asked)
        for ask in asked
        if not ask.audit
    }
    verdicts = (*_rule_words(rules, reward, asked), *(w.verdict for w in words if w.item in found))
    unsure = [f"{item}: {f.why}" for item, f in found.items() if f.score is None]
    success = reward.success
    if "goal" in found:
        score = found["goal"].score
        success = None if score is None else score >= 0.5
    if unsure or reward.reward is None:
        return reward._replace(
            status="unscored",
            reward=None,
            mask=True,
            reason="; ".join(unsure),
            components=dict.fromkeys(rules.components),
            verdicts=verdicts,
            decided_by=None,
            success=success,
        )
    stakes = {ask.item: ask.stake for ask in asked}
    paid = [
        m for item, f in found.items() if (m := _paid(rules, reward, item, f, stakes)) is not None
    ]
    weighed = None if "step" in found else _weighed(rules, reward, goal_asked="goal" in found)
    milestones = (*reward.milestones, *([weighed] if weighed else []), *paid)
    return reward._replace(
        status="sealed",
        reward=total(m.worth for m in milestones),
        reason="; ".join(f"{item}: {f.note}" for item, f in found.items() if f.note)
        or reward.reason,
        components=_components(rules, milestones),
        milestones=milestones,
        verdicts=verdicts,
        decided_by=max((f.by for f in found.values()), key=_rank),
        success=success,
    )


def unasked(rules: Ruleset, reward: Reward) -> Reward:
    """The final reward of a step that nobody is asked about: the rules' own; in a blend, by the
    rules' weight.

    That is a closing step, in which the agent did nothing that a tier could look at.
    """
    weighed = _weighed(rules, reward, goal_asked=False)
    if weighed is None:
        return reward
    milestones = (*reward.milestones, weighed)
    return reward._replace(
        reward=total(m.worth for m in milestones),
        components=_components(rules, milestones),
        milestones=milestones,
    )


def next_tier(rules: Ruleset, reward: Reward, ask: Ask, words: Sequence[Word]) -> str | None:
    """Which of the ask's tiers is asked next; None: no more. In a cascade a confident word is the
    last one.

    An audit asks all of them.
    """
    policy = rules.task.escalation or Escalation()
    of = [w.verdict for w in words if w.item == ask.item]
    if any(v.stage == "person" and v.score is not None for v in of):
        return None
    if policy.route == "cascade" and not ask.audit and any(_confident(policy, v) for v in of):
        return None
    said = {v.stage for v in of}
    return next((tier for tier in ask.tiers if tier not in said), None)


def _proof(decisive: Decisive, met: bool) -> bool:
    return decisive in ("both", "positive" if met else "negative")


def _tier(rules: Ruleset, id: str) -> str | None:
    """The tier that decides a milestone, or None where rules do."""
    found = rules.nodes[rules.tops[rules.index[id]]].rule
    return found.name if is_judged(found) else None


def _due(rules: Ruleset, state: State, n: int) -> bool:
    """Whether milestone ``n`` is decided by a tier, and asked about now."""
    spec, node = rules.task.milestones[n], rules.nodes[rules.tops[n]]
    if not is_judged(node.rule):
        return False
    met = [
        award.met if (award := state.awards.get(rules.index[name])) is not None else 0
        for name in spec.after
    ]
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


def _escalates(rules: Ruleset, policy: Escalation, reward: Reward, item: str, stake: float) -> bool:
    if policy.route == "blend":
        return (
            "goal" in policy.escalate and reward.done
            if item == "goal"
            else bool(stake or reward.reward)
        )
    word = word_of_rules(rules, reward, item)
    if item == "goal":
        return "goal" in policy.escalate and reward.done and word.confidence < 1.0
    if not stake and not _earned(rules, reward):
        return False  # whatever is said, it is worth the same
    if word.confidence == 0.0:
        return "unscored" in policy.escalate or "low_confidence" in policy.escalate
    return "low_confidence" in policy.escalate and word.confidence < policy.confident


def _drawn(share: float, reward: Reward) -> bool:
    """Whether the lot fell on this step: the same in every replay."""
    drawn = int(sha256(f"{reward.digest}:{reward.episode}:{reward.step}".encode())[:13], 16)
    return drawn < share * 16**13


def _rule_words(rules: Ruleset, reward: Reward, asked: Sequence[Ask]) -> tuple[Verdict, ...]:
    """On the step, always first, and on the goal where that is asked."""
    items = {ask.item for ask in asked if not ask.audit}
    step = word_of_rules(rules, reward, "step") if "step" in items else reward.verdicts[0]
    return (step, word_of_rules(rules, reward, "goal")) if "goal" in items else (step,)


def _confident(policy: Escalation, verdict: Verdict) -> bool:
    return verdict.score is not None and verdict.confidence >= policy.confident


def _find(
    rules: Ruleset, reward: Reward, ask: Ask, words: Sequence[Word], *, goal_asked: bool
) -> _Found:
    """What an item is, by the route that the task names. A person's word is above all others."""
    policy = rules.task.escalation or Escalation()
    of = [w for w in words if w.item == ask.item]
    for w in reversed(of):
        if w.verdict.stage == "person" and w.verdict.score is not None:
            return _Found(w.verdict.score, "person", w.verdict.why, w.evidence)
    if policy.route == "blend" and ask.item in ("step", "goal"):
        return _blended(rules, reward, ask, of, goal_asked=goal_asked)
    for w in of:
        if _confident(policy, w.verdict):
            return _Found(w.verdict.score, w.verdict.stage, w.verdict.why, w.evidence)
    return _Found(None, "", _nobody(of, policy))


def _blended(
    rules: Ruleset, reward: Reward, ask: Ask, of: Sequence[Word], *, goal_asked: bool
) -> _Found:
    """r = α·r_rule + β·R + γ·r_judge. Of a step r_rule is what the rules pay in it, and R and
    r_judge are parts of its stake; of the goal each is a part of the goal's stake. Of who abstained
    the weight goes to the others."""
    policy = rules.task.escalation or Escalation()
    rule = word_of_rules(rules, reward, ask.item)
    answered = [w.verdict for w in of if w.verdict.score is not None]
    number = _number(rules, reward, goal_asked=goal_asked)
    known = rule.confidence == 1.0 if ask.item == "goal" else rule.confidence > 0.0 or number != 0.0
    if not answered and not known:
        return _Found(None, "", _nobody(of, policy))
    by, note = BLEND if answered else "rule", _renormalised(policy, ask, answered)
    evidence = tuple(sorted({seq for w in of if w.verdict.score is not None for seq in w.evidence}))
    if ask.item == "goal":
        return _Found(blend([rule, *answered], policy.weights), by, "", evidence, note=note)
    scaled = [v._replace(score=(v.score or 0.0) * ask.stake) for v in answered]
    value = blend([rule._replace(score=number), *scaled], policy.weights)
    assert value is not None
    return _Found(
        blend(answered, policy.weights) or 0.0, by, "", evidence, total((value, -number)), note
    )


def _renormalised(policy: Escalation, ask: Ask, answered: Sequence[Verdict]) -> str:
    """What became of the weights where a tier abstained; empty where none did."""
    there = {v.stage for v in answered}
    silent = [tier for tier in ask.tiers if tier not in there]
    if not silent:
        return ""
    parts = {
        name: policy.weights[name]
        for name in ("rule", *(tier for tier in ask.tiers if tier in there))
    }
    weights = ", ".join(
        f"{name} {weight / sum(parts.values()):.4g}" for name, weight in parts.items()
    )
    return f"renormalised without {' and '.join(silent)}: {weights}"


def _nobody(of: Sequence[Word], policy: Escalation) -> str:
    said = [
        (
            f"{w.verdict.stage}: {w.verdict.why}"
            if w.verdict.score is None
            else f"{w.verdict.stage}: {w.verdict.confidence:g} sure, wanted {policy.confident:g}"
        )
        for w in of
    ]
    return "; ".join(said) or "nobody was asked"


def _paid(
    rules: Ruleset, reward: Reward, item: str, found: _Found, stakes: Mapping[str, float]
) -> Milestone | None:
    """What the score adds to the rules' pay, as a milestone: no unit of reward is without one."""
    assert found.score is not None
    score, seqs = round(found.score, 12), found.evidence or (reward.through,)
    if item == "step":
        worth = found.adds
        if worth is None:
            earned = _earned(rules, reward, but_goals="goal" in stakes)
            worth = total((score * (earned or stakes[item]), -earned))
        return _milestone(f"({found.by})", found.by, found.by, reward.step, score, worth, seqs)
    if item == "goal":
        # A success of the rules was paid in full. Of what is none, some of the goal's milestones
        # may have been.
        worth = (
            (score - 1.0) * _goal_paid(rules, reward)
            if reward.success is True
            else score * stakes[item]
        )
        return _milestone(
            "(goal)", found.by, "goal", reward.step, score, round(worth, 12) + 0.0, seqs
        )
    n = rules.index[item]
    worth = round(score * rules.share[n], 12)
    return _milestone(
        item, found.by, rules.task.milestones[n].component, reward.step, score, worth, seqs
    )


def _goal_paid(rules: Ruleset, reward: Reward) -> float:
    """Of a success of the rules: what they paid for it, in a blend in this step, and how much more
    the outcome is worth than that of a failure."""
    if rule_weight(rules.task.escalation or Escalation()) == 1.0:
        return total((*(rules.share[n] for n in goals(rules)), outcome_worth(rules)))
    ids = {rules.task.milestones[n].id for n in goals(rules)}
    return total((*(m.worth for m in reward.milestones if m.id in ids), outcome_worth(rules)))


def _number(rules: Ruleset, reward: Reward, *, goal_asked: bool) -> float:
    """What the rules pay in a step of a blend, without the success that is blended by itself."""
    success = _goal_paid(rules, reward) if goal_asked and reward.success is True else 0.0
    return total((reward.reward or 0.0, -success))


def _weighed(rules: Ruleset, reward: Reward, *, goal_asked: bool) -> Milestone | None:
    """The rules' weight in a step of a blend that has no other term, as what it takes from the
    step."""
    less = rule_weight(rules.task.escalation or Escalation()) - 1.0
    if reward.reward is None:
        return None
    worth = total((less * _number(rules, reward, goal_asked=goal_asked),))
    return _milestone(f"({BLEND})", BLEND, BLEND, reward.step, 0.0, worth, (reward.through,))


def _milestone(
    id: str, by: str, component: str, step: int, value: float, worth: float, seqs: tuple[int, ...]
) -> Milestone | None:
    return Milestone(id, by, 1, component, step, value, worth, seqs) if worth else None


def _reached_milestones(rules: Ruleset, reward: Reward) -> list[Milestone]:
    """What the rules say of the step: the milestones that were reached in it, penalties among
    them."""
    return [m for m in reward.milestones if m.id in rules.index and (m.worth or m.value)]


def _earned(rules: Ruleset, reward: Reward, *, but_goals: bool = False) -> float:
    """What the step's milestones pay, without penalties and what the end is worth; ``but_goals``:
    nor the goal."""
    others = {rules.task.milestones[n].id for n in goals(rules)} if but_goals else set()
    paid = [m for m in reward.milestones if m.worth > 0 and m.id in rules.index]
    return total(m.worth for m in paid if m.id not in others)


def _components(rules: Ruleset, milestones: Sequence[Milestone]) -> Mapping[str, float | None]:
    names = sorted({*rules.components, *(m.component for m in milestones)})
    return {name: total(m.worth for m in milestones if m.component == name) for name in names}


def _rank(by: str) -> int:
    return _TIERS.index(by) if by in _TIERS else len(_TIERS)
