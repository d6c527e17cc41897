"""What the tools answer: a service's documents, shortened to what an agent can read. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

MAX_TEXT = 2_000
"""Characters of one text of an answer."""
MAX_ITEMS = 100
"""Items of one list of an answer."""
MAX_ANSWER = 60_000
"""Characters of a whole answer as JSON; where it is longer, texts and lists are cut further."""
Json = dict[str, Any]


def shorten(document: Json) -> Json:
    """Cut texts and lists, further and further until the whole is short enough."""
    text, items = MAX_TEXT, MAX_ITEMS
    while True:
        shortened: Json = _cut(document, text, items)
        if len(json.dumps(shortened, ensure_ascii=False)) <= MAX_ANSWER or items <= 1:
            return shortened
        text, items = max(text // 2, 80), max(items // 2, 1)


def _cut(value: Any, text: int, items: int) -> Any:
    """Return a value with long texts and lists cut, each with what was left out."""
    if isinstance(value, str):
        return value if len(value) <= text else f"{value[:text]}… ({len(value)} characters)"
    if isinstance(value, list):
        kept = [_cut(item, text, items) for item in value[:items]]
        return kept if len(value) <= items else [*kept, f"… ({len(value) - items} more)"]
    if isinstance(value, dict):
        return {name: _cut(item, text, items) for name, item in value.items()}
    return value


def step_row(transition: Mapping[str, Any]) -> Json:
    """Return one step in a line: what was done, what it was worth, why not where it is null."""
    reward = transition["reward"]
    row: Json = {"step": transition["step"], "action": transition["action"]}
    if reward is None:
        return {**row, "reward": None, "status": "running", "reason": "the step is not complete"}
    return {
        **row,
        "reward": reward["reward"],
        "status": reward["status"],
        "reason": reward["reason"],
        "milestones": [milestone["id"] for milestone in reward["milestones"]],
    }


def compare(first: Json, second: Json) -> Json:
    """Return how two episodes differ: each is ``status``, as the service has it, and ``steps``, its
    rows.

    A total that is not known stays null and is compared with nothing.
    """
    reached = [_milestones(each["steps"]) for each in (first, second)]
    totals = [each["status"]["total"] for each in (first, second)]
    is_known = None not in totals
    return {
        "same_rules": first["status"]["digest"] == second["status"]["digest"],
        "first": _summary(first),
        "second": _summary(second),
        "total_difference": totals[1] - totals[0] if is_known else None,
        "milestones_of_both": sorted(reached[0].keys() & reached[1].keys()),
        "milestones_of_first_only": _only(reached[0], reached[1]),
        "milestones_of_second_only": _only(reached[1], reached[0]),
        "first_step_with_another_action": _parting(first["steps"], second["steps"]),
    }


def _summary(episode: Json) -> Json:
    """Return an episode in short: its task, outcome, and the steps that are null, with the
    reason."""
    status = episode["status"]
    return {
        **{name: status[name] for name in ("episode", "task", "version", "status")},
        **{name: status[name] for name in ("total", "success", "labels")},
        "steps": len(episode["steps"]),
        "null_steps": [
            {name: row[name] for name in ("step", "status", "reason")}
            for row in episode["steps"]
            if row["reward"] is None
        ],
    }


def _milestones(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the step in which each milestone was reached first."""
    reached: dict[str, int] = {}
    for row in rows:
        for milestone in row.get("milestones", ()):
            reached.setdefault(milestone, row["step"])
    return reached


def _only(reached: Mapping[str, int], other: Mapping[str, int]) -> list[Json]:
    return [
        {"milestone": name, "step": step} for name, step in reached.items() if name not in other
    ]


def _parting(first: Sequence[Json], second: Sequence[Json]) -> Json | None:
    """Return where the two did something else for the first time; None where neither did."""
    for index in range(max(len(first), len(second))):
        actions = [rows[index]["action"] if index < len(rows) else None for rows in (first, second)]
        if actions[0] != actions[1] or index >= min(len(first), len(second)):
            return {"step": index, "first": actions[0], "second": actions[1]}
    return None
