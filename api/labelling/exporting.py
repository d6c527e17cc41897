"""People's words as lines of pref/1 (lab/training/pref-1.schema.json), which `milestoned rm train`
reads (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

FOLDER = "recordings"


def lines(words: Sequence[Any], tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[bytes]:
    """A line a word that decides something; ``tasks``: each episode's task document. Recordings lie
    in `FOLDER`."""
    for word in words:
        told = _label_line(word, tasks)
        if told is not None:
            yield orjson.dumps(told) + b"\n"


def _label_line(word: Any, tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return a person's word as a line of preferences; None for "unsure", and for episodes that are
    not there."""
    if (
        word.choice == "unsure"
        or word.first not in tasks
        or (word.second and word.second not in tasks)
    ):
        return None
    head = {
        "schema": "pref/1",
        "id": f"person-{word.number}",
        "source": "person",
        "annotator": word.annotator,
    }
    if not word.second:
        level = "trajectory" if word.item == "goal" else "step"
        side = _side(word.first, tasks) | ({"step": word.step} if level == "step" else {})
        return {
            **head,
            "kind": "outcome",
            "level": level,
            "trajectory": side,
            "success": word.choice == "yes",
        }
    chosen, rejected = (
        (word.first, word.second) if word.choice != "second" else (word.second, word.first)
    )
    sides = {"chosen": _side(chosen, tasks), "rejected": _side(rejected, tasks)}
    return {**head, "kind": "pair", "level": "trajectory", **sides, "tie": word.choice == "tie"}


def _side(episode: str, tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    task = tasks[episode]
    group = task["id"].partition("/")[0]
    recording = f"{FOLDER}/{episode}.mrec"
    # People judged without the rules' rewards, so a model may see them as features.
    return {
        "recording": recording,
        "instruction": task["instruction"],
        "group": group,
        "task": task["id"],
        "rules": task,
    }
