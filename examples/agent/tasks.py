"""The tasks of a family under one kind of reward: paid for the goal alone, for milestones, and for
the goal with a potential over the milestones."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

FOLDER = Path(__file__).parent / "tasks"


def task(family: str, kind: str, origin: str) -> dict[str, Any]:
    """Return the family's template under one of `kinds.KINDS`, on pages that are served at ``origin``."""
    made: dict[str, Any] = yaml.safe_load((FOLDER / f"{family}.yaml").read_text())
    # A run that goes on serves its pages at another port: other content, and so another version.
    version = f"{made['version']}.{urlsplit(origin).port or 80}"
    made |= {"id": f"{made['id']}-{kind}", "version": version, "origin": origin}
    if kind == "sparse":
        made["weights"] = {"goal": 1.0}
        made["milestones"] = [one for one in made["milestones"] if "goal" in one["when"]]
    if kind == "potential":
        (part,) = set(made["weights"]) - {"goal"}
        made["weights"] = {part: 1.0, "goal": 1.0}
        made["shaping"] = {"potential": [part], "gamma": 1.0}
    return made
