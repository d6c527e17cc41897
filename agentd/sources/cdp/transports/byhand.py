"""Attaches to new targets one by one, where the browser would do it by itself and hold popups up.

Measured on Chromium 156: with `Target.setAutoAttach` on the browser's session, even with waitForDebuggerOnStart false,
a page that calls window.open stands still until somebody sends Runtime.runIfWaitingForDebugger. That is not ours to
send: whoever else holds new pages back, to set them up, would lose them. Without it targets are attached to by name as
they appear. Through a harness's library there is no other way anyhow. tests/cdp/test_popups.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from agentd.sources.cdp.transports.filters import Filter, passes
from agentd.sources.cdp.transports.wire import Message, Wire

OWN = 1 << 29
"""The numbers of the commands from here; whoever speaks through it stays below."""
BELOW = ("iframe", "worker")
"""Types that are attached to from the page that they belong to, never from the browser."""


class ByHand:
    """A `Wire` over a wire. ``scope``: a browser context's id; targets of others are left alone and not told of."""

    def __init__(self, wire: Wire, scope: str | None = None) -> None:
        self._wire = wire
        self._scope = scope
        self._last = OWN
        self._told: Filter | None = ()
        self._wanted: Filter | None = ()
        self._targets: dict[str, str] = {}  # id -> type, of all in scope
        self._taken: set[str] = set()

    def send(self, message: Message) -> None:
        """See `Wire`."""
        if not message.get("sessionId"):
            message = self._own(message)
        self._wire.send(message)

    def _own(self, message: Message) -> Message:
        """What is sent instead of a command to the browser's own session."""
        method, params = message["method"], message["params"]
        if method == "Target.setDiscoverTargets":
            self._told = params.get("filter")
            # Of every type: what is to be attached to must be known too.
            return message | {"params": {"discover": True, "filter": [{"type": "browser", "exclude": True}, {}]}}
        if method == "Target.setAutoAttach":
            self._wanted = params.get("filter")
            for target in list(self._targets):
                self._consider(target)
            return message | {"method": "Browser.getVersion", "params": {}}  # answered when all are attached to
        return message

    def _consider(self, target: str) -> None:
        kind = self._targets[target]
        if target in self._taken or kind in BELOW or not passes(self._wanted, kind):
            return
        self._taken.add(target)
        self._last += 1
        params = {"targetId": target, "flatten": True}
        self._wire.send({"id": self._last, "method": "Target.attachToTarget", "params": params})

    async def messages(self) -> AsyncIterator[Message]:
        """See `Wire`."""
        async for message in self._wire.messages():
            number = message.get("id")
            if number is not None:
                if number < OWN or message.get("sessionId"):
                    yield message
            elif message.get("sessionId") or self._tells(message["method"], message.get("params") or {}):
                yield message

    async def close(self) -> None:
        """See `Wire`."""
        await self._wire.close()

    def _tells(self, method: str, params: Message) -> bool:
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
