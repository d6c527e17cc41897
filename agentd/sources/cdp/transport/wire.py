"""What a transport is: whole DevTools messages in the flattened form, both ways, each in order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from common.devtools_messages import Message


class DevToolsWire(Protocol):
    """A message names its session in ``sessionId``; without one it is the browser's own."""

    def send(self, message: Message) -> None:
        """Put one message on its way; never waits. Of a wire that is closed nothing is sent."""

    def messages(self) -> AsyncIterator[Message]:
        """What comes from the browser, until it closes; to be read once."""

    async def close(self) -> None:
        """End it; the browser detaches by itself from every target that was attached to over it."""
