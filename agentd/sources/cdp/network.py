"""Requests: sent, redirected, finished, failed. A body is kept only where the plan asks for it, masked.

A body that the browser does not send along is fetched; until it is known what is told of that request waits,
so the order within a request stands and no other event is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentd.sources.cdp.masking import mask_body, mask_url
from agentd.sources.cdp.state import Browser, Params, Seen, SessionState

MOST_REQUESTS = 4096
MOST_HOPS = 20
LONGEST_BODY = 65536
"""Bytes of a request's body that are kept; a longer one is marked ``cut``."""

_INNER = ("data:", "blob:", "about:", "chrome:", "chrome-extension:", "chrome-untrusted:", "devtools:")

WantsBody = Callable[[str], bool]


@dataclass(slots=True)
class Request:
    """One request on its way; while ``pending``, what is told of it waits in ``later`` for ``body``.

    ``carries``: the present hop has the body (a 302 turns a POST into a GET without one).
    """

    base: dict[str, Any]
    kind: str
    mime: str = ""
    body: dict[str, Any] | None = None
    pending: bool = False
    carries: bool = False
    hops: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None
    answer_mime: str = ""
    cached: bool = False
    later: list[tuple[Seen, list[dict[str, Any]]]] = field(default_factory=list)
    ended: bool = False


