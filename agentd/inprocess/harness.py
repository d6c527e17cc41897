"""What is asked of the library that a harness drives its browser with: to carry, on its own loop,
what we say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from agentd.core.source import SourceLostError
from agentd.sources.cdp.transport.carrier import Carrier, Inbox
from common.devtools_messages import Message, replace_halves

INSIDE = "Target.receivedMessageFromTarget"
EVENTS = (
    INSIDE,
    "Target.attachedToTarget",
    "Target.detachedFromTarget",
    "Target.targetCreated",
    "Target.targetInfoChanged",
    "Target.targetDestroyed",
    "Target.targetCrashed",
)
"""What a browser-level session hears of pages; all else comes inside the first."""

Errors = tuple[type[Exception], ...]


class Harness(Protocol):
    """One browser in the hands of one library. Made on the harness's thread."""

    browser: object
    """Names the browser among those that are attached to."""
    scope: str | None
    """The id of the browser context that is watched; None: all of them."""

    async def carry(self, inbox: Inbox) -> Carrier:
        """On the daemon's loop: open a browser-level session of our own; SourceLostError where the
        browser is gone."""


class AsyncSession(Protocol):
    """A DevTools session of a library on asyncio; used on the harness's loop."""

    def send(self, method: str, params: Message) -> Awaitable[Message | None]: ...

    def detach(self) -> Awaitable[object]: ...


class LoopCarrier:
    """A `Carrier` over ``session``, which lives on ``loop``, the harness's. ``errors``: the
    library's own."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, session: AsyncSession, inbox: Inbox, errors: Errors
    ) -> None:
        self._loop = loop
        self._session = session
        self._inbox = inbox
        self._errors = errors
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, number: int, method: str, params: Message) -> None:
        self._begin(lambda: self._reply(number, lambda: self._session.send(method, params)))

    def close(self) -> None:
        self._begin(lambda: self._reply(0, self._session.detach))

    def _begin(self, what: Callable[[], Coroutine[object, object, None]]) -> None:
        """Let the harness's loop begin ``what``; a closed loop is the end of the connection."""
        try:
            self._loop.call_soon_threadsafe(self._run, what)
        except RuntimeError:  # the harness's loop is closed
            self._inbox.put(None)

    def _run(self, what: Callable[[], Coroutine[object, object, None]]) -> None:
        task = self._loop.create_task(what())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, number: int, what: Callable[[], Awaitable[object]]) -> None:
        """Await a command's result, and put it, or its error, into the inbox under the command's
        number."""
        try:
            result = await what()
        except self._errors as error:
            self._inbox.put({"id": number, "error": {"message": str(error)}})
        else:
            self._inbox.put({"id": number, "result": result or {}})


async def on_loop(
    loop: asyncio.AbstractEventLoop, what: Coroutine[object, object, object], errors: Errors
) -> Any:
    """Await ``what`` on the harness's loop from the daemon's; raises SourceLostError with the
    library's words."""
    try:
        done = asyncio.run_coroutine_threadsafe(what, loop)
    except RuntimeError as error:
        what.close()
        raise SourceLostError(f"the harness's event loop is gone: {error}") from None
    try:
        return await asyncio.wrap_future(done)
    except errors as error:
        raise SourceLostError(f"the harness's library opens no DevTools session: {error}") from None


def telling(inbox: Inbox, method: str) -> Callable[[Message | None], None]:
    """A listener for one kind of event, which brings it into the inbox."""

    def listener(params: Message | None) -> None:
        """Put one event of DevTools into the inbox, with texts that can be written down."""
        message: Message = {"method": method, "params": params or {}}
        # What comes inside is read as text later; elsewhere a title may hold half a character.
        inbox.put(message if method == INSIDE else replace_halves(message))

    return listener
