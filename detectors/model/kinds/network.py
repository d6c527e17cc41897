"""Kinds of the browser's requests, answers and messages."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from detectors.model.kinds.kind import KindTable

NETWORK = KindTable("cdp")


class Upload(TypedDict):
    """One file of a multipart body; without `size` that is not known."""

    name: str
    filename: str
    mime: NotRequired[str]
    size: NotRequired[int]


MAX_UPLOADS = 100
"""Files of one body that are told; of a body with so many nobody knows whether there are more."""


class KeptBody(TypedDict):
    """A body as far as it is kept. `cut`: it goes on; `lost`: it could not be read."""

    text: NotRequired[str]
    base64: NotRequired[bool]
    mime: NotRequired[str]
    cut: NotRequired[bool]
    lost: NotRequired[bool]
    files: NotRequired[list[Upload]]


class Response(TypedDict):
    """What a server sent beside its status, where a task asks."""

    headers: NotRequired[dict[str, str]]
    body: NotRequired[KeptBody]


class Exchanged(TypedDict):
    """What was sent and what came, where a task asks."""

    body: NotRequired[KeptBody]
    headers: NotRequired[dict[str, str]]
    response: NotRequired[Response]


class ServedFrom(TypedDict):
    """Where a response came from, if not from the server."""

    cached: NotRequired[bool]
    served_from: NotRequired[str]


class InSomeFrame(TypedDict):
    """Where a request was made: by a worker that several tabs share, in none."""

    tab: NotRequired[str]
    frame: NotRequired[str]
    request: str


class RedirectHop(Exchanged, ServedFrom):
    """A redirect on the way to a response."""

    method: str
    url: str
    status: int
    location: str


class RequestMade(InSomeFrame):
    """`type`: CDP's resource type."""

    method: str
    url: str
    type: str


class HopsBefore(TypedDict):
    """The redirects before."""

    hops: NotRequired[list[RedirectHop]]


class MadeByWorker(TypedDict):
    """The worker that sent the request or answered it."""

    via: NotRequired[str]


@NETWORK.kind("request.sent")
class RequestSent(RequestMade, MadeByWorker):
    """A request was sent; nothing is known yet of an answer."""


@NETWORK.kind("request.redirected")
class RequestRedirected(InSomeFrame, RedirectHop):
    """A hop was answered by a redirect: the server's, or what `served_from` names."""


@NETWORK.kind("request.finished")
class RequestFinished(RequestMade, Exchanged, HopsBefore, ServedFrom, MadeByWorker):
    """The answer came in, whole unless `document_gone` or `aborted`. `body`: {text, base64?, mime?,
    cut?, files?}, of the request, only where a task asks, `files`: [{name, filename, mime?, size?}]
    of a multipart body, the first 100, whose bytes are not kept (no `size`: not known); so are
    `headers` (of the request, names in lower case) and `response`: {headers?, body?: {text,
    base64?, mime?, cut?, lost?}}. `hops`: [{method, url, status, location, body?, headers?,
    response?, cached?, served_from?}], the redirects before. `cached`: the browser itself says that
    no server was asked; `served_from` then names its memory, disk, prefetch or cache_storage (a
    service worker's); revalidated: the server said 304, the body is from the cache; worker: a
    service worker made the answer up, or took it from elsewhere; unknown: it came over no
    connection, as what is made up through DevTools does. `via`: service_worker or another worker
    that sent or answered it; one that several tabs share has neither `tab` nor `frame`.
    `document_gone`: the document that asked was gone before the browser reported the answer's end,
    `aborted`: it was stopped, or became a download; its head is known. `backfilled`: read from the
    document's own list of what it loaded before the daemon could listen."""

    status: int
    mime: NotRequired[str]
    document_gone: NotRequired[bool]
    aborted: NotRequired[bool]
    backfilled: NotRequired[bool]


@NETWORK.kind("request.response_started", asked=True)
class RequestResponseStarted(RequestMade, ServedFrom, MadeByWorker):
    """The head of an answer came in and its end was not observed: it is a stream, or the log stops
    before."""

    status: int
    mime: NotRequired[str]


@NETWORK.kind("request.failed")
class RequestFailed(RequestMade, Exchanged, HopsBefore, ServedFrom, MadeByWorker):
    """No answer: error, cancelled, blocked (`blocked`: csp, mixed-content, ... or the CORS rule),
    or one that could not be observed because the page or the episode is over. `sent`: its headers
    went out, so the server may have taken it; `hops`: the redirects before, as in
    request.finished."""

    error: str
    canceled: NotRequired[bool]
    blocked: NotRequired[str]
    status: NotRequired[int]
    sent: NotRequired[bool]


class SocketMessage(InSomeFrame):
    """What one message holds; `cut`: it goes on."""

    url: str
    text: NotRequired[str]
    base64: NotRequired[str]
    cut: NotRequired[bool]


@NETWORK.kind("message.sent", asked=True)
class MessageSent(SocketMessage):
    """The page sent a WebSocket message."""


@NETWORK.kind("message.received", asked=True)
class MessageReceived(SocketMessage):
    """A WebSocket message or a server-sent event came in."""

    event: NotRequired[str]
    id: NotRequired[str]
