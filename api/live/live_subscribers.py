"""Whom somebody looks at live: their daemons then tell soon what they see, and else when a step has
to know it.

A daemon hears of it in the answer to its next segment, or in the one to its question for commands,
which is answered at once when somebody begins to look. Who looks is remembered here and told to the
other replicas. Nobody says that they went: who said so long ago is believed to be gone.
"""

from __future__ import annotations

import time

from api.core.notify import COMMANDS, FOLLOWED, Notifier, commands_of, followed_topic

AGAIN_S = 15.0
"""How often who follows says so to other replicas."""
BELIEVED_S = 60.0
_ALL = "all of "


class Followers:
    """Whose logs are followed, at any replica."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._until: dict[str, float] = {}
        notifier.subscribe(FOLLOWED, self._believe)

    def note(self, episode: str) -> None:
        """Somebody follows the episode, and says so whenever they look for more."""
        self._note(episode)

    def note_all(self, tenant: str) -> None:
        """The same of all the tenant's episodes."""
        self._note(_all(tenant))

    def is_followed(self, episode: str, tenant: str) -> bool:
        """Whether somebody follows this episode of the tenant's."""
        now = time.monotonic()
        return any(self._until.get(name, now) > now for name in (episode, _all(tenant)))

    def _note(self, name: str) -> None:
        if self._until.get(name, 0.0) < time.monotonic() + BELIEVED_S - AGAIN_S:
            self._notifier.tell(followed_topic(name))

    def _believe(self, name: str) -> None:
        """Note that somebody follows an episode for a while, and wake its daemon where that is
        news."""
        now = time.monotonic()
        self._until = {other: until for other, until in self._until.items() if until > now}
        is_new = name not in self._until
        self._until[name] = now + BELIEVED_S
        if is_new and name.startswith(_ALL):
            self._notifier.wake_kind(COMMANDS)
        elif is_new:
            self._notifier.wake(commands_of(name))


def _all(tenant: str) -> str:
    return _ALL + tenant
