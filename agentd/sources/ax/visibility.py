"""Which programs can't be seen: those that show windows with nothing in them, and those that do not
answer."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.ax.model import Model
from agentd.sources.ax.observation import AxObservation

EMPTY_TRIES = 3
"""How often a program's windows must have been found empty; a little more than a second after the first look."""
BUSY_TELLS = 2
EMPTY = (
    "unobservable: its windows are there, but its accessibility tree is empty; "
    "it has to be started with accessibility on (a Chromium: --force-renderer-accessibility)"
)
SILENT = "unobservable: it does not answer on the accessibility bus"


class Sight:
    """Raises and ends partial gaps, each with an alarm, by the program's name."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def look(self, bus: str) -> Iterator[AxObservation]:
        """A program's windows, or what is in them, may have changed."""
        app = self._model.apps.get(bus)
        if app is None or app.blind == SILENT:
            return
        shown = [
            one for one in self._model.windows.values() if one.bus == bus and one.nodes is not None
        ]
        if any(one.nodes for one in shown):
            yield from self._tell(bus, "")
        elif any(one.tries >= EMPTY_TRIES for one in shown):
            yield from self._tell(bus, EMPTY)

    def busy(self, bus: str, on: bool) -> Iterator[AxObservation]:
        """A program does not answer, or does again."""
        app = self._model.apps.get(bus)
        if app is None:
            return
        app.busy = app.busy + 1 if on else 0
        if app.busy >= BUSY_TELLS:
            yield from self._tell(bus, SILENT)
        elif not on and app.blind == SILENT:
            yield from self._tell(bus, "")
            yield from self.look(bus)

    def program_left(self, bus: str) -> Iterator[AxObservation]:
        """A program is gone: nothing of it is missed any more."""
        yield from self._tell(bus, "")

    def _tell(self, bus: str, why: str) -> Iterator[AxObservation]:
        app = self._model.apps[bus]
        before, app.blind = app.blind, why
        if bool(before) == bool(why) or any(
            other.blind
            for other in self._model.apps.values()
            if other.name == app.name and other.bus != bus
        ):
            return
        of = {"source": "ax", "of": app.name}
        for noun in ("gap", "alarm"):
            if why:
                yield AxObservation(
                    "gap.began" if noun == "gap" else "alarm.raised", of | {"reason": why}
                )
            else:
                yield AxObservation(f"{noun}.ended", of)
