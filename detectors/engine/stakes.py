"""What a tier's word may be worth: a bounded share of what the rules leave unpaid, so that silence
never beats work.

All of it follows from the ruleset and the log up to the seal, never from what a tier answered or
when. See docs/decisions/0025-what-tiers-may-pay.md.
"""

from __future__ import annotations

from detectors.engine.state import State
from detectors.model.rewards import total
from detectors.task.language import Escalation
from detectors.task.ruleset import Ruleset

DEFAULT_STEPS = 50
"""Over how many steps the share is spread where the task has no ``limits.steps``."""


def goals(rules: Ruleset) -> list[int]:
    """The indices of the milestones that say what success is."""
    return [
        n
        for n, m in enumerate(rules.task.milestones)
        if m.when.rule == "goal" and m.penalty is None
    ]


def outcome_worth(rules: Ruleset) -> float:
    """What the outcome of a success is worth more than that of a failure."""
    outcome = rules.task.outcome
    return (outcome.success - outcome.failure) * outcome.scale if outcome else 0.0


def _success_worth(rules: Ruleset) -> float:
    """The part of `outcome_worth` that does not rest on a failure being fined: the fine of a step
    that nobody could score is not known, so it makes no room."""
    outcome = rules.task.outcome
    return min(outcome.success * outcome.scale, outcome_worth(rules)) if outcome else 0.0


def goal_worth(rules: Ruleset) -> float:
    """What the rules pay at least for reaching the goal; of a task without one, for all of its
    milestones."""
    at_goal = goals(rules)
    return total(
        (
            *(rules.share[n] for n in at_goal or _paying(rules)),
            _success_worth(rules) if at_goal else 0.0,
        )
    )


def unpaid_goals(rules: Ruleset, state: State) -> float:
    """What the goal's milestones are worth that were not earned, less what was paid for a part of
    one."""
    return _unpaid(rules, state, goals(rules))


def unpaid_worth(rules: Ruleset, state: State) -> float:
    """What is left of `goal_worth`. Penalties are no part of it: to be fined makes no room."""
    at_goal = goals(rules)
    if not at_goal:
        return _unpaid(rules, state, _paying(rules))
    reached = all((award := state.awards.get(n)) is not None and award.earned for n in at_goal)
    return total((_unpaid(rules, state, at_goal), 0.0 if reached else _success_worth(rules)))


def spread_over(rules: Ruleset) -> int:
    """The number of steps among which the share is divided; a later step has no stake."""
    limits = rules.task.limits
    return DEFAULT_STEPS if limits is None or limits.steps is None else limits.steps


def rule_weight(policy: Escalation) -> float:
    """What the rules' own pay is multiplied by: their weight in a blend, 1 in a cascade."""
    return policy.weights["rule"] if policy.route == "blend" else 1.0


def step_stake(rules: Ruleset, state: State) -> float:
    """What a score of 1 is worth in the step that is about to be sealed, in units of reward."""
    policy, limits, steps = rules.task.escalation, rules.task.limits, spread_over(rules)
    if policy is None or state.steps > steps:
        return 0.0
    if limits is not None and not limits.holds(state.steps, state.step_at - state.began_at):
        return 0.0
    return total((policy.share * rule_weight(policy) * unpaid_worth(rules, state) / steps,))


def most_of_steps(rules: Ruleset) -> float:
    """The most that all steps of an episode together can be worth by the tiers' words on them."""
    policy = rules.task.escalation
    return (
        0.0 if policy is None else total((policy.share * rule_weight(policy) * goal_worth(rules),))
    )


def goal_stake(rules: Ruleset, state: State, offered: float) -> float:
    """What a tier's yes to the goal is worth: what the rules left unpaid of it, less what steps
    were ``offered``."""
    return max(0.0, total((unpaid_goals(rules, state), outcome_worth(rules), -offered)))


def _paying(rules: Ruleset) -> list[int]:
    """The milestones that pay as they are reached."""
    shaped = rules.task.shaped
    return [
        n
        for n, m in enumerate(rules.task.milestones)
        if m.penalty is None and m.component not in shaped
    ]


def _unpaid(rules: Ruleset, state: State, which: list[int]) -> float:
    awards = [(n, state.awards.get(n)) for n in which]
    return total(
        rules.share[n] - (a.paid if a else 0.0) for n, a in awards if a is None or not a.earned
    )
