"""Kinds of the browser's requests, answers and messages."""

from __future__ import annotations

from detectors.model.kinds.kind import EventKind, kind

NETWORK: dict[str, EventKind] = {
    "request.sent": kind(
        "cdp", "tab? frame? request method url type via?", "A request left; nobody accepted it yet."
    ),
    "request.redirected": kind(
        "cdp",
        "tab? frame? request method url status location body? headers? response? cached?"
        " served_from?",
        "A hop was answered by a redirect: the server's, or what `served_from` names.",
    ),
    "request.finished": kind(
        "cdp",
        "tab? frame? request method url type status mime? body? headers? response? hops? cached?"
        " served_from? via? document_gone? aborted? backfilled?",
        "The answer came in, whole unless `document_gone` or `aborted`. `body`: {text, base64?,"
        " mime?, cut?, files?}, of the request, only where a task asks, `files`: [{name, filename,"
        " mime?, size?}] of a multipart body, whose bytes are not kept (no `size`: not known); so"
        " are `headers` (of the request, names in lower case) and `response`: {headers?, body?:"
        " {text, base64?, mime?, cut?, lost?}}. `hops`: [{method, url, status, location, body?,"
        " headers?, response?, cached?, served_from?}], the redirects before. `cached`: the"
        " browser itself says that no server was asked; `served_from` then names its memory, disk,"
        " prefetch or cache_storage (a service worker's); revalidated: the server said 304, the"
        " body is from the cache; worker: a service worker made the answer up, or took it from"
        " elsewhere; unknown: it came over no connection, as what is made up through DevTools"
        " does. `via`: service_worker or another worker that sent or answered it; one that several"
        " tabs share has neither `tab` nor `frame`. `document_gone`: the document that asked was"
        " gone before the browser told of the answer's end, `aborted`: it was stopped, or became a"
        " download; its head is known. `backfilled`: read from the document's own list of what it"
        " loaded before the daemon could listen.",
    ),
    "request.response_started": kind(
        "cdp",
        "tab? frame? request method url type status mime? cached? served_from? via?",
        "The head of an answer came in and nobody saw its end: it is a stream, or the log stops"
        " before.",
        asked=True,
    ),
    "request.failed": kind(
        "cdp",
        "tab? frame? request method url type error canceled? blocked? status? sent? body? headers?"
        " response? hops? cached? served_from? via?",
        "No answer: error, cancelled, blocked (`blocked`: csp, mixed-content, ... or the CORS"
        " rule), or one that nobody could see because the page or the episode is over. `sent`: its"
        " headers went out, so the server may have taken it; `hops`: the redirects before, as in"
        " request.finished.",
    ),
    "message.sent": kind(
        "cdp",
        "tab? frame? request url text? base64? cut?",
        "The page sent a WebSocket message.",
        asked=True,
    ),
    "message.received": kind(
        "cdp",
        "tab? frame? request url text? base64? event? id? cut?",
        "A WebSocket message or a server-sent event came in.",
        asked=True,
    ),
}
