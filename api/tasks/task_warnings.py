"""What a task may say and its author may not have meant: pay that does not sum to 1, a goal that is
not the most."""

from __future__ import annotations

from collections.abc import Iterator

from detectors.engine.stakes import goals, outcome_worth
from detectors.model.rewards import total
from detectors.model.types import Condition
from detectors.task.ruleset import Ruleset
from detectors.task.tools_preset import PREFIX


def warnings_of(rules: Ruleset) -> Iterator[str]:
    """Sentences about how the pay is divided; each says what is attainable."""
    task = rules.task
    paying = [
        n
        for n, m in enumerate(task.milestones)
        if m.penalty is None and m.component not in task.shaped
    ]
    earning = {
        task.milestones[n].component: task.weights[task.milestones[n].component] for n in paying
    }
    weighed_by_preset = any(m.id.startswith(PREFIX) for m in task.milestones)
    weights = total(earning.values())
    if weights != 1.0 and not weighed_by_preset:
        listed = ", ".join(f"{name} {weight:g}" for name, weight in earning.items())
        yield (
            f"weights: those of the components that have milestones ({listed}) sum to {weights:g},"
            f" not 1; an episode can be worth at most {rules.attainable:g}"
        )
    at_goal = goals(rules)
    for n in paying:
        if task.milestones[n].component == "goal" and _is_an_address_alone(task.milestones[n].when):
            yield (
                f"milestones[{n}]: {task.milestones[n].id} rests on an address alone, which script"
                " in the page can put there by pushState; `loaded: true` asks for a document"
                " there, a request or a state for what was done"
            )
    goal = total((*(rules.share[n] for n in at_goal), outcome_worth(rules)))
    others: dict[str, float] = {}
    for n in paying:
        if n not in at_goal:
            name = task.milestones[n].component
            others[name] = total((others.get(name, 0.0), rules.share[n]))
    most = max(others, key=lambda name: others[name], default=None)
    if at_goal and most is not None and others[most] > goal:
        yield (
            f"weights: {most} is worth {others[most]:g}, more than reaching the goal ({goal:g}); "
            f"without the goal {total(others.values()):g} of {rules.attainable:g} is attainable"
        )


def _is_an_address_alone(when: Condition) -> bool:
    return when.rule == "url_reached" and not when.args.get("loaded")
