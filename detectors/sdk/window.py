"""Windows as tasks write them: ``{steps: 2}``, ``{seconds: 30}``, or both."""

from __future__ import annotations

from typing import Any

from detectors.model.errors import SpecError
from detectors.model.types import Window

MAX_STEPS = 100_000
MAX_SECONDS = 10_000_000
WANTED = "{steps: a whole number} or {seconds: a number}, or both"


def window_from_json(spec: Any, path: tuple[str | int, ...]) -> Window:
    """The window that ``spec`` says. Raises `SpecError`."""
    if not isinstance(spec, dict) or not spec or set(spec) - {"steps", "seconds"}:
        raise SpecError(path, spec, WANTED)
    steps, seconds = spec.get("steps"), spec.get("seconds")
    if "steps" in spec and not (type(steps) is int and 0 <= steps <= MAX_STEPS):
        raise SpecError((*path, "steps"), steps, f"a whole number from 0 to {MAX_STEPS}")
    numeric = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if "seconds" in spec and not (numeric and 0 <= float(seconds or 0) <= MAX_SECONDS):
        raise SpecError((*path, "seconds"), seconds, f"a number from 0 to {MAX_SECONDS}")
    return Window(steps, None if seconds is None else float(seconds))


def window_to_json(window: Window) -> dict[str, Any]:
    """As `window_from_json` reads it."""
    parts = {"steps": window.steps, "seconds": window.seconds}
    return {name: value for name, value in parts.items() if value is not None}
