"""What makes the source see worse than it should, reported when it begins and when it is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structlog

from agentd.core.source import Sink

log = structlog.get_logger(__name__)

HIDING = ("folders", "depth")
"""Troubles in whose places anything may be created, and nobody would see it."""
HIDDEN_PARTS = ("file", "folder")
"""What a gap names where such a place came to be after the start."""


class Troubles:
    """Alarms by ``of``; each lasts as long as one of its places has it. `add` and `remove` may come
    from any thread, `publish` from the loop's.

    A place that can't be looked into from the start is the operator's to mend: an alarm. One that
    comes to be closed later may hide what the agent does there: a gap of the files' events as well,
    until it is open or gone.
    """

    def __init__(self) -> None:
        self._places: dict[str, dict[str, str]] = {}
        self._told: set[str] = set()
        self._closed_at_start: set[tuple[str, str]] | None = None
        self._is_hiding = False

    def recall(self, events: Iterable[tuple[str, Mapping[str, object]]]) -> None:
        """Take in what was reported before the daemon was restarted: what hid something then was
        open at the start."""
        for kind, data in events:
            if data.get("part") in HIDDEN_PARTS and kind in ("gap.began", "gap.ended"):
                self._closed_at_start = set() if kind == "gap.began" else None

    def note_start(self) -> None:
        """Note that all places were looked at for the first time."""
        if self._closed_at_start is None:
            self._closed_at_start = set(self._hiding_places())

    def _hiding_places(self) -> dict[tuple[str, str], str]:
        """Return the troubles that may hide files, by kind and place."""
        return {
            (of, place): why
            for of in HIDING
            for place, why in dict(self._places.get(of, {})).items()
        }

    def add(self, of: str, place: str, reason: str) -> None:
        """Note that ``place`` has the trouble ``of`` from now on."""
        self._places.setdefault(of, {})[place] = reason

    def remove(self, of: str, place: str) -> None:
        """Note that ``place`` has the trouble ``of`` no longer."""
        self._places.get(of, {}).pop(place, None)

    def leave(self, of: str, folder: str) -> None:
        """Note that neither ``folder`` nor anything below it is there any more."""
        for place in list(self._places.get(of, {})):
            if (place + "/").startswith(folder + "/"):
                self.remove(of, place)

    def clear(self) -> None:
        """Forget all places, for a new attachment."""
        self._places.clear()
        self._is_hiding = False  # the gap of the whole source has ended that of its parts

    def publish(self, sink: Sink) -> None:
        """Report what began and what is over since the last time."""
        now: dict[str, str] = {}
        for of, places in dict(self._places).items():
            reasons = list(places.values())
            if reasons:
                now[of] = reasons[0]
        for of in sorted(self._told - now.keys()):
            self._told.discard(of)
            sink("alarm.ended", {"source": "files", "part": of})
        for of in sorted(now.keys() - self._told):
            self._told.add(of)
            sink("alarm.raised", {"source": "files", "part": of, "reason": now[of]})
            log.warning("Files are seen worse than they should be.", of=of, why=now[of])
        self._publish_gap(sink)

    def _publish_gap(self, sink: Sink) -> None:
        """Begin or end the gap of hidden files, when one of them came or the last one went."""
        if self._closed_at_start is None:
            return
        hiding = [
            why for at, why in self._hiding_places().items() if at not in self._closed_at_start
        ]
        if bool(hiding) == self._is_hiding:
            return
        self._is_hiding = bool(hiding)
        for part in HIDDEN_PARTS:
            if hiding:
                sink("gap.began", {"source": "files", "part": part, "reason": hiding[0]})
            else:
                sink("gap.ended", {"source": "files", "part": part})