class Network:
    """The fold over network messages. ``wants_body`` says whether a request's address is one that the plan names."""

    def __init__(self, wants_body: WantsBody) -> None:
        self._wants_body = wants_body
        self._requests: dict[str, Request] = {}
        self._missing: list[tuple[SessionState, str]] = []

    def take_missing(self) -> list[tuple[SessionState, str]]:
        """Requests whose bodies have to be fetched since this was last asked."""
        missing, self._missing = self._missing, []
        return missing

    def told(self, browser: Browser, session: SessionState, method: str, params: Params) -> Iterator[Seen]:
        """Fold one message; ``Network.getRequestPostData`` stands for that command's reply."""
        match method:
            case "Network.requestWillBeSent":
                yield from self._sent(browser, session, params)
            case "Network.webSocketCreated":
                yield from self._socket(browser, session, params)
            case "Network.webSocketHandshakeResponseReceived":
                yield from self._finished(params["requestId"], status=params["response"]["status"])
            case "Network.responseReceived":
                self._answered(params)
            case "Network.requestServedFromCache":
                if request := self._requests.get(params["requestId"]):
                    request.cached = True
            case "Network.loadingFinished":
                yield from self._finished(params["requestId"])
            case "Network.loadingFailed":
                yield from self._failed(params)
            case "Network.getRequestPostData":
                yield from self._body_known(browser, params)

    def _sent(self, browser: Browser, session: SessionState, params: Params) -> Iterator[Seen]:
        about, number = params["request"], params["requestId"]
        if about["url"].startswith(_INNER):
            return
        request = self._requests.get(number)
        if request is not None and "redirectResponse" in params:
            yield from self._redirected(browser, request, params)
        elif request is not None:
            return  # the parent's session told of it already: a navigation that moved to another process
        else:
            request = Request({}, params.get("type", "Other"))
            self._keep(number, request)
        frame = params.get("frameId") or session.root
        url = mask_url(about["url"] + about.get("urlFragment", ""), browser.secrets)
        request.base = {"tab": session.tab, "frame": frame, "request": number, "method": about["method"], "url": url}
        self._note_body(browser, session, request, params)
        seen = Seen("request.sent", request.base | {"type": request.kind})
        if request.later:
            request.later.append((seen, []))
        else:
            yield seen

    def _keep(self, number: str, request: Request) -> None:
        self._requests[number] = request
        if len(self._requests) > MOST_REQUESTS:
            del self._requests[next(iter(self._requests))]

    def _note_body(self, browser: Browser, session: SessionState, request: Request, params: Params) -> None:
        about = params["request"]
        has_body = bool(about.get("hasPostData")) or "postData" in about
        request.carries = has_body and self._wants_body(about["url"])
        if not request.carries or request.body is not None or request.pending:
            return  # without one, or a 307 that sends the same body on
        request.mime = _header(about.get("headers", {}), "content-type")
        if "postData" in about:
            request.body = _body(about["postData"], request.mime, browser)
        else:
            request.pending = True
            self._missing.append((session, params["requestId"]))

    def _redirected(self, browser: Browser, request: Request, params: Params) -> Iterator[Seen]:
        answer = params["redirectResponse"]
        location = _header(answer.get("headers", {}), "location") or params["request"]["url"]
        hop = {
            "method": request.base["method"],
            "url": request.base["url"],
            "status": answer["status"],
            "location": mask_url(location, browser.secrets),
        }
        if len(request.hops) < MOST_HOPS:
            request.hops.append(hop)
        seen = Seen("request.redirected", request.base | hop)
        yield from self._tell(request, seen, [seen.data, hop] if request.carries else [])

    def _socket(self, browser: Browser, session: SessionState, params: Params) -> Iterator[Seen]:
        request = Request({}, "WebSocket")
        request.base = {"tab": session.tab, "frame": session.root, "request": params["requestId"], "method": "GET"}
        request.base["url"] = mask_url(params["url"], browser.secrets)
        self._keep(params["requestId"], request)
        yield Seen("request.sent", request.base | {"type": request.kind})

    def _answered(self, params: Params) -> None:
        request, answer = self._requests.get(params["requestId"]), params["response"]
        if request is None:
            return
        request.status, request.answer_mime = answer["status"], answer.get("mimeType", "")
        request.cached = request.cached or bool(answer.get("fromDiskCache") or answer.get("fromPrefetchCache"))

    def _finished(self, number: str, status: int | None = None) -> Iterator[Seen]:
        request = self._requests.get(number)
        if request is None or (request.status is None and status is None):
            return
        data = request.base | {"type": request.kind, "status": request.status if status is None else status}
        if request.answer_mime:
            data["mime"] = request.answer_mime
        if request.hops:
            data["hops"] = list(request.hops)
        if request.cached:
            data["cached"] = True
        yield from self._end(number, request, Seen("request.finished", data))

    def _failed(self, params: Params) -> Iterator[Seen]:
        request = self._requests.get(params["requestId"])
        if request is None:
            return
        data = request.base | {"type": request.kind, "error": params.get("errorText", "")}
        if params.get("canceled"):
            data["canceled"] = True
        if params.get("blockedReason") or params.get("corsErrorStatus"):
            data["blocked"] = params.get("blockedReason") or params["corsErrorStatus"]["corsError"]
        if request.status is not None:
            data["status"] = request.status
        if request.cached:
            data["cached"] = True
        request.carries = False  # nobody accepted it
        yield from self._end(params["requestId"], request, Seen("request.failed", data))

    def _end(self, number: str, request: Request, seen: Seen) -> Iterator[Seen]:
        request.ended = True
        if not request.pending:
            del self._requests[number]
        yield from self._tell(request, seen, [seen.data] if request.carries else [])

    def _tell(self, request: Request, seen: Seen, holders: list[dict[str, Any]]) -> Iterator[Seen]:
        if request.pending:
            request.later.append((seen, holders))
            return
        if request.body is not None:
            for holder in holders:
                holder["body"] = request.body
        yield seen

    def _body_known(self, browser: Browser, params: Params) -> Iterator[Seen]:
        request = self._requests.get(params["requestId"])
        if request is None or not request.pending:
            return
        request.pending = False
        if "postData" in params:
            request.body = _body(params["postData"], request.mime, browser)
        later, request.later = request.later, []
        for seen, holders in later:
            yield from self._tell(request, seen, holders)
        if request.ended:
            del self._requests[params["requestId"]]


def _body(text: str, mime: str, browser: Browser) -> dict[str, Any]:
    masked = mask_body(text, mime, browser.secrets).encode("utf-8", "replace")
    body: dict[str, Any] = {"text": masked[:LONGEST_BODY].decode("utf-8", "ignore")}
    if mime:
        body["mime"] = mime
    if len(masked) > LONGEST_BODY:
        body["cut"] = True
    return body


def _header(headers: Params, name: str) -> str:
    return next((str(value) for key, value in headers.items() if key.lower() == name), "")
