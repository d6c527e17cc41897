"""Warnings of what a task's author may not have meant, as a goal that is not worth the most."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from api.tasks.masked_fields import warn_of_masked
from detectors.engine.stakes import goals, outcome_worth
from detectors.model.rewards import total
from detectors.model.types import Condition
from detectors.sdk.documents import NAVIGATED
from detectors.task.guards import Bearing, leaves, names_address
from detectors.task.language import Task
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.schedules import knots_to_check
from detectors.task.task_json import at_label
from detectors.task.tools_preset import PREFIX
from detectors.task.value_types import DEFAULT_WEIGHTS


def warnings_of(rules: Ruleset) -> Iterator[str]:
    """Yield sentences about how the pay is divided; each says what is attainable."""
    paying = [n for n in range(len(rules.task.milestones)) if _pays(rules.task, n)]
    yield from _warn_of_weights(rules, paying)
    yield from _warn_of_addresses(rules.task, paying)
    yield from _warn_of_undecided(rules.task)
    yield from warn_of_masked(rules.task)
    yield from _warn_of_goal(rules, paying)


def warnings_over_schedules(rules: Ruleset) -> Iterator[str]:
    """Yield the warnings of a task, of one with schedules at each of their points."""
    at_knots = knots_to_check(rules.task)
    if not at_knots:
        yield from warnings_of(rules)
    for at in at_knots:
        assert rules.task.schedules is not None, "it has knots"
        where = f"at {rules.task.schedules.label} {at:.12g}"
        for warning in warnings_of(compile_task(at_label(rules.task, at))):
            yield f"{where}: {warning}"


def _pays(task: Task, n: int) -> bool:
    """Whether a milestone adds to the reward itself: no penalty, no shaping, no objective."""
    milestone = task.milestones[n]
    pays_elsewhere = milestone.component in task.shaped or milestone.component in task.objectives
    return milestone.penalty is None and not pays_elsewhere


def _warn_of_weights(rules: Ruleset, paying: Sequence[int]) -> Iterator[str]:
    """Warn where the weights of the components that pay do not sum to 1."""
    task = rules.task
    components = [task.milestones[n].component for n in paying]
    earning = {component: task.weights[component] for component in components}
    is_weighed_by_preset = any(m.id.startswith(PREFIX) for m in task.milestones)
    weights = total(earning.values())
    if weights != 1.0 and not is_weighed_by_preset:
        listed = ", ".join(f"{name} {weight:g}" for name, weight in earning.items())
        yield (
            f"weights: those of the components that have milestones ({listed}) sum to {weights:g},"
            f" not 1; an episode can be worth at most {rules.attainable:g}{_fitting(earning)}"
            + ("; or `weights: fit`" if task.weights == DEFAULT_WEIGHTS else "")
        )


def _fitting(earning: Mapping[str, float]) -> str:
    """Say which weights of the same proportions sum to 1; nothing where all are 0."""
    whole = total(earning.values())
    if whole <= 0:
        return ""
    scaled = {name: round(weight / whole, 3) for name, weight in earning.items()}
    most = max(scaled, key=lambda name: scaled[name])
    rest = total(weight for name, weight in scaled.items() if name != most)
    scaled[most] = round(1 - rest, 3)
    listed = ", ".join(f"{name}: {weight:g}" for name, weight in scaled.items())
    return f"; in the same proportions: weights: {{{listed}}}"


def _warn_of_addresses(task: Task, paying: Sequence[int]) -> Iterator[str]:
    """Warn of each goal that an address alone reaches."""
    conditions = {m.id: m.when for m in task.milestones}
    for n in paying:
        milestone = task.milestones[n]
        is_goal = milestone.component == "goal" or milestone.when.rule == "goal"
        if is_goal and _is_an_address_alone(milestone.when, conditions):
            yield (
                f"milestones[{n}]: {milestone.id} rests on an address alone, which script"
                " in the page can put there by pushState; without `loaded: false` a document must"
                " have been loaded there, and a request or a state shows what was done"
            )


def _warn_of_undecided(task: Task) -> Iterator[str]:
    """Warn of each address that both pays and guards, where the task leaves open whether a document
    must have been loaded there."""
    undecided = dict.fromkeys(
        n
        for n, leaf, bearing in leaves(task)
        if bearing == Bearing.PAYS | Bearing.GUARDS
        and leaf.args.get("loaded") is None
        and names_address(leaf, task.origin)
    )
    for n in undecided:
        yield (
            f"milestones[{n}]: {task.milestones[n].id} pays, and it guards too (a penalty, or"
            " another milestone, rests on it), so that an address counts however it came there,"
            " also by pushState; write `loaded: true` or `loaded: false` beside the address"
        )


def _warn_of_goal(rules: Ruleset, paying: Sequence[int]) -> Iterator[str]:
    """Warn where another component is worth more than reaching the goal."""
    at_goal = goals(rules)
    others = _worth_beside(rules, paying, at_goal)
    if not at_goal or not others:
        return
    goal = total((*(rules.share[n] for n in at_goal), outcome_worth(rules)))
    most = max(others, key=lambda name: others[name])
    if others[most] > goal:
        yield (
            f"weights: {most} is worth {others[most]:g}, more than reaching the goal ({goal:g}); "
            f"without the goal {total(others.values()):g} of {rules.attainable:g} is attainable"
        )


def _worth_beside(
    rules: Ruleset, paying: Sequence[int], at_goal: Collection[int]
) -> dict[str, float]:
    """Return what the milestones that pay beside the goal are worth, by component."""
    worth: dict[str, float] = {}
    for n in paying:
        if n in at_goal:
            continue
        name = rules.task.milestones[n].component
        worth[name] = total((worth.get(name, 0.0), rules.share[n]))
    return worth


def _is_an_address_alone(when: Condition, milestones: Mapping[str, Condition]) -> bool:
    """Whether addresses that nothing need have been loaded from are enough for it; what a goal
    requires is looked up in ``milestones``."""
    if when.rule in ("url_reached", "address_says", "page_loaded"):
        return when.args.get("loaded") is False
    if when.rule in ("observed", "cel"):
        is_navigation = when.args.get("kind") == NAVIGATED
        return is_navigation and "same_document" not in str(when.args)
    parts = [_is_an_address_alone(part, milestones) for part in when.of]
    if when.rule == "any_of":
        return any(parts)
    if when.rule == "goal":
        for name in _required_by(when):
            parts.append(_is_an_address_alone(milestones[name], milestones))
    if when.rule not in ("goal", "all_of", "sequence"):
        return False
    return bool(parts) and all(parts)


def _required_by(goal: Condition) -> list[str]:
    """Return the ids of the milestones that a goal requires."""
    required = goal.args.get("requires")
    if not isinstance(required, list | tuple):
        return []
    return [str(name) for name in required]
