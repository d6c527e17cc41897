"""The forms that logs of CDP messages come in, made one: what chromedriver, Lighthouse and others
write.

An array or JSON lines of ``{method, params, sessionId?, targetType?}``, or of chromedriver's
performance entries, ``{message: "{\\"message\\": {method, params}, \\"webview\\": …}",
timestamp}``. Replies to commands are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from lab.convert.errors import format_value
from lab.convert.source import Source

LOOKED_AT = 50
"""How many items of a file are looked at to tell whether it is such a log."""
_TIMED = ("Network", "Page")
"""Domains whose timestamps are the browser's monotonic seconds; others count otherwise."""


@dataclass(slots=True)
class Message:
    """One message. ``number``: its place in the log; ``at``: nanoseconds since the first that has a
    time."""

    number: int
    at: int
    session: str
    target: str
    method: str
    params: dict[str, Any]

    @property
    def domain(self) -> str:
        """`Network` of `Network.dataReceived`."""
        return self.method.partition(".")[0]


def fits(source: Source) -> bool:
    """Whether the first items have a message among them."""
    return any(_inner(item) is not None for item in source.items[:LOOKED_AT])


def messages(source: Source) -> list[Message]:
    """Every message of the log, in its order. Raises `ConvertError` that names the item."""
    found: list[Message] = []
    first: float | None = None
    at = 0
    for number, item in enumerate(source.items):
        inner = _inner(item)
        if inner is None:
            if _is_reply(item):
                continue
            what = "a CDP message {method, params} or a performance entry {message}"
            raise source.wrong(
                f"{'line' if source.lines else 'item'} {number}",
                format_value(item),
                f"wanted {what}",
            )
        method, params = inner["method"], inner["params"]
        stamp = params.get("timestamp") if method.partition(".")[0] in _TIMED else None
        if isinstance(stamp, int | float):
            first = stamp if first is None else first
            with source.part(f"message {number}, {method}: timestamp {format_value(stamp)}"):
                at = max(at, int((stamp - first) * 1e9))
        session, target = (
            inner.get("sessionId") or item.get("sessionId") or "",
            inner.get("targetType") or "",
        )
        found.append(Message(number, at, str(session), str(target), method, params))
    if not found:
        raise source.wrong("", "holds no message", "wanted CDP messages, {method, params}")
    return found


def _inner(item: Any) -> dict[str, Any] | None:
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("message"), str):
        try:
            outer = orjson.loads(item["message"])
        except orjson.JSONDecodeError:
            return None
        item = outer.get("message") if isinstance(outer, dict) else None
    elif isinstance(item.get("message"), dict):
        item = item["message"]
    if (
        not isinstance(item, dict)
        or not isinstance(item.get("method"), str)
        or "." not in item["method"]
    ):
        return None
    params = item.setdefault("params", {})
    return item if isinstance(params, dict) else None


def _is_reply(item: Any) -> bool:
    return isinstance(item, dict) and "id" in item and ("result" in item or "error" in item)


def roots(log: list[Message]) -> dict[str, str]:
    """Each page session with its main frame, in the order in which they come."""
    found: dict[str, str] = {}
    children: set[str] = set()
    for message in log:
        if message.target not in ("", "page"):
            continue
        if message.method == "Page.frameAttached":
            children.add(str(message.params.get("frameId")))
        frame = _main(message, children)
        if frame is not None:
            found.setdefault(message.session, frame)
    for message in log:
        if message.target in ("", "page"):
            found.setdefault(message.session, message.session or "page")
    return found


def _main(message: Message, children: set[str]) -> str | None:
    """The main frame that a message gives away."""
    params = message.params
    if message.method == "Page.frameNavigated":
        about = _object(params, "frame")
        return (
            None
            if about.get("parentId") or not isinstance(about.get("id"), str)
            else str(about["id"])
        )
    started = message.method in _STARTED
    if not started and not (
        message.method == "Network.requestWillBeSent" and params.get("type") == "Document"
    ):
        return None
    frame = params.get("frameId")
    return frame if isinstance(frame, str) and frame not in children else None


_STARTED = (
    "Page.frameStartedLoading",
    "Page.frameRequestedNavigation",
    "Page.navigatedWithinDocument",
)


def mended(log: list[Message]) -> Iterator[Message]:
    """The log as today's browsers would have written it, which the folds know."""
    lifecycle = any(message.method == "Page.lifecycleEvent" for message in log)
    hops: dict[str, str] = {}
    documents: dict[str, dict[str, Any]] = {}
    for message in log:
        params = message.params
        if message.method == "Network.requestWillBeSent" and "redirectResponse" in params:
            hops[str(params.get("requestId"))] = str(_object(params, "redirectResponse").get("url"))
        elif message.method == "Network.responseReceived":
            answer = _object(params, "response")
            if answer.get("status") in _REDIRECTS and hops.get(
                str(params.get("requestId"))
            ) == answer.get("url"):
                # the hop's answer once more, for a request that was cancelled and sent anew
                continue
            if answer.get("fromDiskCache") and _came_now(answer):
                message.params = params | {"response": answer | {"fromDiskCache": False}}
        elif message.method == "Page.frameNavigated" and _main(message, set()) is not None:
            documents[message.session] = params["frame"]
        elif message.method in _FIRED and not lifecycle and message.session in documents:
            frame = documents[message.session]
            about = {
                "frameId": frame["id"],
                "loaderId": frame.get("loaderId", ""),
                "name": _FIRED[message.method],
            }
            yield replace(message, method="Page.lifecycleEvent", params=about)
        yield message


_FIRED = {"Page.domContentEventFired": "DOMContentLoaded", "Page.loadEventFired": "load"}
_REDIRECTS = (301, 302, 303, 307, 308)


def _object(params: dict[str, Any], name: str) -> dict[str, Any]:
    """That part of a message; empty where it is none, which whoever folds the message refuses by
    its number."""
    value = params.get(name)
    return value if isinstance(value, dict) else {}


def _came_now(answer: dict[str, Any]) -> bool:
    """Whether an answer went through the cache only because the server sent it before it was asked
    for."""
    timing = answer.get("timing")
    return bool(answer.get("fromEarlyHints")) or timing is None or timing.get("pushStart", 0) > 0
