"""The flattened protocol through a session that somebody else's connection carries.

A library that holds the browser's connection gives us one browser-level session of our own, but no
way to name a session in a message. So targets are attached to without ``flatten``: what concerns
them travels inside ``Target.sendMessageToTarget`` and ``Target.receivedMessageFromTarget``, nested
as often as targets are. Seen from above it is the same protocol in the same order, so the same
attachment gives the same events.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import orjson

from agentd.sources.cdp.transport.carrier import Carrier, Inbox
from common.devtools_messages import Message, decode_message
from detectors.model.safe_json import mapping

OWN = 1 << 30
"""The tunnel numbers its own commands from here on; whoever speaks through it stays below."""
ATTACHING = ("Target.setAutoAttach", "Target.attachToTarget")


class Tunnel:
    """A `DevToolsWire` through ``carrier``; ``inbox`` is where the carrier puts what comes."""

    def __init__(self, carrier: Carrier, inbox: Inbox) -> None:
        self._carrier = carrier
        self._inbox = inbox
        self._last = OWN
        # Session -> the one that it is attached from, "" the browser's.
        self._parents: dict[str, str] = {}
        # Our number -> session and number of what is inside.
        self._wrapped: dict[int, tuple[str, int]] = {}

    def send(self, message: Message) -> None:
        """As the `DevToolsWire` that it stands for does."""
        number, method, params = message["id"], message["method"], message["params"]
        if method in ATTACHING:
            params = params | {"flatten": False}
        session = message.get("sessionId", "")
        if session:
            self._wrap(session, number, {"id": number, "method": method, "params": params})
        else:
            self._carrier.send(number, method, params)

    def _wrap(self, session: str, number: int, message: Message) -> None:
        """Send a command through all sessions above its own; an error answers where one of them is
        gone."""
        at = session
        while at:
            self._last += 1
            self._wrapped[self._last] = (session, number)
            parent = self._parents.get(at)
            if parent is None:
                self._inbox.put(
                    {"id": self._last, "error": {"message": "Session with given id not found."}}
                )
                return
            carried = {"sessionId": at, "message": orjson.dumps(message).decode()}
            message = {"id": self._last, "method": "Target.sendMessageToTarget", "params": carried}
            at = parent
        self._carrier.send(message["id"], message["method"], message["params"])

    async def messages(self) -> AsyncIterator[Message]:
        """As the `DevToolsWire` that it stands for does."""
        async for message in self._inbox.messages():
            for one in self._unpack("", message):
                yield one

    async def close(self) -> None:
        """As the `DevToolsWire` that it stands for does."""
        self._carrier.close()

    def _unpack(self, session: str, message: Message) -> Iterator[Message]:
        """Yield the messages in one that was carried, each with its session."""
        number, method = message.get("id"), message.get("method")
        if number is not None:
            yield from self._reply(session, number, message)
            return
        params = mapping(message.get("params"))
        if method == "Target.receivedMessageFromTarget":
            if params["sessionId"] in self._parents:
                yield from self._unpack(params["sessionId"], decode_message(params["message"]))
            return
        if method == "Target.attachedToTarget":
            self._parents[params["sessionId"]] = session
        elif method == "Target.detachedFromTarget":
            self._parents.pop(params["sessionId"], None)
        yield {"sessionId": session, "method": method, "params": params}

    def _reply(self, session: str, number: int, message: Message) -> Iterator[Message]:
        """Yield a reply of the daemon's own command; of one that only carried, at most its
        error."""
        if number < OWN:
            yield message | {"sessionId": session}
            return
        about, inner = self._wrapped.pop(number, ("", 0))
        if "error" in message and inner:
            yield {"sessionId": about, "id": inner, "error": message["error"]}
