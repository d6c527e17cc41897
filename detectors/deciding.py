"""What is asked beyond the rules, and the final reward of what was answered: both pure.

The final value of a step is a fold of the rules' reward and of the verdicts that were recorded, in their order. A tier
that abstained, or was never reached, weighs nothing; where nobody is sure the reward is null. See docs/cascade.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from detectors.codec import sha256
from detectors.judged import is_judged
from detectors.rewards import blend, total
from detectors.ruleset import Ruleset
from detectors.state import State
from detectors.types import Ask, Decisive, Escalation, Milestone, Reward, Verdict

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
    """What an item was found to be: a score in [0, 1] or None, by whom, and why not."""

    score: float | None
    by: str
    why: str
    evidence: tuple[int, ...] = ()


def asks(rules: Ruleset, state: State, reward: Reward, *, acted: bool = True) -> tuple[Ask, ...]:
    """What is asked about ``reward``, which is about to be sealed in ``state``; nothing where it is not known.

    ``acted``: the step is the agent's, and not the close after the last one, which has no deed to look at.
    """
    policy = rules.task.escalation
    if policy is None or reward.reward is None:
        return ()
    found = [
        Ask(reward.step, m.id, (m.when.rule,)) for n, m in enumerate(rules.task.milestones) if _due(rules, state, n)
    ]
    items = ("step", "goal") if acted else ("goal",)
    wanted = [item for item in items if _escalates(rules, policy, reward, item)]
    found += [
        Ask(reward.step, item, policy.tiers, unpaid=_unpaid(rules, state) if item == "goal" else 0.0) for item in wanted
    ]
    item = "goal" if reward.done and rules.has_goal else "step"
    if not wanted and item in items and policy.audit and _drawn(policy.audit, reward):
        found.append(Ask(reward.step, item, policy.tiers, audit=True))
    return tuple(found)


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
        sure = all(_proof(m.decisive or policy.decisive, met) for m in rules.task.milestones if m.when.rule == "goal")
        why = "the goal's rules are met" if met else "the goal's rules are not met"
        return Verdict("rule", float(met), 1.0 if sure else SOFT, why, rules.digest)
    said = [m for m in reward.milestones if m.id in rules.index and (m.worth or m.value)]
    specs = [rules.task.milestones[rules.index[m.id]] for m in said]
    if said:
        sure = all(_proof(spec.decisive or policy.decisive, met=True) for spec in specs)
        return Verdict("rule", reward.reward, 1.0 if sure else SOFT, reward.verdicts[0].why, rules.digest)
    ruled = [m for m in rules.task.milestones if not _tier(rules, m.id)]
    sure = bool(ruled) and all(_proof(m.decisive or policy.decisive, met=False) for m in ruled)
    why = "nothing happened that the rules look for" if sure else "the rules are silent"
    return Verdict("rule", reward.reward, 1.0 if sure else 0.0, why, rules.digest)


def escalating(rules: Ruleset, reward: Reward, asked: Sequence[Ask]) -> Reward:
    """What is told while the step waits for answers: nothing is known, so nothing is paid and the step is masked."""
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
    """The final reward of a step whose asks are answered: ``reward`` is the rules', ``words`` came in this order."""
    if not waits(asked):
        return reward
    found = {ask.item: _find(rules, reward, ask, words) for ask in asked if not ask.audit}
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
    unpaid = total(ask.unpaid for ask in asked)
    paid = [m for item, f in found.items() if (m := _paid(rules, reward, item, f, unpaid)) is not None]
    milestones = (*reward.milestones, *paid)
    return reward._replace(
        status="sealed",
        reward=total(m.worth for m in milestones),
        components=_components(rules, milestones),
        milestones=milestones,
        verdicts=verdicts,
        decided_by=max((f.by for f in found.values()), key=_rank),
        success=success,
    )


def next_tier(rules: Ruleset, reward: Reward, ask: Ask, words: Sequence[Word]) -> str | None:
    """Which of the ask's tiers is asked next; None: no more. In a cascade a confident word is the last one.

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
    met = [award.met if (award := state.awards.get(rules.index[name])) is not None else 0 for name in spec.after]
    if node.args.ask == "after":
        return all(met) and max(met) > state.sealed_at
    return state.closed and all(met)


def _escalates(rules: Ruleset, policy: Escalation, reward: Reward, item: str) -> bool:
    word = word_of_rules(rules, reward, item)
    if item == "goal":
        return "goal" in policy.escalate and reward.done and word.confidence < 1.0
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


def _find(rules: Ruleset, reward: Reward, ask: Ask, words: Sequence[Word]) -> _Found:
    """What an item is, by the route that the task names. A person's word is above all others."""
    policy = rules.task.escalation or Escalation()
    of = [w for w in words if w.item == ask.item]
    for w in reversed(of):
        if w.verdict.stage == "person" and w.verdict.score is not None:
            return _Found(w.verdict.score, "person", w.verdict.why, w.evidence)
    if policy.route == "blend" and ask.item in ("step", "goal"):
        return _blended(rules, reward, policy, ask, of)
    for w in of:
        if _confident(policy, w.verdict):
            return _Found(w.verdict.score, w.verdict.stage, w.verdict.why, w.evidence)
    return _Found(None, "", _nobody(of, policy))


