"""Kinds of the browser's requests, answers and messages."""

from __future__ import annotations

from detectors.kinds.kind import Kind, kind

NETWORK: dict[str, Kind] = {
    "request.sent": kind("cdp", "tab frame request method url type via?", "A request left; nobody accepted it yet."),
    "request.redirected": kind(
        "cdp",
        "tab frame request method url status location body? headers? answer?",
        "A hop was answered by a redirect.",
    ),
    "request.finished": kind(
        "cdp",
        "tab frame request method url type status mime? body? headers? answer? hops? cached? via? reconciled?",
        "The answer came in whole. `body`: {text, mime?, cut?, base64?}, of the request, only where a task asks, as "
        "are `headers` (of the request, names in lower case) and `answer`: {headers?, body?}. `hops`: [{method, url, "
        "status, location, body?, headers?, answer?}], the redirects before. `via`: service_worker or another worker "
        "that sent or answered it. `reconciled`: read from the document's own list of what it loaded before the "
        "daemon could listen.",
    ),
    "request.answered": kind(
        "cdp",
        "tab frame request method url type status mime? cached? via?",
        "The head of an answer came in and nobody saw its end: it is a stream, or the log stops before.",
        asked=True,
    ),
    "request.failed": kind(
        "cdp",
        "tab frame request method url type error canceled? blocked? status? cached? via?",
        "No answer: error, cancelled, blocked.",
    ),
    "message.sent": kind(
        "cdp", "tab frame request url text? base64? cut?", "The page sent a WebSocket message.", asked=True
    ),
    "message.received": kind(
        "cdp",
        "tab frame request url text? base64? event? id? cut?",
        "A WebSocket message or a server-sent event came in.",
        asked=True,
    ),
}
