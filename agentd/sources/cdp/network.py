"""Requests: sent, redirected, answered, finished, failed. Bodies and headers are kept only where the plan asks, masked.

A body that the browser does not send along is fetched; until it is known what is told of that request waits,
so the order within a request stands and no other event is late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from agentd.sources.cdp import answers, bodies, challenges, late_workers, navigation, passed_on, streamed
from agentd.sources.cdp.asks import LONGEST_BODY, NOBODY, Asks, WantsBody
from agentd.sources.cdp.gaps import REQUESTS, gap
from agentd.sources.cdp.headers import Heads, header, kept
from agentd.sources.cdp.messages import Messages
from agentd.sources.cdp.requests import Held, Request, base_of, number_of, type_of
from agentd.sources.cdp.state import Browser, Params, Seen, SessionState

MOST_REQUESTS = 4096
MOST_HOPS = 20
MOST_EARLY = 256

_INNER = ("data:", "blob:", "about:", "chrome:", "chrome-extension:", "chrome-untrusted:", "devtools:")
_REPLIES = ("Network.getRequestPostData", "Network.getResponseBody")
_ABORTED = "net::ERR_ABORTED"
_STREAM = "EventSource"


class Missing(NamedTuple):
    """A body that has to be fetched: the reply comes in as a message named after ``command``."""

    session: SessionState
    command: str
    number: str


class Network:
    """The fold over network messages. ``asks``: what is kept beside method, address and status; ``live``: somebody
    asks the browser for bodies, so that one that is wanted and not there is a gap."""

    def __init__(self, asks: Asks, *, live: bool = False) -> None:
        self._asks = asks
        self._live = live
        self._requests: dict[str, Request] = {}
        self._early: dict[str, list[tuple[bool, Params]]] = {}
        self._missing: list[Missing] = []
        self.messages = Messages(asks.kinds)

    def take_missing(self) -> list[Missing]:
        """Bodies that have to be fetched since this was last asked."""
        missing, self._missing = self._missing, []
        return missing

    def told(self, browser: Browser, session: SessionState, method: str, params: Params) -> Iterator[Seen]:
        """Fold one message; `Network.getRequestPostData` and `Network.getResponseBody` stand for replies."""
        match method:
            case "Network.requestWillBeSent":
                yield from self._sent(browser, session, params)
            case "Network.requestWillBeSentExtraInfo" | "Network.responseReceivedExtraInfo":
                yield from self._real(browser, params, answer="statusCode" in params)
            case "Network.responseReceived":
                if params["requestId"] not in self._requests:
                    yield from late_workers.told(session)
                yield from self._answered(browser, params)
            case "Network.requestServedFromCache":
                if request := self._requests.get(params["requestId"]):
                    request.answered_by = "memory"
            case "Network.enable":
                session.enabled = True
            case streamed.COMMAND | "Network.dataReceived":
                if (request := self._requests.get(params["requestId"])) and request.streamed:
                    (request.streamed.began if method == streamed.COMMAND else request.streamed.came)(params)
            case "Network.loadingFinished":
                session.heard = session.heard or params["requestId"] == session.target
                yield from self._finished(params["requestId"])
            case "Network.loadingFailed":
                yield from self._failed(browser, params)
            case "Network.getRequestPostData":
                yield from self._body_known(browser, params)
            case "Network.getResponseBody":
                yield from self._answer_known(browser, params)
            case _:
                yield from self._of_sockets(browser, session, method, params)

    def _sent(self, browser: Browser, session: SessionState, params: Params) -> Iterator[Seen]:
        about, number = params["request"], params["requestId"]
        if about["url"].startswith(_INNER) or (session.via and number == session.target):
            return  # a worker's own script is told by whoever asked for the worker
        request = self._requests.get(number)
        if request is not None and "redirectResponse" in params:
            yield from self._redirected(browser, request, params)
        elif request is not None:
            return  # the parent's session told of it already: a navigation that moved to another process
        else:
            request = Request({}, type_of(params), session, params.get("loaderId", ""), via=session.via)
            request.heads = Heads() if self._asks.headers else None
            request.secrets, request.as_of = browser.secrets, browser.secrets.news
            yield from self._keep(number, request)
            streams = self._live and request.kind in streamed.TYPES
            if streams and self._asks.response_body(about["method"], about["url"]):
                request.streamed = streamed.Streamed()
                self._missing.append(Missing(session, streamed.COMMAND, number))
        url = browser.secrets.mask_url(about["url"] + about.get("urlFragment", ""))
        request.base = base_of(session, params.get("frameId"), number) | {"method": about["method"], "url": url}
        self._note_body(browser, request, params)
        if request.heads is not None:
            hop = request.heads.hop(request.hop)
            names = self._asks.request_headers
            hop.sent = hop.sent or kept(about.get("headers", {}), names, browser.secrets)
            for answer, early in self._early.pop(number, ()):
                yield from self._real(browser, early, answer=answer)
        passed_on.join(self._requests, number, request)
        yield from request.tell(Held(Seen("request.sent", request.about()), request.hop, []))

    def _keep(self, number: str, request: Request) -> Iterator[Seen]:
        self._requests[number] = request
        if len(self._requests) > MOST_REQUESTS:
            oldest = self._requests.pop(next(iter(self._requests)))
            oldest.waits.clear()
            yield from oldest.release("")
            yield from self._unknown(oldest)
            if not oldest.ended and not oldest.left:
                yield from gap(
                    REQUESTS, f"more than {MOST_REQUESTS} requests on their way: the end of one is not known"
                )

    def _note_body(self, browser: Browser, request: Request, params: Params) -> None:
        about = params["request"]
        has_body = bool(about.get("hasPostData")) or "postData" in about
        wanted = self._asks.request_body(about["method"], about["url"]) if has_body else NOBODY
        request.carries = wanted != NOBODY
        request.wants_body = max(request.wants_body, wanted)
        if not request.carries or request.body is not None or "body" in request.waits:
            return  # without one, or a 307 that sends the same body on
        request.mime = header(about.get("headers", {}), "content-type")
        raw = bodies.bytes_of(about)
        if raw is None:
            request.waits.add("body")
            self._missing.append(Missing(request.session, _REPLIES[0], params["requestId"]))
        else:
            request.body = bodies.request_body(raw, request.mime, browser.secrets)

    def _redirected(self, browser: Browser, request: Request, params: Params) -> Iterator[Seen]:
        answer = params["redirectResponse"]
        location = header(answer.get("headers", {}), "location") or params["request"]["url"]
        hop: dict[str, Any] = {
            "method": request.base["method"],
            "url": request.base["url"],
            "status": answer["status"],
            "location": browser.secrets.mask_url(location),
        }
        if len(request.hops) < MOST_HOPS:
            request.hops.append(hop)
        self._note_answer(browser, request, answer, due=bool(params.get("redirectHasExtraInfo")))
        request.seen = None
        seen = Seen("request.redirected", request.base | hop)
        number, request.hop = request.hop, request.hop + 1
        yield from request.tell(Held(seen, number, [seen.data, hop], request.carries))

    def _note_answer(self, browser: Browser, request: Request, answer: Params, *, due: bool) -> None:
        if request.heads is None:
            return
        hop = request.heads.hop(request.hop)
        hop.due = due
        if not hop.answer and self._asks.answers_headers:
            hop.answer = kept(answer.get("headers", {}), self._asks.response_headers, browser.secrets)

    def _real(self, browser: Browser, params: Params, *, answer: bool) -> Iterator[Seen]:
        number = params["requestId"]
        request = self._requests.get(number)
        if request is None:
            if self._asks.headers:
                self._early.setdefault(number, []).append((answer, params))
                if len(self._early) > MOST_EARLY:
                    del self._early[next(iter(self._early))]
            return
        if answer:
            request.seen = params["statusCode"]
        elif request.carries:
            request.length = number_of(header(params.get("headers", {}), "content-length"))
        if request.heads is not None:
            names = self._asks.response_headers if answer else self._asks.request_headers
            request.heads.real(kept(params.get("headers", {}), names, browser.secrets), answer=answer)
            if "headers" in request.waits and not any(request.heads.lacks(held.hop) for held in request.later):
                yield from self._released(number, request, "headers")
        if answer and request.left:
            yield from self._finished(number)

    def _answered(self, browser: Browser, params: Params) -> Iterator[Seen]:
        number = params["requestId"]
        request, answer = self._requests.get(number), params["response"]
        if request is None:
            return
        answers.note(request, answer)
        if request.streamed:
            request.streamed.answered(answer.get("headers", {}))
        self._note_answer(browser, request, answer, due=bool(params.get("hasExtraInfo")))
        request.wants_answer = self._asks.response_body(request.base["method"], answer.get("url", ""))
        yield from challenges.told(request.base, answer)
        if request.inner:
            yield from self._passed_on(request, answer)
        if params.get("type") == _STREAM:
            self.messages.opened(number, request.base)
            yield from self._told_head(request)
        elif request.left:
            yield from self._finished(number)  # the browser says nothing of the rest

    def _told_head(self, request: Request) -> Iterator[Seen]:
        if "request.answered" in self._asks.kinds and request.status is not None:
            data = request.about() | {"status": request.status} | request.answered()
            yield Seen("request.answered", data | ({"mime": request.answer_mime} if request.answer_mime else {}))

    def _finished(self, number: str, status: int | None = None) -> Iterator[Seen]:
        request = self._requests.get(number)
        if request is None or request.ended:
            return
        status = next((one for one in (status, request.status, request.seen) if one is not None), None)
        if status is None or (request.status is None and 300 <= status < 400):
            return
        data = request.about() | {"status": status}
        if request.answer_mime:
            data["mime"] = request.answer_mime
        if request.hops:
            data["hops"] = list(request.hops)
        data |= request.answered() | ({"left": True} if request.left else {})
        if request.left and request.status is None:
            request.wants_answer = self._asks.response_body(request.base["method"], request.base["url"])
        raw = request.streamed.whole(ended=not request.left) if request.streamed else None
        if request.wants_answer and raw is not None and request.secrets is not None:
            request.answer = bodies.told(raw, request.answer_mime, request.secrets)
        elif request.wants_answer and request.left:
            request.answer = {"lost": True}  # the browser would give what came so far for the whole
        elif request.wants_answer:
            request.waits.add("answer")
            self._missing.append(Missing(request.session, _REPLIES[1], number))
        yield from self._end(number, request, Seen("request.finished", data))

    def _failed(self, browser: Browser, params: Params) -> Iterator[Seen]:
        number = params["requestId"]
        request = self._requests.get(number)
        if request is None or request.ended:
            return
        aborted = params.get("errorText") == _ABORTED and request.status is not None and number != request.loader
        taken = aborted and request.kind != _STREAM  # a stream has no other end than this one
        if taken and navigation.is_being_left(browser, request.base.get("frame"), request.loader):
            yield from self._leave(number, request)  # aborted with its document, after the server took it
            return
        data = request.about() | {"error": params.get("errorText", "")}
        if params.get("canceled"):
            data["canceled"] = True
        if params.get("blockedReason") or params.get("corsErrorStatus"):
            data["blocked"] = params.get("blockedReason") or params["corsErrorStatus"]["corsError"]
        if request.status is not None:
            data["status"] = request.status
        if request.answered().get("cached"):
            data["cached"] = True
        request.carries = False  # nobody accepted it
        request.wants_body = request.wants_answer = NOBODY
        yield from self._end(number, request, Seen("request.failed", data))

    def _end(self, number: str, request: Request, seen: Seen) -> Iterator[Seen]:
        request.ended = True
        yield from self.messages.closed(number)
        holders = [seen.data] if seen.kind == "request.finished" else []
        yield from request.tell(Held(seen, request.hop, holders, request.carries))
        if not request.waits:
            yield from self._over(number, request)
        if inner := self._requests.get(request.inner):  # its answer came from elsewhere, or never
            yield from self._released(request.inner, inner, "outer")

    def _released(self, number: str, request: Request, what: str) -> Iterator[Seen]:
        yield from request.release(what)
        if request.ended and not request.waits:
            yield from self._over(number, request)

    def _over(self, number: str, request: Request) -> Iterator[Seen]:
        if self._requests.pop(number, None) is not None:
            yield from self._unknown(request)

    def _unknown(self, request: Request) -> Iterator[Seen]:
        """A body that a rule asked for and nobody knows is not one that lacks what the rule wants."""
        if self._live and (what := request.unknown()):
            yield from gap(REQUESTS, f"the body of {what} {request.base['url'][:200]} is not known, or not whole")

    def _passed_on(self, request: Request, answer: Params) -> Iterator[Seen]:
        number, request.inner = request.inner, ""
        inner = self._requests.get(number)
        if inner is None:
            return
        if passed_on.is_same(answer):
            request.heads = inner.heads if inner.hop == request.hop else request.heads  # the real ones
            del self._requests[number]
            self._missing = [one for one in self._missing if one.number != number]
        else:
            yield from self._released(number, inner, "outer")

    def _body_known(self, browser: Browser, params: Params) -> Iterator[Seen]:
        number = params["requestId"]
        request = self._requests.get(number)
        if request is None or "body" not in request.waits:
            return
        raw = bodies.bytes_of_reply(params, "postData")
        if raw is not None:
            request.body = bodies.request_body(raw, request.mime, browser.secrets, request.length)
        yield from self._released(number, request, "body")

    def _answer_known(self, browser: Browser, params: Params) -> Iterator[Seen]:
        number = params["requestId"]
        request = self._requests.get(number)
        if request is None or "answer" not in request.waits:
            return
        raw = bodies.bytes_of_reply(params, "body")
        # The browser had let go of it: too long, or its document is gone.
        request.answer = {"lost": True} if raw is None else bodies.told(raw, request.answer_mime, browser.secrets)
        yield from self._released(number, request, "answer")

    def left(self, frame: str, loader: str) -> Iterator[Seen]:
        """The frame has another document now: of what the one before asked only the network's own word may come."""
        yield from self.messages.left(frame)
        for number, request in list(self._requests.items()):
            asked = request.loader and request.loader != loader and number != request.loader
            if asked and request.base.get("frame") == frame and not request.left and not request.ended:
                yield from self._leave(number, request)

    def _leave(self, number: str, request: Request) -> Iterator[Seen]:
        """Its document is gone. With the head of an answer the server took it, and its end is never told."""
        request.left = True
        if request.kind != _STREAM or request.status is None:
            yield from self._finished(number)

    def gone(self, session: SessionState) -> Iterator[Seen]:
        """The session is gone: nothing more is heard of its requests."""
        yield from self.messages.left(session.root)
        for number, request in list(self._requests.items()):
            if request.session is not session:
                continue
            if "answer" in request.waits:
                request.answer = {"lost": True}
            if not request.ended:
                yield from self._leave(number, request)
            if not request.ended:
                request.ended = True
                request.wants_body = request.wants_answer = NOBODY
                if request.status is None:
                    unseen = request.about() | {"error": "unseen: its page is gone"}
                    yield from request.tell(Held(Seen("request.failed", unseen), request.hop, []))
                else:
                    yield from self._told_head(request)
            request.waits.clear()
            yield from request.release("")
            yield from self._over(number, request)
        self._missing = [one for one in self._missing if one.session is not session]

    def overdue(self) -> Iterator[Seen]:
        """At a fence: real headers that did not come by now will not, and a flood of messages is over."""
        for number, request in list(self._requests.items()):
            if "headers" in request.waits:
                yield from self._released(number, request, "headers")
            if request.outer and request.outer not in self._requests:
                yield from self._released(number, request, "outer")
        yield from self.messages.calm()

    def _of_sockets(self, browser: Browser, session: SessionState, method: str, params: Params) -> Iterator[Seen]:
        number = params.get("requestId", "")
        match method:
            case "Network.webSocketCreated":
                request = Request({}, "WebSocket", session, via=session.via)
                request.heads = Heads() if self._asks.headers else None
                url = browser.secrets.mask_url(params["url"])
                request.base = base_of(session, None, number) | {"method": "GET", "url": url}
                yield from self._keep(number, request)
                yield Seen("request.sent", request.about())
            case "Network.webSocketWillSendHandshakeRequest":
                self._handshake(browser, number, params["request"], answer=False)
            case "Network.webSocketHandshakeResponseReceived":
                self._handshake(browser, number, params["response"], answer=True)
                if opened := self._requests.get(number):
                    yield from self._finished(number, status=params["response"]["status"])
                    self.messages.opened(number, opened.base)
            case "Network.webSocketFrameError":
                yield from self._failed(browser, {"requestId": number, "errorText": params.get("errorMessage", "")})
            case "Network.webSocketClosed":
                yield from self._failed(browser, {"requestId": number, "errorText": "closed", "canceled": True})
                yield from self.messages.closed(number)
            case "Network.webSocketFrameSent" | "Network.webSocketFrameReceived" | "Network.eventSourceMessageReceived":
                yield from self.messages.told(session, method, params, browser.secrets)

    def _handshake(self, browser: Browser, number: str, about: Params, *, answer: bool) -> None:
        request = self._requests.get(number)
        if request is not None and request.heads is not None:
            names = self._asks.response_headers if answer else self._asks.request_headers
            headers = kept(about.get("headers", {}), names, browser.secrets)
            setattr(request.heads.hop(0), "answer" if answer else "sent", headers)


__all__ = ["LONGEST_BODY", "Asks", "Missing", "Network", "WantsBody"]
