"""Programs that can't be observed: those whose windows are empty, and those that do not answer."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.ax.model import AxModel
from agentd.sources.ax.observation import AxObservation

EMPTY_TRIES = 3
"""How often a program's windows must have been found empty: a little more than a second."""
BUSY_TELLS = 2
"""How often a program must have been reported as busy."""
EMPTY = (
    "unobservable: its windows are there, but its accessibility tree is empty; "
    "it has to be started with accessibility on (a Chromium: --force-renderer-accessibility)"
)
SILENT = "unobservable: it does not answer on the accessibility bus"


class Visibility:
    """Begins and ends partial gaps, each with an alarm, by the program's name."""

    def __init__(self, model: AxModel) -> None:
        self._model = model

    def look(self, bus: str) -> Iterator[AxObservation]:
        """Judge a program by its windows, or what is in them, which may have changed."""
        app = self._model.apps.get(bus)
        if app is None or app.blind == SILENT:
            return
        windows = [
            window
            for window in self._model.windows.values()
            if window.bus == bus and window.nodes is not None
        ]
        if any(window.nodes for window in windows):
            yield from self._report(bus, "")
        elif any(window.tries >= EMPTY_TRIES for window in windows):
            yield from self._report(bus, EMPTY)

    def busy(self, bus: str, on: bool) -> Iterator[AxObservation]:
        """Note that a program does not answer, or does again."""
        app = self._model.apps.get(bus)
        if app is None:
            return
        app.busy = app.busy + 1 if on else 0
        if app.busy >= BUSY_TELLS:
            yield from self._report(bus, SILENT)
        elif not on and app.blind == SILENT:
            yield from self._report(bus, "")
            yield from self.look(bus)

    def program_left(self, bus: str) -> Iterator[AxObservation]:
        """End the gap of a program that is gone: nothing of it is unobserved any more."""
        yield from self._report(bus, "")

    def _report(self, bus: str, why: str) -> Iterator[AxObservation]:
        """Report that a program can't be observed, and why; "": that it can."""
        app = self._model.apps[bus]
        was_blind = bool(app.blind)
        app.blind = why
        if was_blind == bool(why) or self._has_blind_namesake(bus, app.name):
            return
        part = {"source": "ax", "part": app.name}
        if why:
            yield AxObservation("gap.began", part | {"reason": why})
            yield AxObservation("alarm.raised", part | {"reason": why})
        else:
            yield AxObservation("gap.ended", part)
            yield AxObservation("alarm.ended", part)

    def _has_blind_namesake(self, bus: str, name: str) -> bool:
        """Whether another program of that name is one that can't be seen into."""
        others = (app for app in self._model.apps.values() if app.name == name and app.bus != bus)
        return any(app.blind for app in others)
