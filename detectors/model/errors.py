"""One tree of errors: each names the place, the value and what was wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detectors.model.types import Reading


class DetectorError(Exception):
    """Base of everything that detectors raise on purpose."""


class SpecError(DetectorError):
    """A part of a task is not what it should be: ``path`` (keys and indices), ``value``,
    ``wanted``."""

    def __init__(self, path: tuple[str | int, ...], value: object, wanted: str) -> None:
        self.path, self.value, self.wanted = path, value, wanted
        super().__init__(f"{format_path(path)}: got {format_value(value)}, wanted {wanted}")


class GapError(DetectorError):
    """The engine was handed an event that is not the next one; ``wanted`` is the seq that it waits
    for."""

    def __init__(self, wanted: int, got: int) -> None:
        self.wanted, self.got = wanted, got
        super().__init__(
            f"event {got} came, but event {wanted} is the next one: the log has a gap or a repeat"
        )


class UnseenError(DetectorError):
    """Raised by a rule that can't know what it is asked of an event, through no doing of the
    agent's (a secret kept back, a file that the machine did not let be read): a step that it could
    have made worth more is null, not less. Its words are the reason's, and none of them a page's or
    a file's; ``could`` is the reading if what nobody saw is as wanted, ``known`` the one that holds
    in any case, ``since`` the seq of the event that hid it if not the one at hand."""

    def __init__(
        self, words: str, could: Reading, known: Reading | None = None, since: int | None = None
    ) -> None:
        self.could, self.known, self.since = could, known, since
        # What is no reading is the rule's own fault, and found while it is asked.
        self.level = could.level
        super().__init__(words)


class BudgetError(DetectorError):
    """What a rule is asked of an event would cost more than `detectors.model.budget` allows;
    ``what`` would, as CEL."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what}: over its budget")


class StateError(DetectorError):
    """A stored engine state belongs to another ruleset or engine version."""


def format_path(path: tuple[str | int, ...]) -> str:
    """Write a path of keys and indices as text: ``milestones[0].when``."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out or "(top)"


def format_value(value: object) -> str:
    """``value`` for an error message, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
