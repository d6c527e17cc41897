"""Questions to programs over the accessibility bus: each may fail, for the object or its program
may be gone or hang.

Every question here is a getter. Nothing in the child calls anything that acts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

from gi.repository import Atspi, GLib

TIMEOUT_MS = 2000
"""How long a program has for one answer."""
PAUSE_S = 2.0
"""How long a program that did not answer is left alone, in seconds."""
MAX_TEXT = 10_000
_SLOW = ("timed out", "timeout", "did not receive a reply", "no reply")

ODD = (TypeError, ValueError, LookupError, AttributeError, OverflowError)
"""What reading an answer raises that has another form than it should: any program may give one."""

T = TypeVar("T")


class Questioner:
    """Asks, and keeps away for a while from a program that does not answer within ``timeout_ms``.
    ``busy``: its bus name, and till when."""

    def __init__(self, tell: Callable[[str, bool], None], timeout_ms: int) -> None:
        Atspi.set_timeout(timeout_ms, timeout_ms)
        self._tell = tell
        self.timeout_ms = timeout_ms
        self.busy: dict[str, float] = {}

    def ask(self, bus: str, question: Callable[..., T], *arguments: object) -> T | None:
        """Return the answer of ``question(*arguments)``; None: it can't be had, or is none."""
        if self.busy.get(bus, 0.0) > time.monotonic():
            return None
        try:
            answer = question(*arguments)
        except ODD:
            return None
        except GLib.Error as error:
            if any(word in str(error).lower() for word in _SLOW):
                self.busy[bus] = time.monotonic() + PAUSE_S
                self._tell(bus, True)
            return None
        if self.busy.pop(bus, None) is not None:
            self._tell(bus, False)
        return answer


def identity(source: Any) -> tuple[str, str]:
    """Return (id, bus name) of an accessible; the id is unique on the bus."""
    app, path = source.app, source.path
    bus = app.bus_name if app is not None else ""
    return f"{bus}{path}", bus


def states_of(source: Any) -> list[str]:
    """Return the names of the states that are on, as in ``checked``."""
    return sorted(str(state.value_nick) for state in source.get_state_set().get_states())


def text_of(source: Any) -> tuple[str, bool] | None:
    """Return (text, whether it was cut); None: the object has no text."""
    try:
        text = source.queryText()
    except NotImplementedError:
        return None
    count = text.characterCount
    return (text.getText(0, min(count, MAX_TEXT)) if count > 0 else ""), count > MAX_TEXT


def value_of(source: Any) -> float | None:
    """Return the current value; None: the object has none, or none that is a number."""
    try:
        value = float(source.queryValue().currentValue)
    except NotImplementedError:
        return None
    return value if math.isfinite(value) else None


def label_of(source: Any) -> str:
    """Return the name of what labels the object, cut; "" where nothing does."""
    for relation in source.getRelationSet():
        if relation.getRelationType() == Atspi.RelationType.LABELLED_BY and relation.getNTargets():
            return (relation.getTarget(0).name or "")[:MAX_TEXT]
    return ""
