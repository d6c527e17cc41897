"""Which sandboxes were not heard of for too long, by this process's own looks and its own monotonic
clock.

No time that another machine wrote is compared: a sandbox is alive when its sign of life is another
one than before, such as a count of beats. A
process that was itself paused, or could not read the database, saw nothing meanwhile, so it begins
to count anew: nobody is given up for a fault of the service. A wall clock that is put forth or back
changes nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

Sign = TypeVar("Sign", bound=Hashable)


class Pulse(Generic[Sign]):
    """``lost_s``: how long without another sign; ``look_s``: how often `look` is called, in
    seconds."""

    def __init__(self, lost_s: float, look_s: float) -> None:
        self._lost_s, self._look_s = lost_s, look_s
        self._looked: float | None = None
        self._seen: dict[str, tuple[Sign, float]] = {}

    def silent_s(self, sandbox: str) -> float:
        """How long the sandbox's sign had been the same at the last look; 0 for one that was not
        looked at."""
        if self._looked is None or sandbox not in self._seen:
            return 0.0
        return self._looked - self._seen[sandbox][1]

    def look(self, at: float, signs: Mapping[str, Sign]) -> list[str]:
        """At the monotonic time ``at`` the sandboxes have these signs: return those to give up."""
        if self._looked is None or at - self._looked > 3 * self._look_s:
            self._seen.clear()
        self._looked = at
        before = self._seen
        self._seen = {
            sandbox: before[sandbox]
            if sandbox in before and before[sandbox][0] == sign
            else (sign, at)
            for sandbox, sign in signs.items()
        }
        return [sandbox for sandbox, (_, since) in self._seen.items() if at - since >= self._lost_s]
