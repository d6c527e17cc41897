"""The X display beside the accessibility bus: hands presses to the fold, names programs that are
not on the bus."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from agentd.core.backoff import Backoff
from agentd.core.patience import Patience
from agentd.core.source import Sink, SourceLostError
from agentd.core.worker_thread import SourceThread
from agentd.sources.ax.display import Client, DesktopDisplay, PointerPlace
from agentd.sources.ax.messages import Message

LATE_S = 0.04
"""How long after the pointer went up a menu's item may still be highlighted, in seconds."""
ANSWER_S = 0.05
SAME_CLOCK_MS = 10_000
CLIENTS_S = 1.0
"""How often the windows on the display are listed, in seconds."""
STILL = 10
"""How many pixels the pointer may move between down and up and still click."""
PATIENT = 3
"""How many looks in a row must find a program's window without the program on the bus. With more
patience there are more, but only until a press or a seal: what is done meanwhile to a program that
is not on the bus would else be taken for nothing."""
AGAIN_S = 0.5
SELDOM_S = 10.0
"""How soon, in seconds, a display out of reach is tried again, and how seldom in the end."""
PRESSES = {"source": "ax", "part": "widget.activated"}
REASON = "unobservable: its window is there, but it is not on the accessibility bus"

log = structlog.get_logger(__name__)


@dataclass
class _PendingPress:
    """A press under way: ``up``: how it ended, "" while the button is down; ``answered``: whether
    the child did."""

    up: str = ""
    answered: bool = False


