"""Windows as tasks write them: ``{steps: 2}``, ``{seconds: 30}``, or both."""

from __future__ import annotations

from typing import Any

from detectors.model.errors import SpecError
from detectors.model.types import Window

MAX_STEPS = 100_000
MAX_SECONDS = 10_000_000
WANTED = "{steps: a whole number} or {seconds: a number}, or both"


def window_from_json(spec: object, path: tuple[str | int, ...]) -> Window:
    """Make a window of its JSON form. Raises `SpecError`."""
    if not isinstance(spec, dict) or not spec or set(spec) - {"steps", "seconds"}:
        raise SpecError(path, spec, WANTED)
    steps, seconds = spec.get("steps"), spec.get("seconds")
    if "steps" in spec and not _is_step_count(steps):
        raise SpecError((*path, "steps"), steps, f"a whole number from 0 to {MAX_STEPS}")
    if "seconds" in spec and not _is_duration(seconds):
        raise SpecError((*path, "seconds"), seconds, f"a number from 0 to {MAX_SECONDS}")
    return Window(steps, None if seconds is None else float(seconds))


def _is_step_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_STEPS


def _is_duration(value: object) -> bool:
    """Whether it is a number of seconds that a window may have."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= float(value) <= MAX_SECONDS


def window_to_json(window: Window) -> dict[str, Any]:
    """Return the JSON form that `window_from_json` reads."""
    parts = {"steps": window.steps, "seconds": window.seconds}
    return {name: value for name, value in parts.items() if value is not None}
