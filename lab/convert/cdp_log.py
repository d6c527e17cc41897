"""The forms that logs of CDP messages come in, made one: what chromedriver, Lighthouse and others
write.

An array or JSON lines of ``{method, params, sessionId?, targetType?}``, or of chromedriver's
performance entries, ``{message: "{\\"message\\": {method, params}, \\"webview\\": …}",
timestamp}``. Replies to commands are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import orjson

from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    read_object,
    read_text,
    require_number,
    require_object,
)
from lab.convert.errors import format_value
from lab.convert.source import SourceFile

LOOKED_AT = 50
"""How many items of a file are looked at to tell whether it is such a log."""
_TIMED = ("Network", "Page")
"""Domains whose timestamps are the browser's monotonic seconds; others count otherwise."""


@dataclass(slots=True)
class CdpMessage:
    """One message. ``number``: its place in the log; ``at``: nanoseconds since the first that has a
    time."""

    number: int
    at: int
    session: str
    target: str
    method: str
    params: dict[str, JsonValue]

    @property
    def domain(self) -> str:
        """The method's domain: `Network` of `Network.dataReceived`."""
        return self.method.partition(".")[0]


def fits(source: SourceFile) -> bool:
    """Whether the first items have a message among them."""
    return any(_inner(item) is not None for item in source.items[:LOOKED_AT])


def messages(source: SourceFile) -> list[CdpMessage]:
    """Every message of the log, in its order. Raises `ConvertError` that names the item."""
    log: list[CdpMessage] = []
    first: float | None = None
    at = 0
    for number, item in enumerate(source.items):
        inner = _inner(item)
        if inner is None:
            _require_reply(source, number, item)
            continue
        method, params = str(inner["method"]), dict(read_object(inner, "params"))
        stamp = params.get("timestamp") if method.partition(".")[0] in _TIMED else None
        if isinstance(stamp, int | float):
            first = stamp if first is None else first
            with source.part(f"message {number}, {method}: timestamp {format_value(stamp)}"):
                at = max(at, int((stamp - first) * 1e9))
        outer = item if isinstance(item, dict) else inner
        session = read_text(inner, "sessionId", read_text(outer, "sessionId"))
        log.append(CdpMessage(number, at, session, read_text(inner, "targetType"), method, params))
    if not log:
        raise source.wrong("", "holds no message", "wanted CDP messages, {method, params}")
    return log


def _inner(item: JsonValue) -> JsonObject | None:
    """The message in an item, unpacked from a performance entry; None where there is none."""
    if not isinstance(item, dict):
        return None
    packed = item.get("message")
    message: JsonObject = packed if isinstance(packed, dict) else item
    if isinstance(packed, str):
        message = _unpacked(packed)
    return message if _is_message(message) else None


def _unpacked(text: str) -> JsonObject:
    """The message of a performance entry, empty where there is none."""
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    message = entry.get("message") if isinstance(entry, dict) else None
    return message if isinstance(message, dict) else {}


def _is_message(message: JsonObject) -> bool:
    """Whether it is ``{method, params}``; ``params`` may be missing."""
    method = message.get("method")
    return isinstance(method, str) and "." in method and isinstance(message.get("params", {}), dict)


def _require_reply(source: SourceFile, number: int, item: JsonValue) -> None:
    """Refuse what is neither a message nor a reply to a command."""
    if isinstance(item, dict) and "id" in item and ("result" in item or "error" in item):
        return
    where = f"{'line' if source.lines else 'item'} {number}"
    what = "a CDP message {method, params} or a performance entry {message}"
    raise source.wrong(where, format_value(item), f"wanted {what}")


def roots(log: list[CdpMessage]) -> dict[str, str]:
    """Each page session with its main frame, in the order in which they come."""
    pages = [message for message in log if message.target in ("", "page")]
    found: dict[str, str] = {}
    children: set[str] = set()
    for message in pages:
        if message.method == "Page.frameAttached":
            children.add(str(message.params.get("frameId")))
        frame = _main(message, children)
        if frame is not None:
            found.setdefault(message.session, frame)
    for message in pages:
        found.setdefault(message.session, message.session or "page")
    return found


def _main(message: CdpMessage, children: set[str]) -> str | None:
    """The main frame that a message gives away."""
    params = message.params
    if message.method == "Page.frameNavigated":
        about = _object(params, "frame")
        frame = None if about.get("parentId") else about.get("id")
        return frame if isinstance(frame, str) else None
    asks_document = (
        message.method == "Network.requestWillBeSent" and params.get("type") == "Document"
    )
    frame = params.get("frameId")
    if not isinstance(frame, str) or frame in children:
        return None
    return frame if asks_document or message.method in _STARTED else None


_STARTED = (
    "Page.frameStartedLoading",
    "Page.frameRequestedNavigation",
    "Page.navigatedWithinDocument",
)


def mend_log(log: list[CdpMessage]) -> Iterator[CdpMessage]:
    """The log as today's browsers would have written it, which the folds know."""
    has_lifecycle = any(message.method == "Page.lifecycleEvent" for message in log)
    fired = {} if has_lifecycle else _FIRED
    hops: dict[str, str] = {}
    """Request → the address that redirected it last."""
    documents: dict[str, JsonObject] = {}
    """Session → the frame of its main document."""
    for message in log:
        params = message.params
        request = str(params.get("requestId"))
        if message.method == "Network.requestWillBeSent" and "redirectResponse" in params:
            hops[request] = str(_object(params, "redirectResponse").get("url"))
        elif message.method == "Network.responseReceived":
            answer = _object(params, "response")
            if _is_hop_again(answer, hops.get(request)):
                continue
            message.params = _without_push(params, answer)
        elif message.method == "Page.frameNavigated":
            if _main(message, set()) is not None:
                documents[message.session] = _object(params, "frame")
        elif message.method in fired and message.session in documents:
            yield _lifecycle_event(message, documents[message.session])
        yield message


def _is_hop_again(answer: JsonObject, hop: str | None) -> bool:
    """Whether it is the hop's answer once more, for a request that was cancelled and sent anew."""
    return answer.get("status") in _REDIRECTS and hop == answer.get("url")


def _lifecycle_event(fired: CdpMessage, frame: JsonObject) -> CdpMessage:
    """What today's browsers write beside an event of the main document."""
    about = {
        "frameId": frame["id"],
        "loaderId": frame.get("loaderId", ""),
        "name": _FIRED[fired.method],
    }
    return replace(fired, method="Page.lifecycleEvent", params=about)


_FIRED = {"Page.domContentEventFired": "DOMContentLoaded", "Page.loadEventFired": "load"}
_REDIRECTS = (301, 302, 303, 307, 308)


def _object(params: JsonObject, name: str) -> JsonObject:
    """That part of a message; empty where it is none, which whoever folds the message refuses by
    its number."""
    value = params.get(name)
    return value if isinstance(value, dict) else {}


def _without_push(params: dict[str, JsonValue], answer: JsonObject) -> dict[str, JsonValue]:
    """An answer that went through the cache only because the server sent it before it was asked for
    did not come from there."""
    if not answer.get("fromDiskCache"):
        return params
    timing = answer.get("timing")
    is_pushed = timing is None or require_number(_pushed_at(timing), "pushStart") > 0
    if is_pushed or answer.get("fromEarlyHints"):
        return {**params, "response": {**answer, "fromDiskCache": False}}
    return params


def _pushed_at(timing: JsonValue) -> JsonValue:
    return require_object(timing, "timing").get("pushStart", 0)
