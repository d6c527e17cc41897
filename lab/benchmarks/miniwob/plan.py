"""A page's task as its generator says it, and the document that comes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from detectors.model.json_value import JsonObject, JsonValue
from lab.benchmarks.miniwob.conditions import Condition, first
from lab.benchmarks.miniwob.instance import Instance

NEARLY = 1e-6


class UnobservableError(Exception):
    """What decides this page is in no event and no text of it; the message is the reason."""


@dataclass(frozen=True, slots=True)
class PagePlan:
    """``steps``: (id, condition) of what is right on the way. ``goal``: the condition that the page
    pays for, or several as (what it has paid for by then, condition), the last of them 1. ``once``:
    the press that ends the round, of which only the first counts. ``probes``: expressions that read
    the page's document.
    """

    goal: Condition | Sequence[tuple[float, Condition]]
    steps: Sequence[tuple[str, Condition]] = ()
    once: Condition | None = None
    probes: Mapping[str, str] = field(default_factory=dict)


def document(plan: PagePlan, instance: Instance) -> JsonObject:
    """The task: its steps are worth 0.4, its goal 0.6; all of it is the goal's where there are no
    steps."""
    steps: list[JsonObject] = [
        {"id": name, "component": "ui", "when": condition} for name, condition in plan.steps
    ]
    task: dict[str, JsonValue] = {
        "id": f"miniwob/{instance.page}",
        "instruction": instance.utterance,
        "origin": instance.origin,
        "weights": {"ui": 0.4, "goal": 0.6} if plan.steps else {"goal": 1.0},
        "milestones": [*steps, *_goals(plan)],
    }
    if plan.probes:
        # What a step did is there when it ends; what stood there before the agent came is the
        # baseline.
        task["probes"] = [
            {
                "id": name,
                "script": {"url": "/*", "expression": expression},
                "when": ["start", "step"],
                "budget_ms": 5000,
            }
            for name, expression in plan.probes.items()
        ]
    # Each instance is a version of its page's task: the same one again is the same version.
    content = json.dumps(task, sort_keys=True, ensure_ascii=False)
    return {**task, "version": hashlib.sha256(content.encode()).hexdigest()[:16]}


def _goals(plan: PagePlan) -> Iterator[JsonObject]:
    """The goal's milestone, or one for each of its tiers."""
    tiers = [(1.0, plan.goal)] if isinstance(plan.goal, Mapping) else plan.goal
    before = 0.0
    for worth, condition in tiers:
        name = "done" if worth == 1.0 else f"part-{round(worth * 100)}"
        whole = condition if plan.once is None else first(plan.once, condition)
        goal: dict[str, JsonValue] = {"id": name, "when": {"goal": {"when": whole}}}
        if len(tiers) > 1:
            goal["weight"] = round(worth - before, 6)
        yield goal
        before = worth
