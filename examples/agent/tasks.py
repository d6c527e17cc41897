"""The tasks of a family under one kind of reward: paid for the goal alone, for milestones, and for
the goal with a potential over the milestones.

A file in `tasks` is a task with one part. What ends in `_n` there is repeated for each part of the
family: `field_n` becomes `field_1`, `field_2`, ….
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from examples.agent.families import split_name

FOLDER = Path(__file__).parent / "tasks"
ORDERED = ("menu",)
"""The pages on which a part counts only after the one before it."""


def task(family: str, kind: str, origin: str) -> dict[str, Any]:
    """Return the family's template under one of `kinds.KINDS`, on pages that are served at ``origin``."""
    page, parts = split_name(family)
    text = (FOLDER / f"{page}.yaml").read_text().replace(f"{page}-n", family)
    made: dict[str, Any] = _repeated(yaml.safe_load(text), parts, is_ordered=page in ORDERED)
    # A run that goes on serves its pages at another port: other content, and so another version.
    version = f"{made['version']}.{urlsplit(origin).port or 80}"
    made |= {"id": f"{made['id']}-{kind}", "version": version, "origin": origin}
    if kind == "sparse":
        made["weights"] = {"goal": 1.0}
        made["milestones"] = [one for one in made["milestones"] if "goal" in one["when"]]
    if kind == "potential":
        (component,) = set(made["weights"]) - {"goal"}
        made["weights"] = {component: 1.0, "goal": 1.0}
        made["shaping"] = {"potential": [component], "gamma": 1.0}
    return made


def _repeated(made: dict[str, Any], parts: int, *, is_ordered: bool) -> dict[str, Any]:
    """Return the task with its one part repeated."""
    (part, *others) = made["milestones"]
    first, *rest = made["instruction"].split(" , ")
    numbers = range(1, parts + 1)
    parameters = {
        _numbered(name, n): example
        for name, example in made["parameters"].items()
        for n in (numbers if name.endswith("_n") else (0,))
    }
    milestones = [_numbered(part, n) for n in numbers]
    if is_ordered:
        for before, milestone in pairwise(milestones):
            milestone["after"] = [before["id"]]
    return {
        **made,
        "instruction": " , ".join([*(_numbered(first, n) for n in numbers), *rest]),
        "parameters": parameters,
        "milestones": [*milestones, *others],
    }


def _numbered(value: Any, n: int) -> Any:
    """Return a value of YAML with the number of a part."""
    if isinstance(value, str):
        return re.sub(r"_n\b", f"_{n}", value)
    if isinstance(value, dict):
        return {_numbered(key, n): _numbered(one, n) for key, one in value.items()}
    if isinstance(value, list):
        return [_numbered(one, n) for one in value]
    return value
