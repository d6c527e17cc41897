"""What `milestoned watch --events` prints: each event with the conditions that it meets."""

from __future__ import annotations

from collections.abc import Sequence

from api.rewards.event_text import line
from api.suggestions.telling import condition_lines
from api.suggestions.trial import MAX_EVENTS, EventConditions, TaskSite, find_site
from api.suggestions.trial import suggest as suggest_for
from detectors.model.types import Event
from lab.demo.show import DemoScreen


class ConditionPrinter:
    """Keeps a session's events and prints the conditions of those that are new.

    ``site`` is the task's; without one, the site in which most pages were opened so far.
    """

    def __init__(self, screen: DemoScreen, site: TaskSite | None) -> None:
        self._screen, self._site = screen, site
        self._events: list[Event] = []
        self._shown = 0
        self._origin_said: str | None = None

    def take(self, event: Event) -> None:
        """Take in the session's next event."""
        self._events.append(event)

    def complete(self, log: Sequence[Event]) -> None:
        """Take in those of the session's events that had not come yet when it ended, and print
        what they meet."""
        self._events += log[len(self._events) :]
        self.show()

    def show(self) -> None:
        """Print what the events that came since the last call meet; nothing beyond `MAX_EVENTS`."""
        through = len(self._events)
        if through == self._shown or self._shown > MAX_EVENTS:
            return
        log, first = self._events[:through], self._shown + 1
        self._shown = through
        if through > MAX_EVENTS:
            self._screen.line(f"More than {MAX_EVENTS} events: no more conditions are suggested.")
            return
        site = self._site or find_site(log)
        if self._site is None and site.origin not in (None, self._origin_said):
            self._origin_said = site.origin
            self._screen.line(self._screen.paint(f"origin: {site.origin}", "bold"))
        for one in suggest_for(log, site, first):
            self._print(one)

    def _print(self, one: EventConditions) -> None:
        """Write an event with the conditions that it meets; what is no condition, but a reason for
        none, in grey."""
        self._screen.line(self._screen.paint(line(one.event), "cyan"))
        for text, is_condition in condition_lines(one.conditions):
            said = text if is_condition else self._screen.paint(text, "dim")
            self._screen.line(f"        {said}")
