"""The flattened protocol through a session that somebody else's connection carries.

A library that holds the browser's connection gives us one browser-level session of our own, but no way to name a
session in a message. So pages and frames are attached to without ``flatten``: what concerns them travels inside
``Target.sendMessageToTarget`` and ``Target.receivedMessageFromTarget``, nested as often as frames are. Seen from
above it is the same protocol in the same order, so the same attachment gives the same events.

The browser offers automatic attachment to pages only with ``flatten``; here it is done by hand, as targets appear.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import orjson

from agentd.sources.cdp.transports.carrier import Carrier, Inbox
from agentd.sources.cdp.transports.filters import Filter, passes
from agentd.sources.cdp.transports.wire import Message, decode

OWN = 1 << 30
"""The tunnel numbers its own commands from here on; whoever speaks through it stays below."""
BELOW = ("iframe", "worker")
"""Types that are attached to from the page that they belong to, never from the browser."""


class Tunnel:
    """A `Wire`. ``scope``: a browser context's id; targets of others are left alone and not told of."""

    def __init__(self, carrier: Carrier, inbox: Inbox, scope: str | None = None) -> None:
        self._carrier = carrier
        self._inbox = inbox
        self._scope = scope
        self._last = OWN
        self._parents: dict[str, str] = {}  # session -> the one that it is attached from, "" the browser's
        self._asked: dict[int, int] = {}  # our number -> that of a command to the browser itself
        self._wrapped: dict[int, tuple[str, int]] = {}  # our number -> session and number of what is inside
        self._attaching: dict[int, int | None] = {}  # our number -> the command whose answer waits for it
        self._told: Filter | None = ()
        self._attached: Filter | None = ()
        self._targets: dict[str, str] = {}  # id -> type, of all in scope
        self._taken: set[str] = set()

    # -- down

    def send(self, message: Message) -> None:
        """See `Wire`."""
        session, number, params = message.get("sessionId", ""), message["id"], message["params"]
        if session:
            if message["method"] == "Target.setAutoAttach":
                params = params | {"flatten": False}
            self._wrap(session, number, {"id": number, "method": message["method"], "params": params})
        elif message["method"] == "Target.setAutoAttach":
            self._attach_all(number, params)
        else:
            if message["method"] == "Target.setDiscoverTargets":
                self._told = params.get("filter")
                # Of every type: what is to be attached to must be known too.
                params = {"discover": True, "filter": [{"type": "browser", "exclude": True}, {}]}
            self._ask(number, message["method"], params)

    def _number(self) -> int:
        self._last += 1
        return self._last

    def _ask(self, number: int, method: str, params: Message) -> None:
        own = self._number()
        self._asked[own] = number
        self._carrier.send(own, method, params)

    def _wrap(self, session: str, number: int, message: Message) -> None:
        at = session
        while at:
            own = self._number()
            self._wrapped[own] = (session, number)
            parent = self._parents.get(at)
            if parent is None:
                self._inbox.put({"id": own, "error": {"message": "Session with given id not found."}})
                return
            carried = {"sessionId": at, "message": orjson.dumps(message).decode()}
            message = {"id": own, "method": "Target.sendMessageToTarget", "params": carried}
            at = parent
        self._carrier.send(message["id"], message["method"], message["params"])

    def _attach_all(self, number: int, params: Message) -> None:
        """Attach to what is there, answer when that is done, and go on with what appears."""
        self._attached = _pages(params.get("filter")) if params["autoAttach"] else ()
        for target in list(self._targets):
            self._consider(target, number)
        if number not in self._attaching.values():
            self._ask(number, "Browser.getVersion", {})  # any answer will do

    def _consider(self, target: str, number: int | None = None) -> None:
        kind = self._targets[target]
        if target not in self._taken and kind not in BELOW and passes(self._attached, kind):
            self._taken.add(target)
            own = self._number()
            self._attaching[own] = number
            self._carrier.send(own, "Target.attachToTarget", {"targetId": target, "flatten": False})

    # -- up

    async def messages(self) -> AsyncIterator[Message]:
        """See `Wire`."""
        async for message in self._inbox.messages():
            for one in self._unpack("", message):
                yield one

    async def close(self) -> None:
        """See `Wire`."""
        self._carrier.close()

    def _unpack(self, session: str, message: Message) -> Iterator[Message]:
        number, method = message.get("id"), message.get("method")
        if number is not None:
            yield from self._reply(session, number, message)
            return
        params = message.get("params") or {}
        if method == "Target.receivedMessageFromTarget":
            if params["sessionId"] in self._parents:
                yield from self._unpack(params["sessionId"], decode(params["message"]))
            return
        if method == "Target.attachedToTarget":
            self._parents[params["sessionId"]] = session
        elif method == "Target.detachedFromTarget":
            self._parents.pop(params["sessionId"], None)
        elif not session and not self._listed(str(method), params):
            return
        yield {"sessionId": session, "method": method, "params": params}

    def _reply(self, session: str, number: int, message: Message) -> Iterator[Message]:
        if number < OWN:
            yield message | {"sessionId": session}
        elif number in self._asked:
            yield message | {"id": self._asked.pop(number)}
        elif number in self._wrapped:
            about, inner = self._wrapped.pop(number)
            if "error" in message:
                yield {"sessionId": about, "id": inner, "error": message["error"]}
        elif number in self._attaching:  # refused: the target has gone already
            waits = self._attaching.pop(number)
            if waits is not None and waits not in self._attaching.values():
                yield {"id": waits, "result": {}}

    def _listed(self, method: str, params: Message) -> bool:
        """Keep the list of targets; whether the message is to be told."""
        if method in ("Target.targetCreated", "Target.targetInfoChanged"):
            info = params["targetInfo"]
            if self._scope not in (None, info.get("browserContextId")):
                return False
            self._targets[info["targetId"]] = info["type"]
            self._consider(info["targetId"])
            return passes(self._told, info["type"])
        if method not in ("Target.targetDestroyed", "Target.targetCrashed"):
            return True
        kind = self._targets.get(params["targetId"])
        if method == "Target.targetDestroyed":
            self._targets.pop(params["targetId"], None)
            self._taken.discard(params["targetId"])
        return kind is not None and passes(self._told, kind)


def _pages(wanted: Filter | None) -> Filter | None:
    """Pages instead of the tabs that they stand in: whoever holds the connection has attached to the pages already."""
    return wanted and [{**entry, "type": "page"} if entry.get("type") == "tab" else entry for entry in wanted]
