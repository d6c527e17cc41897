"""What makes the source see worse than it should, told once when it begins and once when it is over."""

from __future__ import annotations

import structlog

from agentd.sources.base import Sink

log = structlog.get_logger(__name__)


class Troubles:
    """Alarms by ``of``; each lasts as long as one of its places has it. `add` and `remove` may come from any thread,
    `publish` from the loop's."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, str]] = {}
        self._told: set[str] = set()

    def add(self, of: str, place: str, reason: str) -> None:
        """``place`` has the trouble from now on."""
        self._places.setdefault(of, {})[place] = reason

    def remove(self, of: str, place: str) -> None:
        """``place`` has it no longer."""
        self._places.get(of, {}).pop(place, None)

    def leave(self, of: str, folder: str) -> None:
        """Neither ``folder`` nor anything below it is there any more."""
        for place in [one for one in dict(self._places.get(of, {})) if (one + "/").startswith(folder + "/")]:
            self.remove(of, place)

    def clear(self) -> None:
        """Everything is found out anew."""
        self._places.clear()

    def publish(self, sink: Sink) -> None:
        """Tell what began and what is over since the last time."""
        now = {of: next(iter(dict(places).values())) for of, places in dict(self._places).items() if places}
        for of in sorted(self._told - now.keys()):
            self._told.discard(of)
            sink("alarm.ended", {"source": "files", "of": of})
        for of in sorted(now.keys() - self._told):
            self._told.add(of)
            sink("alarm.raised", {"source": "files", "of": of, "reason": now[of]})
            log.warning("Files are seen worse than they should be.", of=of, why=now[of])