def _blended(rules: Ruleset, reward: Reward, policy: Escalation, ask: Ask, of: Sequence[Word]) -> _Found:
    """Σ wᵢ·scoreᵢ / Σ wᵢ over those that answered; the rules answer unless they are silent."""
    rule = word_of_rules(rules, reward, ask.item)
    answered = [w.verdict for w in of if w.verdict.score is not None]
    if not any(policy.weights.get(v.stage, 0.0) for v in answered):
        return _Found(None, "", _nobody(of, policy))
    if rule.confidence > 0.0:
        # At stake in a step is what the rules would pay (`_paid`), so that to pay it is a score of 1.
        answered.insert(0, rule if ask.item == "goal" else rule._replace(score=float(_earned(rules, reward) > 0)))
    evidence = tuple(sorted({seq for w in of if w.verdict.score is not None for seq in w.evidence}))
    return _Found(blend(answered, policy.weights), BLEND, "", evidence)


def _nobody(of: Sequence[Word], policy: Escalation) -> str:
    said = [
        f"{w.verdict.stage}: {w.verdict.why}"
        if w.verdict.score is None
        else f"{w.verdict.stage}: {w.verdict.confidence:g} sure, wanted {policy.confident:g}"
        for w in of
    ]
    return "; ".join(said) or "nobody was asked"


def _paid(rules: Ruleset, reward: Reward, item: str, found: _Found, unpaid: float) -> Milestone | None:
    """What the score adds to the rules' pay, as a milestone: no unit of reward is without one. ``unpaid``: what a
    success is worth that the goal milestones have not paid."""
    assert found.score is not None
    score, seqs = round(found.score, 12), found.evidence or (reward.through,)
    if item == "step":
        earned = _earned(rules, reward)
        policy = rules.task.escalation or Escalation()
        worth = total((score * (earned or policy.worth), -earned))
        return _milestone(f"({found.by})", found.by, found.by, reward.step, score, worth, seqs)
    if item == "goal":
        # A success of the rules was paid in full. Of what is none, some of the goal's milestones may have been.
        lost = total((*(rules.share[n] for n in _goals(rules)), _outcome_worth(rules)))
        won = total((unpaid, _outcome_worth(rules)))
        worth = (score - 1.0) * lost if reward.success is True else score * won
        return _milestone("(goal)", found.by, "goal", reward.step, score, round(worth, 12) + 0.0, seqs)
    n = rules.index[item]
    worth = round(score * rules.share[n], 12)
    return _milestone(item, found.by, rules.task.milestones[n].component, reward.step, score, worth, seqs)


def _milestone(
    id: str, by: str, component: str, step: int, value: float, worth: float, seqs: tuple[int, ...]
) -> Milestone | None:
    return Milestone(id, by, 1, component, step, value, worth, seqs) if worth else None


def _earned(rules: Ruleset, reward: Reward) -> float:
    """What the step's milestones pay, without penalties and what the end is worth."""
    return total(m.worth for m in reward.milestones if m.worth > 0 and m.id in rules.index)


def _goals(rules: Ruleset) -> list[int]:
    return [n for n, m in enumerate(rules.task.milestones) if m.when.rule == "goal" and m.penalty is None]


def _outcome_worth(rules: Ruleset) -> float:
    """What the outcome of a success is worth more than that of a failure."""
    outcome = rules.task.outcome
    return (outcome.success - outcome.failure) * outcome.scale if outcome else 0.0


def _unpaid(rules: Ruleset, state: State) -> float:
    """What the goal's milestones are worth that were not earned, less what was paid for a part of one."""
    open_ = [(n, state.awards.get(n)) for n in _goals(rules)]
    return total(rules.share[n] - (a.paid if a else 0.0) for n, a in open_ if a is None or not a.earned)


def _components(rules: Ruleset, milestones: Sequence[Milestone]) -> Mapping[str, float | None]:
    names = sorted({*rules.components, *(m.component for m in milestones)})
    return {name: total(m.worth for m in milestones if m.component == name) for name in names}


def _rank(by: str) -> int:
    return _TIERS.index(by) if by in _TIERS else len(_TIERS)
