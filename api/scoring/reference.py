"""Which episode, step or task a sample belongs to, out of whatever its trainer could carry along.

Trainers pass a label, a ground truth, an extra_info, a cookie through, as JSON or as text. It is
data: it names what to look up, and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from api.core.errors import InvalidError
from api.core.frames import MAX_NUMBER

EPISODE = ("episode_id", "episode")
TASK = ("task_id", "task")
VERSION = ("task_version", "version")
NESTED = (
    "milestoned",
    "extra_info",
    "metadata",
    "verifier_metadata",
    "ground_truth",
    "label",
    "task_data",
)
"""Members in which a reference may be carried, one inside the other."""
MAX_DEPTH = 3
WANTED = "an episode id, a task id, or an object with episode_id (and step) or task_id"


@dataclass(frozen=True, slots=True)
class Reference:
    """Where to look. ``step`` None: the whole episode."""

    episode: str | None = None
    step: int | None = None
    task: str | None = None
    version: str | None = None

    def __bool__(self) -> bool:
        return self.episode is not None or self.task is not None


def reference_of(*carried: Any) -> Reference:
    """The first reference in what was carried. Raises `InvalidError` where there is none."""
    for one in carried:
        found = _look(one, MAX_DEPTH)
        if found:
            return found
    shown = ", ".join(repr(one)[:80] for one in carried if one is not None) or "nothing"
    raise InvalidError(f"label: got {shown}; wanted {WANTED}")


def _look(value: Any, deeper: int) -> Reference:
    if isinstance(value, str):
        return _text(value.strip(), deeper)
    if not isinstance(value, dict) or deeper < 0:
        return Reference()
    episode, task = _first(value, EPISODE), _first(value, TASK)
    if isinstance(episode, dict):  # NeMo Gym names a rollout and an attempt
        episode = episode.get("rollout_id")
    if isinstance(task, dict):
        task = task.get("task_id")
    if isinstance(episode, str) or isinstance(task, str):
        version = _first(value, VERSION)
        return Reference(
            episode if isinstance(episode, str) else None,
            _step(value.get("step")),
            task if isinstance(task, str) else None,
            version if isinstance(version, str) else None,
        )
    for name in NESTED:
        found = _look(value.get(name), deeper - 1)
        if found:
            return found
    return Reference()


def _text(text: str, deeper: int) -> Reference:
    if text.startswith("{") and deeper > 0:
        try:
            return _look(orjson.loads(text), deeper - 1)
        except orjson.JSONDecodeError:
            return Reference()
    if text.startswith("ep_"):
        return Reference(episode=text)
    return (
        Reference(task=text)
        if text and len(text) <= 512 and not text.startswith("[")
        else Reference()
    )


def _first(value: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _step(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    if type(value) is not int or not 0 <= value <= MAX_NUMBER:
        raise InvalidError(f"step: got {value!r}, wanted a whole number from 0 to {MAX_NUMBER}")
    return value
