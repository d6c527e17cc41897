"""The forms that logs of CDP messages come in, made one: what chromedriver, Lighthouse and others
write.

An array or JSON lines of ``{method, params, sessionId?, targetType?}``, or of chromedriver's
performance entries, ``{message: "{\\"message\\": {method, params}, \\"webview\\": …}",
timestamp}``. Replies to commands are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import orjson

from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    object_or_empty,
    read_object,
    read_text,
    require_number,
    require_object,
    text_or_none,
)
from detectors.model.optional_values import drop_keys
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
    clock = _LogClock(source)
    for number, item in enumerate(source.items):
        inner = _inner(item)
        if inner is None:
            _require_reply(source, number, item)
            continue
        method = str(inner["method"])
        params = dict(read_object(inner, "params"))
        at = clock.advance(number, method, params)
        outer = item if isinstance(item, dict) else inner
        session = read_text(inner, "sessionId", read_text(outer, "sessionId"))
        target = read_text(inner, "targetType")
        log.append(CdpMessage(number, at, session, target, method, params))
    if not log:
        raise source.wrong("", "holds no message", "wanted CDP messages, {method, params}")
    return log


def _inner(item: JsonValue) -> JsonObject | None:
    """The message in an item, unpacked from a performance entry; None where there is none."""
    whole = object_or_empty(item)
    match whole.get("message"):
        case str() as packed:
            message = _unpacked(packed)
        case dict() as unpacked:
            message = unpacked
        case _:
            message = whole
    return message if _is_message(message) else None


def _unpacked(text: str) -> JsonObject:
    """The message of a performance entry, empty where there is none."""
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    message = object_or_empty(entry).get("message")
    return object_or_empty(message)


def _is_message(message: JsonObject) -> bool:
    """Whether it is ``{method, params}``; ``params`` may be missing."""
    method = message.get("method")
    return isinstance(method, str) and "." in method and isinstance(message.get("params", {}), dict)


class _LogClock:
    """Where the log is in time, in nanoseconds after the first message that has a timestamp; it
    never goes back."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._first: float | None = None
        self._at = 0

    def advance(self, number: int, method: str, params: JsonObject) -> int:
        """Return the time of message ``number``: its own, else that of the one before."""
        stamp = params.get("timestamp")
        is_timed = method.partition(".")[0] in _TIMED
        if not is_timed or not isinstance(stamp, int | float):
            return self._at
        if self._first is None:
            self._first = stamp
        place = f"message {number}, {method}: timestamp {format_value(stamp)}"
        with self._source.part(place):
            passed = int((stamp - self._first) * 1e9)
            self._at = max(self._at, passed)
        return self._at


def _require_reply(source: SourceFile, number: int, item: JsonValue) -> None:
    """Refuse what is neither a message nor a reply to a command."""
    keys = item.keys() if isinstance(item, dict) else set()
    if "id" in keys and not keys.isdisjoint(("result", "error")):
        return
    unit = "line" if source.lines else "item"
    what = "a CDP message {method, params} or a performance entry {message}"
    raise source.wrong(f"{unit} {number}", format_value(item), f"wanted {what}")


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
    # A session that gives no frame away is called by its own name.
    sessions = dict.fromkeys(message.session for message in pages)
    unnamed = {session: session or "page" for session in sessions}
    return found | drop_keys(unnamed, found)


def _main(message: CdpMessage, children: set[str]) -> str | None:
    """The main frame that a message gives away."""
    params = message.params
    if message.method == "Page.frameNavigated":
        about = _object(params, "frame")
        return None if about.get("parentId") else text_or_none(about.get("id"))
    frame = text_or_none(params.get("frameId"))
    if frame in children:
        return None
    is_request = message.method == "Network.requestWillBeSent"
    asks_document = is_request and params.get("type") == "Document"
    if asks_document or message.method in _STARTED:
        return frame
    return None


_STARTED = (
    "Page.frameStartedLoading",
    "Page.frameRequestedNavigation",
    "Page.navigatedWithinDocument",
)


def mend_log(log: list[CdpMessage]) -> Iterator[CdpMessage]:
    """The log as today's browsers would have written it, which the folds know."""
    mending = _LogMending(log)
    for message in log:
        yield from mending.mend(message)


class _LogMending:
    """What is remembered of the messages before, to write the next one as today's browsers do."""

    def __init__(self, log: list[CdpMessage]) -> None:
        has_lifecycle = any(message.method == "Page.lifecycleEvent" for message in log)
        self._fired: Mapping[str, str] = {} if has_lifecycle else _FIRED
        self._hops: dict[str, str] = {}
        """Request → the address that redirected it last."""
        self._documents: dict[str, JsonObject] = {}
        """Session → the frame of its main document."""

    def mend(self, message: CdpMessage) -> Iterator[CdpMessage]:
        """Yield what stands for ``message``: nothing for the answer of a hop that comes again."""
        params = message.params
        request = str(params.get("requestId"))
        match message.method:
            case "Network.requestWillBeSent" if "redirectResponse" in params:
                self._hops[request] = str(_object(params, "redirectResponse").get("url"))
            case "Network.responseReceived":
                answer = _object(params, "response")
                if _is_hop_again(answer, self._hops.get(request)):
                    return
                message.params = _without_push(params, answer)
            case "Page.frameNavigated" if _main(message, set()) is not None:
                self._documents[message.session] = _object(params, "frame")
            case method if method in self._fired and message.session in self._documents:
                yield _lifecycle_event(message, self._documents[message.session])
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
    return object_or_empty(value)


def _without_push(params: dict[str, JsonValue], answer: JsonObject) -> dict[str, JsonValue]:
    """An answer that went through the cache only because the server sent it before it was asked for
    did not come from there."""
    if not answer.get("fromDiskCache"):
        return params
    is_early = bool(answer.get("fromEarlyHints"))
    timing = answer.get("timing")
    if timing is not None and not is_early:
        pushed_at = require_number(_pushed_at(timing), "pushStart")
        if pushed_at <= 0:
            return params
    return {**params, "response": {**answer, "fromDiskCache": False}}


def _pushed_at(timing: JsonValue) -> JsonValue:
    return require_object(timing, "timing").get("pushStart", 0)
