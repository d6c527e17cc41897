"""One live episode of a demo or a watch: the service's stream becomes rows on the screen."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from detectors.model.json_value import JsonValue
from lab.demo.show import DemoScreen, ShownEvent, StepTable

if TYPE_CHECKING:
    from milestoned_client import Episode, StreamItem


class DemoFollower(threading.Thread):
    """Reads an episode's stream to its end and hands each item on; ``failed`` holds what broke
    it."""

    def __init__(self, episode: Episode, show: Callable[[StreamItem], None]) -> None:
        super().__init__(name="follower", daemon=True)
        self._episode = episode
        self._show = show
        self.failed: Exception | None = None

    def run(self) -> None:
        """Follow until the episode has ended."""
        from milestoned_client import ClientError

        try:
            for item in self._episode.stream():
                self._show(item)
        except ClientError as error:
            self.failed = error


class StepRows:
    """Makes rows of a stream: a step is shown when it is sealed, with the action that it began
    with."""

    def __init__(self, screen: DemoScreen, components: tuple[str, ...]) -> None:
        self.events: dict[int, ShownEvent] = {}
        self.steps: list[int] = []
        self._actions: dict[int, str] = {}
        self._table = StepTable(screen, components)
        self._table.head()

    def show(self, item: StreamItem) -> None:
        """Take one item of the stream."""
        from milestoned_client import Event, Reward

        got = item.item
        if isinstance(got, Event):
            self.events[got.seq] = (got.source, got.kind, got.data)
            step = got.data.get("step")
            if got.kind == "step.began" and isinstance(step, int):
                self._actions[step] = _words(got.data.get("action"))
        elif isinstance(got, Reward) and got.settled and got.step not in self.steps:
            self.steps.append(got.step)
            self._table.row(self._actions.get(got.step, "(the episode closes)"), got, self.events)


def _words(action: JsonValue) -> str:
    """Return an action in words: what it says, or else the whole of it as JSON."""
    if isinstance(action, dict) and isinstance(action.get("says"), str):
        return str(action["says"])
    return action if isinstance(action, str) else json.dumps(action, ensure_ascii=False)
