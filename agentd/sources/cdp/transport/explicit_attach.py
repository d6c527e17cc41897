"""Attaches to new targets one by one, where the browser would do it by itself and hold popups and
frames up.

Measured on Chromium 156, of popups: with `Target.setAutoAttach` on the browser's session, even with
waitForDebuggerOnStart false, a page that calls window.open stands still until somebody sends
Runtime.runIfWaitingForDebugger. That is not ours to send: whoever else holds new pages back, to set
them up, would lose them. Without it targets are attached to by name as they appear. Through a
harness's library there is no other way anyhow. tests/cdp/test_popups.py

And of frames in processes of their own: `Target.setAutoAttach` on the session of a page or a frame,
sent while a frame within it is on its way and another client holds that one back to set it up, as
Playwright does with each, leaves it standing for ever, and its page without a load event.
tests/cdp/test_popups.py, tests/cdp/test_navigation.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from agentd.sources.cdp.transport.filters import Filter, passes
from agentd.sources.cdp.transport.wire import DevToolsWire
from common.devtools_messages import Message

OWN = 1 << 29
"""The numbers of the commands from here; whoever speaks through it stays below."""
BELOW = ("iframe", "worker")
"""Types that belong to a page or a frame, and are not the browser's own to attach to."""
ABOVE = ("page", "iframe")
"""Types of the targets below which the browser's own way holds others up."""


class _Target(NamedTuple):
    kind: str
    parent: str


class _Below(NamedTuple):
    """What is wanted below a target: the session from which it was said, and how."""

    session: str
    params: Message


class ByHand:
    """A `DevToolsWire` over a wire. ``scope``: a browser context's id; targets of others are left
    alone and not told of."""

    def __init__(self, wire: DevToolsWire, scope: str | None = None) -> None:
        self._wire = wire
        self._scope = scope
        self._last = OWN
        self._told: Filter | None = ()
        self._wanted: Filter | None = ()
        self._targets: dict[str, _Target] = {}  # all in scope
        self._taken: set[str] = set()
        self._above: dict[str, str] = {}  # session of a page or a frame -> its target
        self._below: dict[str, _Below] = {}  # that target -> what is wanted there
        self._parents_told: bool | None = None  # the first target that has one decides
        self._others: set[str] = set()  # pages that are not in scope

    def send(self, message: Message) -> None:
        """As the `DevToolsWire` that it stands for does."""
        session = message.get("sessionId")
        if not session:
            message = self._own(message)
        elif (
            message["method"] == "Target.setAutoAttach"
            and session in self._above
            and self._parents_told is not False
        ):
            self._below[self._above[session]] = _Below(session, message["params"])
            message = self._considered(message["id"])
        self._wire.send(message)

    def _own(self, message: Message) -> Message:
        """What is sent instead of a command to the browser's own session."""
        method, params = message["method"], message["params"]
        if method == "Target.setDiscoverTargets":
            self._told = params.get("filter")
            # Of every type: what is to be attached to must be known too.
            return message | {
                "params": {"discover": True, "filter": [{"type": "browser", "exclude": True}, {}]}
            }
        if method == "Target.setAutoAttach":
            self._wanted = params.get("filter")
            return self._considered(message["id"])
        if method == "Browser.getHistograms" and self._others:
            return _unanswered(message["id"])  # it counts what they do as well
        return message

    def _considered(self, number: int) -> Message:
        """What is sent instead of `Target.setAutoAttach`: it is answered when all that are there
        are attached to."""
        for target in list(self._targets):
            self._consider(target)
        return _unanswered(number)

    def _consider(self, target: str) -> None:
        """Attach to a target, once, if targets of its kind are wanted there."""
        kind, parent = self._targets[target]
        if kind in BELOW:
            wanted = self._below[parent].params.get("filter") if parent in self._below else ()
        else:
            wanted = self._wanted
        if target in self._taken or not passes(wanted, kind):
            return
        self._taken.add(target)
        self._command("Target.attachToTarget", {"targetId": target, "flatten": True})

    def _command(self, method: str, params: Message, **session: str) -> None:
        self._last += 1
        self._wire.send({"id": self._last, "method": method, "params": params, **session})

    async def messages(self) -> AsyncIterator[Message]:
        """As the `DevToolsWire` that it stands for does."""
        async for message in self._wire.messages():
            if (number := message.get("id")) is not None:
                if number < OWN:
                    yield message
                continue
            method, params = message["method"], message.get("params") or {}
            if method == "Target.attachedToTarget":
                if self._is_orphan(message):
                    continue
                message = self._attached(message)
            elif method == "Target.detachedFromTarget":
                self._below.pop(self._above.pop(params["sessionId"], ""), None)
            if message.get("sessionId") or self._tells(method, params):
                yield message

    async def close(self) -> None:
        """As the `DevToolsWire` that it stands for does."""
        await self._wire.close()

    def _is_orphan(self, message: Message) -> bool:
        """Whether what it belongs to went while it was attached to: it goes too, and stands
        nowhere."""
        info = message["params"]["targetInfo"]
        return (
            not message.get("sessionId")
            and info["type"] in BELOW
            and _parent(info) not in self._below
        )

    def _attached(self, message: Message) -> Message:
        """The message as if it came from where what it tells of was wanted."""
        session, info = message["params"]["sessionId"], message["params"]["targetInfo"]
        if info["type"] in ABOVE:
            self._above[session] = info["targetId"]
        if message.get("sessionId") or _parent(info) not in self._below:
            return message
        return message | {"sessionId": self._below[_parent(info)].session}

    def _give_way(self) -> None:
        """An older browser does not tell what a frame or a worker belongs to: that is left to its
        own way."""
        for session, params in self._below.values():
            self._command("Target.setAutoAttach", params, sessionId=session)
        self._below.clear()

    def _tells(self, method: str, params: Message) -> bool:
        """Keep the list of targets; whether the message is to be told."""
        if method in ("Target.targetCreated", "Target.targetInfoChanged"):
            info = params["targetInfo"]
            if self._scope not in (None, info.get("browserContextId")):
                if info["type"] == "page":
                    self._others.add(info["targetId"])
                return False
            if info["type"] in BELOW and self._parents_told is None:
                self._parents_told = "parentId" in info
                if not self._parents_told:
                    self._give_way()
            self._targets[info["targetId"]] = _Target(info["type"], _parent(info))
            self._consider(info["targetId"])
            return passes(self._told, info["type"])
        if method not in ("Target.targetDestroyed", "Target.targetCrashed"):
            return True
        target = self._targets.get(params["targetId"])
        if method == "Target.targetDestroyed":
            self._targets.pop(params["targetId"], None)
            self._taken.discard(params["targetId"])
            self._others.discard(params["targetId"])
        return target is not None and passes(self._told, target.kind)


def _unanswered(number: int) -> Message:
    """A command that is answered, in its turn, with nothing of what was asked."""
    return {"id": number, "method": "Browser.getVersion", "params": {}}


def _parent(info: Message) -> str:
    """Return the target that another one belongs to, "" for none."""
    return str(info.get("parentId") or info.get("parentFrameId") or "")
