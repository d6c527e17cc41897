"""Windows as tasks write them: ``{steps: 2}``, ``{seconds: 30}``, or both."""

from __future__ import annotations

from dataclasses import dataclass

from detectors.model.json_objects import key, object_type
from detectors.model.json_types import number, whole

MAX_STEPS = 100_000
MAX_SECONDS = 10_000_000
SECOND = 1_000_000_000
"""In nanoseconds."""


@dataclass(frozen=True, slots=True)
class Window:
    """How far apart two moments may be: at most so many steps, and so many seconds; of what is not
    given any number."""

    steps: int | None = key("So many steps.", whole(0, MAX_STEPS), None)
    seconds: float | None = key("So many seconds.", number(0, MAX_SECONDS), None)

    def holds(self, steps: int, nanoseconds: int) -> bool:
        """Whether a distance of ``steps`` and ``nanoseconds`` is within it."""
        return (self.steps is None or steps <= self.steps) and (
            self.seconds is None or nanoseconds <= self.seconds * SECOND
        )

    def passed(self, steps: int, nanoseconds: int) -> bool:
        """Whether a distance of ``steps`` and ``nanoseconds`` is at least it, in all that it
        says."""
        return (self.steps is None or steps >= self.steps) and (
            self.seconds is None or nanoseconds >= self.seconds * SECOND
        )


WINDOW = object_type(
    Window,
    expected="{steps: a whole number} or {seconds: a number}, or both",
    at_least_one=True,
)
