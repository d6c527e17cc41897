"""Attaches to new targets one by one, where the browser would do it by itself and hold popups and frames up.

Measured on Chromium 156, of popups: with `Target.setAutoAttach` on the browser's session, even with waitForDebuggerOnStart false,
a page that calls window.open stands still until somebody sends Runtime.runIfWaitingForDebugger. That is not ours to
send: whoever else holds new pages back, to set them up, would lose them. Without it targets are attached to by name as
they appear. Through a harness's library there is no other way anyhow. tests/cdp/test_popups.py

And of frames within a frame of another process: `Target.setAutoAttach` on that one's session, sent while such a frame
is on its way and another client holds it back to set it up, as Playwright does with each, leaves it standing for ever,
and its page without a load event. tests/cdp/test_navigation.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from agentd.sources.cdp.transports.filters import Filter, passes
from agentd.sources.cdp.transports.wire import Message, Wire

OWN = 1 << 29
"""The numbers of the commands from here; whoever speaks through it stays below."""
BELOW = ("iframe", "worker")
"""Types that belong to a page or a frame, and are not the browser's own to attach to."""
HOLDING = "iframe"
"""Type of the targets below which the browser's own way holds others up."""


@dataclass(frozen=True, slots=True)
class _Target:
    kind: str
    parent: str


@dataclass(frozen=True, slots=True)
class _Below:
    """What is wanted below a target, and the session from which it was said."""

    session: str
    wanted: Filter | None


class ByHand:
    """A `Wire` over a wire. ``scope``: a browser context's id; targets of others are left alone and not told of."""

    def __init__(self, wire: Wire, scope: str | None = None) -> None:
        self._wire = wire
        self._scope = scope
        self._last = OWN
        self._told: Filter | None = ()
        self._wanted: Filter | None = ()
        self._targets: dict[str, _Target] = {}  # all in scope
        self._taken: set[str] = set()
        self._holding: dict[str, str] = {}  # session -> its target
        self._below: dict[str, _Below] = {}  # target -> what is wanted there

    def send(self, message: Message) -> None:
        """See `Wire`."""
        session = message.get("sessionId")
        if not session:
            message = self._own(message)
        elif message["method"] == "Target.setAutoAttach" and session in self._holding:
            message = self._attaching(message, session)
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
            return self._considered(message)
        return message

    def _attaching(self, message: Message, session: str) -> Message:
        """What is sent instead of a frame's `Target.setAutoAttach`."""
        self._below[self._holding[session]] = _Below(session, message["params"].get("filter"))
        return self._considered({"id": message["id"]})

    def _considered(self, message: Message) -> Message:
        for target in list(self._targets):
            self._consider(target)
        return message | {"method": "Browser.getVersion", "params": {}}  # answered when all are attached to

    def _consider(self, target: str) -> None:
        about = self._targets[target]
        below = self._below.get(about.parent) if about.kind in BELOW else _Below("", self._wanted)
        if target in self._taken or below is None or not passes(below.wanted, about.kind):
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
                continue
            method, params = message["method"], message.get("params") or {}
            if method == "Target.attachedToTarget":
                yield self._attached(message)
                continue
            if method == "Target.detachedFromTarget":
                self._below.pop(self._holding.pop(params["sessionId"], ""), None)
            if message.get("sessionId") or self._tells(method, params):
                yield message

    async def close(self) -> None:
        """See `Wire`."""
        await self._wire.close()

    def _attached(self, message: Message) -> Message:
        """The message as if it came from where what it tells of was wanted."""
        params = message["params"]
        info = params["targetInfo"]
        if info.get("type") == HOLDING and "parentId" in info:  # an older browser tells of none: its own way is left
            self._holding[params["sessionId"]] = info["targetId"]
        below = self._below.get(info.get("parentId", "")) if not message.get("sessionId") else None
        return message | {"sessionId": below.session} if below is not None else message

    def _tells(self, method: str, params: Message) -> bool:
        """Keep the list of targets; whether the message is to be told."""
        if method in ("Target.targetCreated", "Target.targetInfoChanged"):
            info = params["targetInfo"]
            if self._scope not in (None, info.get("browserContextId")):
                return False
            self._targets[info["targetId"]] = _Target(info["type"], info.get("parentId", ""))
            self._consider(info["targetId"])
            return passes(self._told, info["type"])
        if method not in ("Target.targetDestroyed", "Target.targetCrashed"):
            return True
        target = self._targets.get(params["targetId"])
        if method == "Target.targetDestroyed":
            self._targets.pop(params["targetId"], None)
            self._taken.discard(params["targetId"])
        return target is not None and passes(self._told, target.kind)
