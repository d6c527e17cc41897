"""Which episode, step or task a sample belongs to, out of whatever its trainer could carry along.

Trainers pass a label, a ground truth, an extra_info, a cookie through, as JSON or as text. It is
data: it names what to look up, and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from api.core.errors import InvalidError
from api.core.frames import MAX_NUMBER
from detectors.model.json_value import text_or_none
from detectors.model.types import Json

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
MAX_TASK = 512
"""Characters of a task's id."""
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


def reference_of(*carried: Json) -> Reference:
    """Return the first reference in what was carried. Raises `InvalidError` where there is none."""
    for value in carried:
        reference = _look(value, MAX_DEPTH)
        if reference:
            return reference
    shown = ", ".join(repr(value)[:80] for value in carried if value is not None) or "nothing"
    raise InvalidError(f"label: got {shown}; wanted {WANTED}")


def _look(value: Json, deeper: int) -> Reference:
    """Return the first reference in a value, at most ``deeper`` members deep; an empty one where
    there is none."""
    if isinstance(value, str):
        return _read_text(value.strip(), deeper)
    if not isinstance(value, dict) or deeper < 0:
        return Reference()
    reference = _read_members(value)
    if reference:
        return reference
    for name in NESTED:
        nested = _look(value.get(name), deeper - 1)
        if nested:
            return nested
    return Reference()


def _read_members(value: dict[str, Json]) -> Reference:
    """Return the reference that an object's own members make."""
    episode = _first(value, EPISODE)
    if isinstance(episode, dict):  # NeMo Gym names a rollout and an attempt
        episode = episode.get("rollout_id")
    task = _first(value, TASK)
    if isinstance(task, dict):
        task = task.get("task_id")
    if not isinstance(episode, str) and not isinstance(task, str):
        return Reference()
    return Reference(
        _text_or_none(episode),
        _step(value.get("step")),
        _text_or_none(task),
        _text_or_none(_first(value, VERSION)),
    )


def _text_or_none(value: Json) -> str | None:
    return text_or_none(value)


def _read_text(text: str, deeper: int) -> Reference:
    """Return the reference that a text is, or holds as JSON."""
    if text.startswith("{") and deeper > 0:
        try:
            return _look(orjson.loads(text), deeper - 1)
        except orjson.JSONDecodeError:
            return Reference()
    if text.startswith("ep_"):
        return Reference(episode=text)
    is_task = 0 < len(text) <= MAX_TASK and not text.startswith("[")
    return Reference(task=text) if is_task else Reference()


def _first(value: dict[str, Json], names: tuple[str, ...]) -> Json:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _step(value: Json) -> int | None:
    """Read a step's number, None for none. Raises `InvalidError`."""
    if value is None:
        return None
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    if type(value) is not int or not 0 <= value <= MAX_NUMBER:
        raise InvalidError(f"step: got {value!r}, wanted a whole number from 0 to {MAX_NUMBER}")
    return value