class DisplayListener:
    """Listens to presses on the display ``name``.

    ``feed`` takes messages for the fold; ``ask`` sends the child a command. Without a display there
    is a gap of ``widget.activated``; one that is lost is tried again. The display is asked in a
    thread of its own: an X server that was stopped holds nothing up. ``patience`` multiplies how
    long it has for an answer, and a program to come on the bus.
    """

    def __init__(
        self,
        name: str | None,
        feed: Callable[[Message], None],
        ask: Callable[[Message], None],
        sink: Sink,
        patience: Patience,
    ) -> None:
        self._patience = patience
        self._feed = feed
        self._ask = ask
        self._sink = sink
        self._number = 0
        self._down: PointerPlace | None = None
        self._clicks: dict[int, _PendingPress] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._clients: list[Client] = []
        self._absent: dict[str, int] = {}
        self._told: set[str] = set()
        self._blind = False
        self._backoff = Backoff(AGAIN_S, SELDOM_S)
        self._worker: SourceThread | None = None
        self._task = asyncio.create_task(self._keep(name), name="ax display")

    async def _keep(self, name: str | None) -> None:
        """Watch the display for ever; one that is lost is tried again."""
        if not name:
            self._lose("there is no X display")
            return
        while True:
            try:
                self._worker = SourceThread(
                    "ax display", partial(_watch, name), self._take, self._regain
                )
                await self._worker.run()
                why = "its thread ended"
            except SourceLostError as error:
                why = str(error)
            except Exception as crash:
                why = f"{type(crash).__name__}: {crash}"
                log.error(
                    "The thread that watches the display crashed.", display=name, exc_info=crash
                )
            finally:
                self._worker = None
            self._lose(f"the display {name} can't be watched: {why}"[:500])
            await self._backoff.wait()

    def _lose(self, why: str) -> None:
        """Drop the clicks under way, and report that no press is heard from now on."""
        self._down = None
        self._clicks.clear()
        self._clients = []
        self._idle.set()
        if not self._blind:
            self._blind = True
            log.warning("No presses are heard.", why=why)
            for kind in ("gap.began", "alarm.raised"):
                self._sink(kind, PRESSES | {"reason": f"no presses are heard: {why}"})

    def _regain(self) -> None:
        """End the gap of presses, if there is one, once the display is listened to again."""
        self._backoff.reset()
        if self._blind:
            self._blind = False
            for kind in ("gap.ended", "alarm.ended"):
                self._sink(kind, PRESSES)

    async def close(self) -> None:
        """Stop listening to the display and close the connection to it."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _take(self, kind: str, data: Mapping[str, Any]) -> None:
        """Follow what the thread reports, on the loop."""
        match kind:
            case "key":
                self.decide()
                self._feed({"t": "press", "what": "key", "at": data["at"]})
            case "down":
                self.decide()
                self._went_down(data["place"], data["at"])
            case "up":
                self._went_up(data["place"])
            case "clients":
                self._clients = data["clients"]

    def _went_down(self, place: PointerPlace, at: int) -> None:
        """Note where the button went down, and ask the program there what is under it."""
        self._number += 1
        self._down = place
        click = self._clicks[self._number] = _PendingPress()
        self._idle.clear()
        self._feed({"t": "press", "what": "down", "n": self._number, "at": at})
        if not place.pid:
            # A window manager's frame, the desktop's ground, a menu; or it is gone already.
            click.answered = True
            return
        self._ask(
            {
                "c": "hit",
                "n": self._number,
                "pid": place.pid,
                "x": place.x,
                "y": place.y,
                "wx": place.window_x,
                "wy": place.window_y,
            }
        )

    def _went_up(self, place: PointerPlace) -> None:
        """Note whether the button came up where it went down, or was dragged."""
        click = self._clicks.get(self._number)
        if self._down is None or click is None:
            return
        distance = max(abs(place.x - self._down.x), abs(place.y - self._down.y))
        self._down = None
        click.up = "dragged" if distance > STILL else "up"
        self._end_soon(self._number)

    def hit(self, message: Message) -> None:
        """Follow the child's answer to what is under the pointer."""
        click = self._clicks.get(message["n"])
        if click is not None:
            click.answered = True
            self._feed({"t": "press", "what": "under", "n": message["n"], "id": message["id"]})
            self._end_soon(message["n"])

    def _end_soon(self, number: int) -> None:
        """End a click that is up and answered, a little later: a menu's item may be highlighted on
        the accessibility bus only now."""
        if self._clicks[number].up and self._clicks[number].answered:
            asyncio.get_running_loop().call_later(LATE_S, self._end_click, number)

    def _end_click(self, number: int) -> None:
        """Tell how a click ended, and that none runs any more with the last one."""
        click = self._clicks.pop(number, None)
        if click is not None:
            self._feed({"t": "press", "what": click.up, "n": number})
        if not self._clicks:
            self._idle.set()

    async def wait_settled(self) -> None:
        """Return when the last click is reported; a button that is held down is not waited for."""
        if self._worker is not None:
            await self._worker.ask(lambda: None, self._patience.extend(ANSWER_S))
        if self._down is None:
            await self._idle.wait()

    def review(self, on_bus: Iterable[int]) -> None:
        """Compare the windows on the display with the programs (process ids) on the bus."""
        pids = set(on_bus)
        present = {client.program for client in self._clients if client.pid in pids}
        absent = {client.program for client in self._clients} - present
        self._absent = {program: self._absent.get(program, 0) + 1 for program in absent}
        self._report_absent(self._patience.extend(PATIENT))
        for program in sorted(self._told - absent):
            self._told.discard(program)
            self._sink("gap.ended", {"source": "ax", "part": program})
            self._sink("alarm.ended", {"source": "ax", "part": program})

    @property
    def is_undecided(self) -> bool:
        """Whether a program is waited for, beyond `PATIENT` looks, to come on the bus."""
        return any(self._absent[one] >= PATIENT for one in self._absent.keys() - self._told)

    def decide(self) -> None:
        """Wait no longer for programs to come on the bus: `is_undecided` is false from here on."""
        self._report_absent(PATIENT)

    def _report_absent(self, looks: float) -> None:
        """Report the programs that so many looks did not find on the bus, each once."""
        for program in sorted(self._absent.keys() - self._told):
            if self._absent[program] >= looks:
                self._told.add(program)
                self._sink("gap.began", {"source": "ax", "part": program, "reason": REASON})
                self._sink("alarm.raised", {"source": "ax", "part": program, "reason": REASON})


def _watch(name: str, worker: SourceThread) -> None:
    """Report presses as they come, and the list of windows every `CLIENTS_S`; the thread's work."""
    display = DesktopDisplay(name)
    worker.ready()
    due = 0.0
    while not worker.stopping:
        # Questions to the server take in what comes meanwhile, which no file descriptor shows: so
        # look again.
        while presses := display.take_presses():
            for press in presses:
                data: dict[str, object] = {"at": _clock(press.time)}
                if press.what != "key":
                    data["place"] = display.pointer()
                worker.tell(press.what, data)
        if time.monotonic() >= due:
            worker.tell("clients", {"clients": display.clients()})
            due = time.monotonic() + CLIENTS_S
            continue
        worker.answer()
        worker.pause(due - time.monotonic(), display.fileno)
    display.close()


def _clock(moment: int) -> int:
    """Return a time of the X server's as ours, in ms.

    A server on this machine has the same clock; of another it is now.
    """
    now = round(time.monotonic() * 1000)
    late = (now - moment) & 0xFFFFFFFF
    return now - late if late < SAME_CLOCK_MS else now
