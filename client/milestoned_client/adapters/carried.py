"""What a trainer carries along with a sample, made fit to be sent: the reference in it, and the
words of the agent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from milestoned_client.json_values import Json

REFERENCE = ("episode_id", "episode", "task_id", "task", "task_version", "version", "step")
NESTED = (
    "milestoned",
    "extra_info",
    "metadata",
    "verifier_metadata",
    "ground_truth",
    "label",
    "task_data",
)
"""The members that the service reads: rows hold images and arrays too, which stay where they
are."""
MAX_DEPTH = 3

_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?(?:s|eos|bos|pad|eot|end_of_turn|start_of_turn)>")


def label_of(*carried: object) -> Json:
    """The first of ``carried`` that may name an episode or a task, as JSON; None where none
    does."""
    for one in carried:
        found = _reduced(one, MAX_DEPTH)
        if found:
            return found
    return None


def _reduced(value: object, deeper: int) -> Json:
    """A text as it is, of an object the members that are read, of anything else nothing."""
    if isinstance(value, str):
        return value.strip()
    if not isinstance(value, Mapping) or deeper < 0:
        return None
    found: dict[str, Json] = {
        name: kept for name in REFERENCE if (kept := _plain(value.get(name))) is not None
    }
    found |= {name: kept for name in NESTED if (kept := _reduced(value.get(name), deeper - 1))}
    return found if found.keys() - {"step", "version", "task_version"} else None


def _plain(value: object) -> Json:
    if hasattr(value, "item"):  # a number of NumPy's
        value = value.item()
    if isinstance(value, Mapping):  # NeMo Gym's ids
        return {
            str(name): part for name, part in value.items() if isinstance(part, str | int)
        } or None
    return value if isinstance(value, str | int | float) else None


class Named(NamedTuple):
    """What a label names: an episode that runs, or a task of which one can be opened."""

    episode: str | None = None
    task: str | None = None
    version: str | None = None


def parse_label(label: object) -> Named:
    """What a label names, wherever in it. Raises `ValueError` where it names nothing."""
    found = _named(label, MAX_DEPTH)
    if found is None:
        raise ValueError(
            f"label: got {str(label)[:120]!r}; wanted a task id, or an object with task_id or"
            " episode_id"
        )
    return found


def _named(label: object, deeper: int) -> Named | None:
    if isinstance(label, str):
        return _named_by_text(label, deeper)
    if not isinstance(label, Mapping) or deeper < 0:
        return None
    episode = _first_text(label, "episode_id", "episode")
    task = _first_text(label, "task_id", "task")
    if episode or task:
        return Named(episode, task, _first_text(label, "task_version", "version"))
    for name in NESTED:
        inner = _named(label.get(name), deeper - 1)
        if inner is not None:
            return inner
    return None


def _named_by_text(label: str, deeper: int) -> Named | None:
    """What a text names: an episode by its prefix, or a task; one that begins an object is JSON."""
    if label.startswith("{") and deeper > 0:
        try:
            return _named(json.loads(label), deeper - 1)
        except (ValueError, RecursionError):
            return None
    if label.startswith("ep_"):
        return Named(episode=label)
    return Named(task=label) if label else None


def _first_text(label: Mapping[str, object], *names: str) -> str | None:
    """The first of the members ``names`` that is a text."""
    for name in names:
        if isinstance(label.get(name), str):
            return str(label[name])
    return None


def last_text(completion: object) -> str:
    """What the agent said last: of a text all of it, of messages the last one that is the
    assistant's.

    Special tokens, which some trainers keep, are taken out, and half characters, which JSON does
    not know.
    """
    if isinstance(completion, str):
        return _SPECIAL.sub("", completion).strip().encode("utf-8", "replace").decode()
    if isinstance(completion, Mapping):
        return last_text(completion.get("content"))
    if not isinstance(completion, list | tuple):
        return ""
    blocks = [
        part["text"]
        for part in completion
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]
    if blocks:
        return last_text("".join(blocks))
    spoken = [
        part
        for part in completion
        if isinstance(part, Mapping) and part.get("role", "assistant") == "assistant"
    ]
    return last_text(spoken[-1].get("content")) if spoken else ""


def plain(value: object) -> Json:
    """An action as JSON: arrays as lists, what JSON does not know as its text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "tolist"):
        listed: Json = value.tolist()
        return listed
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return str(value)
