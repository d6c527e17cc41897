"""Requests: sent, redirected, answered, finished, failed. Bodies and headers are kept only where
the plan asks, masked.

A body that the browser does not send along is fetched; until it is known what is told of that
request waits, so the order within a request stands and no other event is late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from agentd.sources.cdp.network import (
    answers,
    bodies,
    challenges,
    request_dedup,
    streamed,
    worker_gap,
)
from agentd.sources.cdp.network.headers import Heads, header, select_headers
from agentd.sources.cdp.network.messages import Messages
from agentd.sources.cdp.network.requests import (
    CACHES,
    PARTS,
    Claim,
    Held,
    Request,
    base_of,
    number_of,
    type_of,
)
from agentd.sources.cdp.network.wire import RequestHops
from agentd.sources.cdp.state.capture_plan import MAX_BODY_LENGTH, NOBODY, CapturePlan, WantsBody
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Params,
    SessionState,
    remember,
)

MAX_REQUESTS = 4096
MAX_HOPS = 20
MAX_EARLY = 256

_INNER = (
    "data:",
    "blob:",
    "about:",
    "chrome:",
    "chrome-extension:",
    "chrome-untrusted:",
    "devtools:",
)
_REPLIES = ("Network.getRequestPostData", "Network.getResponseBody")
_ABORTED = "net::ERR_ABORTED"
_WITHOUT_A_CONNECTION = frozenset(
    f"net::ERR_{name}"
    for name in (
        "UNSAFE_PORT",
        "CONNECTION_REFUSED",
        "CONNECTION_FAILED",
        "NAME_NOT_RESOLVED",
        "ADDRESS_UNREACHABLE",
        "ADDRESS_INVALID",
        "INTERNET_DISCONNECTED",
        "PROXY_CONNECTION_FAILED",
        "TUNNEL_CONNECTION_FAILED",
        "UNKNOWN_URL_SCHEME",
        "INVALID_URL",
        "DISALLOWED_URL_SCHEME",
        "BLOCKED_BY_CLIENT",
        "FILE_NOT_FOUND",
    )
)
"""Errors of a request that had no connection to send anything over."""
_STREAM = "EventSource"
_NOTHING_MORE = (204, 205)
"""Statuses whose answer is over with its head."""


class Missing(NamedTuple):
    """A body that has to be fetched: the reply comes in as a message named after ``command``."""

    session: SessionState
    command: str
    number: str


class Network:
    """The fold over network messages. ``asks``: what is kept beside method, address and status;
    ``live``: somebody asks the browser for bodies, so that one that is wanted and not there is a
    gap."""

    def __init__(self, asks: CapturePlan, *, live: bool = False) -> None:
        self._asks = asks
        self._live = live
        self._requests: dict[str, Request] = {}
        self._early: dict[str, list[tuple[bool, Params]]] = {}
        self._early_wire: dict[str, RequestHops] = {}
        self._known: dict[str, None] = {}  # requests that a page or a worker told of
        self._unclaimed: dict[str, None] = {}  # went out, may write, and nobody has told of it yet
        self._unsent: dict[
            str, str
        ] = {}  # failed, as nobody knew that its headers had gone out → its address
        self._pages: dict[str, str] = {}  # a page's request → the worker's that stands in for it
        self._workers: set[str] = set()  # service workers that are listened to
        self._missing: list[Missing] = []
        self.messages = Messages(asks.kinds)

    def take_missing(self) -> list[Missing]:
        """Bodies that have to be fetched since this was last asked."""
        missing, self._missing = self._missing, []
        return missing

    def fold(
        self, browser: BrowserState, session: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        """Fold one message; `Network.getRequestPostData` and `Network.getResponseBody` stand for
        replies."""
        match method:
            case "Network.requestWillBeSent":
                yield from self._sent(browser, session, params)
            case "Network.requestWillBeSentExtraInfo" | "Network.responseReceivedExtraInfo":
                yield from self._real(browser, params, answer="statusCode" in params)
            case "Network.responseReceived":
                if params["requestId"] not in self._requests:
                    yield from worker_gap.emit_worker_gap(session)
                yield from self._answered(browser, params)
            case "Network.requestServedFromCache":
                if request := self._requests.get(params["requestId"]):
                    request.answered_by = "memory"
            case "Network.enable":
                session.enabled = True
                if session.via == "service_worker":
                    self._workers.add(session.target)
            case streamed.COMMAND | "Network.dataReceived":
                if (request := self._asked_by(params["requestId"])) and request.streamed:
                    (
                        request.streamed.began
                        if method == streamed.COMMAND
                        else request.streamed.add_data
                    )(params)
            case "Network.loadingFinished":
                session.heard = session.heard or params["requestId"] == session.target
                yield from self._finished(params["requestId"])
                yield from self._page_over(params["requestId"], whole=True)
            case "Network.loadingFailed":
                yield from self._failed(browser, params)
                yield from self._page_over(params["requestId"], whole=False)
            case "Network.getRequestPostData":
                yield from self._body_known(browser, params)
            case "Network.getResponseBody":
                yield from self._answer_known(browser, params)
            case _:
                yield from self._of_sockets(browser, session, method, params)

    def _sent(
        self, browser: BrowserState, session: SessionState, params: Params
    ) -> Iterator[CdpObservation]:
        about, number = params["request"], params["requestId"]
        self._unclaimed.pop(number, None)
        remember(self._known, number, None, MAX_REQUESTS)
        if about["url"].startswith(_INNER) or (session.via and number == session.target):
            return  # a worker's own script is told by whoever asked for the worker
        request = self._requests.get(number)
        if request is not None and "redirectResponse" in params:
            yield from self._redirected(browser, request, params)
        elif request is not None:
            # the parent's session told of it already: a navigation that moved to another process
            return
        else:
            request = Request(
                {}, type_of(params), session, params.get("loaderId", ""), via=session.via
            )
            request.heads = Heads() if self._asks.headers else None
            request.wire = self._early_wire.pop(number, request.wire)
            request.worker_known = bool(self._workers)
            request.secrets, request.as_of = browser.secrets, browser.secrets.news
            yield from self._keep(number, request)
            streams = self._live and request.kind in streamed.TYPES
            if streams and self._asks.response_body(about["method"], about["url"]):
                request.streamed = streamed.Streamed()
                self._missing.append(Missing(session, streamed.COMMAND, number))
        url = browser.secrets.mask_url(about["url"] + about.get("urlFragment", ""))
        request.base = base_of(session, params.get("frameId"), number) | {
            "method": about["method"],
            "url": url,
        }
        self._note_body(browser, request, params)
        if request.heads is not None:
            hop = request.heads.hop(request.hop)
            names = self._asks.request_headers
            hop.sent = hop.sent or select_headers(about.get("headers", {}), names, browser.secrets)
            for answer, early in self._early.pop(number, ()):
                yield from self._real(browser, early, answer=answer)
        request_dedup.join(self._requests, number, request)
        yield from request.tell(
            Held(CdpObservation("request.sent", request.about()), request.hop, [])
        )
        yield from self._settle(request.outer)

    def _keep(self, number: str, request: Request) -> Iterator[CdpObservation]:
        self._requests[number] = request
        if len(self._requests) > MAX_REQUESTS:
            oldest = self._requests.pop(next(iter(self._requests)))
            oldest.waits.clear()
            yield from oldest.release("")
            yield from self._unknown(oldest)
            if not oldest.ended and not oldest.left:
                yield from gap(
                    REQUESTS,
                    f"more than {MAX_REQUESTS} requests on their way: the end of one is not known",
                )

    def _note_body(self, browser: BrowserState, request: Request, params: Params) -> None:
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
            request.body = bodies.request_body(
                raw, request.mime, browser.secrets, request.wire.length
            )
            request.body_bytes = len(raw)

    def _redirected(
        self, browser: BrowserState, request: Request, params: Params
    ) -> Iterator[CdpObservation]:
        answer = params["redirectResponse"]
        location = header(answer.get("headers", {}), "location") or params["request"]["url"]
        hop: dict[str, Any] = {
            "method": request.base["method"],
            "url": request.base["url"],
            "status": answer["status"],
            "location": browser.secrets.mask_url(location),
        }
        extra = params.get("redirectHasExtraInfo")
        by = answers.source_of(answer, extra=extra)
        hop |= ({"cached": True} if by in CACHES else {}) | ({"answered_by": by} if by else {})
        if len(request.hops) < MAX_HOPS:
            request.hops.append(hop)
        self._note_answer(browser, request, answer, due=bool(extra))
        request.wire.redirect(request.hop, due=extra is not False)
        seen = CdpObservation("request.redirected", request.base | hop)
        if answers.is_passed_on(answer):
            claimed = (answer["status"], location)
            yield from self._claim(params["requestId"], request, claimed, [seen.data, hop])
        else:
            yield from self._disjoin(request)
        number, request.hop = request.hop, request.hop + 1
        yield from request.tell(Held(seen, number, [seen.data, hop], request.carries))

    def _note_answer(
        self, browser: BrowserState, request: Request, answer: Params, *, due: bool
    ) -> None:
        if request.heads is None:
            return
        hop = request.heads.hop(request.hop)
        hop.due = due
        if not hop.answer and self._asks.answers_headers:
            hop.answer = select_headers(
                answer.get("headers", {}), self._asks.response_headers, browser.secrets
            )

    def _real(
        self, browser: BrowserState, params: Params, *, answer: bool
    ) -> Iterator[CdpObservation]:
        number = params["requestId"]
        request = self._requests.get(number)
        wire = request.wire if request is not None else self._wire_before(number)
        if answer:
            wire.answers.append(
                (params["statusCode"], header(params.get("headers", {}), "location"))
            )
        else:
            wire.sent += 1
            if request is None or request.carries:
                wire.length = number_of(header(params.get("headers", {}), "content-length"))
        if request is None:
            if number in self._unsent and not answer:
                yield from self._went_out(number)
            elif not answer and browser.settled and number not in self._known:
                self._note_unclaimed(number, params)
            if self._asks.headers:
                self._early.setdefault(number, []).append((answer, params))
                if len(self._early) > MAX_EARLY:
                    del self._early[next(iter(self._early))]
            return
        if not answer and request.carries and request.body is not None and wire.length is not None:
            bodies.size_the_file(request.body, wire.length - request.body_bytes)
        if not answer and "wire" in request.waits:
            request.later[-1].seen.data["sent"] = True
            yield from self._released(number, request, "wire")
        if request.heads is not None:
            names = self._asks.response_headers if answer else self._asks.request_headers
            request.heads.real(
                select_headers(params.get("headers", {}), names, browser.secrets), answer=answer
            )
            if "headers" in request.waits and not any(
                request.heads.lacks(held.hop) for held in request.later
            ):
                yield from self._released(number, request, "headers")
        if answer and request.left:
            yield from self._finished(number)
        if answer:
            yield from self._settle(request.outer)

    def _answered(self, browser: BrowserState, params: Params) -> Iterator[CdpObservation]:
        number = params["requestId"]
        request, answer = self._requests.get(number), params["response"]
        if request is None:
            return
        answers.note(request, answer, extra=params.get("hasExtraInfo"))
        request.is_attachment = (
            header(answer.get("headers", {}), "content-disposition")
            .lower()
            .startswith("attachment")
        )
        if request.streamed:
            request.streamed.answered(answer.get("headers", {}))
        self._note_answer(browser, request, answer, due=bool(params.get("hasExtraInfo")))
        request.wants_answer = self._asks.response_body(
            request.base["method"], answer.get("url", "")
        )
        yield from challenges.emit_challenge(request.base, answer)
        if answers.is_passed_on(answer):
            yield from self._claim(number, request, None, [])
        else:
            yield from self._disjoin(request)
        if number not in self._requests:
            return
        if params.get("type") == _STREAM:
            self.messages.opened(number, request.base)
            yield from self._told_head(request)
        elif request.left:
            yield from self._finished(number)  # the browser says nothing of the rest

    def _told_head(self, request: Request) -> Iterator[CdpObservation]:
        if "request.answered" in self._asks.kinds and request.status is not None:
            data = request.about() | {"status": request.status} | request.answered()
            yield CdpObservation(
                "request.answered",
                data | ({"mime": request.answer_mime} if request.answer_mime else {}),
            )

    def _finished(
        self, number: str, status: int | None = None, *, aborted: bool = False
    ) -> Iterator[CdpObservation]:
        request = self._requests.get(number)
        if request is None or request.ended:
            return
        status = next(
            (one for one in (status, request.status, request.wire_status) if one is not None), None
        )
        if status is None or (request.status is None and 300 <= status < 400):
            return
        data = request.about() | {"status": status}
        if request.answer_mime:
            data["mime"] = request.answer_mime
        if request.hops:
            data["hops"] = list(request.hops)
        data |= (
            request.answered()
            | ({"left": True} if request.left else {})
            | ({"aborted": True} if aborted else {})
        )
        if request.left and request.status is None:
            request.wants_answer = self._asks.response_body(
                request.base["method"], request.base["url"]
            )
        cut_off = request.left or aborted
        yield from self._note_answer_body(number, request, cut_off=cut_off)
        yield from self._end(number, request, CdpObservation("request.finished", data))

    def _note_answer_body(
        self, number: str, request: Request, *, cut_off: bool
    ) -> Iterator[CdpObservation]:
        """Take the answer's body as it came in, or see to it that it is asked for."""
        if not request.wants_answer:
            return
        streamed, page = request.streamed, request.page
        if page is not None and request_dedup.is_answer_of(page, request):
            request.waits.add("answer")
            yield from self._page_over(str(request.base["request"]), whole=None)
            return
        lost = (
            request.rewritten
            or page is not None
            or (streamed is not None and streamed.went_elsewhere)
        )
        raw = streamed.whole(ended=not cut_off) if streamed is not None and not lost else None
        if raw is not None and request.secrets is not None:
            request.answer = bodies.body_fields(raw, request.answer_mime, request.secrets)
        elif lost or cut_off:
            request.answer = {"lost": True}  # the browser would give what came so far for the whole
        else:
            request.waits.add("answer")
            self._missing.append(Missing(request.session, _REPLIES[1], number))

    def _failed(self, browser: BrowserState, params: Params) -> Iterator[CdpObservation]:
        number = params["requestId"]
        request = self._requests.get(number)
        if request is None or request.ended:
            return
        aborted = params.get("errorText") == _ABORTED and request.status is not None
        taken = aborted and request.kind != _STREAM  # a stream has no other end than this one
        is_document = number == request.loader
        if (
            taken
            and not is_document
            and browser.is_being_left(request.base.get("frame"), request.loader)
        ):
            yield from self._leave(
                number, request
            )  # aborted with its document, after the server took it
        elif taken and request.status in _NOTHING_MORE:
            yield from self._finished(number, aborted=is_document)
        elif taken and (request.writes or request.is_attachment):
            yield from self._finished(number, aborted=True)
        else:
            yield from self._fails(number, request, _failure_fields(params))

    def _fails(
        self, number: str, request: Request, how: dict[str, Any]
    ) -> Iterator[CdpObservation]:
        """Tell that no whole answer came. What may change something at the server and went out was
        sent, whatever came of its answer: that is waited for, where the network may still say so.
        """
        data = request.about() | how
        status = request.status if request.status is not None else request.wire_status
        if status is not None:
            data["status"] = status
        if request.hops:
            data["hops"] = list(request.hops)
        data |= request.answered()
        sent = request.wire.is_sent(request.hop)
        if sent:
            data["sent"] = True
        elif request.writes and _may_have_gone_out(how) and self._live:
            request.waits.add("wire")
        request.wants_answer = NOBODY
        if not (sent and request.writes):
            request.wants_body = NOBODY
        yield from self._end(number, request, CdpObservation("request.failed", data))

    def _end(self, number: str, request: Request, seen: CdpObservation) -> Iterator[CdpObservation]:
        request.ended = True
        yield from self.messages.closed(number)
        yield from request.tell(Held(seen, request.hop, [seen.data], request.carries))
        if not request.waits:
            yield from self._finish(number, request)
        if inner := self._requests.get(request.inner):  # its answer came from elsewhere, or never
            yield from self._released(request.inner, inner, "outer")

    def _released(self, number: str, request: Request, what: str) -> Iterator[CdpObservation]:
        yield from request.release(what)
        if request.ended and not request.waits:
            yield from self._finish(number, request)

    def _finish(self, number: str, request: Request) -> Iterator[CdpObservation]:
        if self._requests.pop(number, None) is not None:
            yield from self._unknown(request)

    def _unknown(self, request: Request) -> Iterator[CdpObservation]:
        """A body that a rule asked for and nobody knows is not one that lacks what the rule
        wants."""
        if self._live and (what := request.unknown()):
            yield from gap(
                REQUESTS,
                f"the body of {what} {request.base['url'][:200]} is not known, or not whole",
            )

    def _claim(
        self,
        number: str,
        page: Request,
        answer: tuple[int, str] | None,
        holders: list[dict[str, Any]],
    ) -> Iterator[CdpObservation]:
        """A service worker has an answer to the page's request from the network, or a redirect."""
        yield from self._settle(number, last=True)
        page.claim = Claim(page.base["method"], page.base["url"], answer, holders)
        yield from self._settle(number)

    def _settle(self, number: str, *, last: bool = False) -> Iterator[CdpObservation]:
        """See whether a worker's answer is the server's to the same request: then the request that
        went out is told. ``last``: nothing more will come to be known. What is not known to be the
        server's is the worker's own."""
        page = self._requests.get(number)
        if page is None or page.claim is None:
            return
        inner = self._requests.get(page.inner)
        if request_dedup.is_pending(page, inner) and not last:
            page.waits.add("inner")
            return
        claim, inner_number, page.claim, page.inner = page.claim, page.inner, None, ""
        if inner is None and not page.worker_known and page.kind not in PARTS:
            yield from gap(
                REQUESTS, "a service worker answered a request before it could be listened to"
            )
        if inner is not None and claim.answer is None and page.kind != _STREAM:
            yield from self._stand_in(number, page, inner_number, inner)
            return
        if inner is not None and page.kind == _STREAM:
            page.answered_by = inner.answered_by
            self._forget(inner_number)
        elif (
            inner is not None
            and claim.answer is not None
            and request_dedup.take_hop(page, inner, claim.answer)
        ):
            for holder in claim.holders:
                holder.pop("answered_by", None)
                holder.pop("cached", None)
            self._forget(inner_number)
        elif inner is not None:
            yield from self._released(inner_number, inner, "outer")
        yield from self._released(number, page, "inner")

    def _stand_in(
        self, number: str, page: Request, inner_number: str, inner: Request
    ) -> Iterator[CdpObservation]:
        del self._requests[number]
        self._missing = [
            one for one in self._missing if one.command != _REPLIES[0] or one.number != number
        ]
        request_dedup.stand_in(page, inner)
        remember(self._pages, number, inner_number, MAX_REQUESTS)
        if inner.ended and inner.wants_answer:
            yield from self._note_answer_body(inner_number, inner, cut_off=inner.left)
        yield from self._released(inner_number, inner, "outer")

    def _forget(self, number: str) -> None:
        del self._requests[number]
        self._missing = [one for one in self._missing if one.number != number]

    def _disjoin(self, page: Request) -> Iterator[CdpObservation]:
        """The page's answer did not come through a worker from the network: what that sent is its
        own."""
        number, page.inner = page.inner, ""
        if inner := self._requests.get(number):
            yield from self._released(number, inner, "outer")

    def _asked_by(self, number: str) -> Request | None:
        """The request of that number, also where a worker's stands in for it."""
        inner = self._requests.get(self._pages.get(number, ""))
        return self._requests.get(number) if inner is None else inner.page

    def _page_over(self, number: str, *, whole: bool | None) -> Iterator[CdpObservation]:
        """A page has all that a worker passed on to it, or will not have it. ``whole`` None: the
        worker's request is over, and waits for that."""
        inner_number = self._pages.get(number, "")
        inner = self._requests.get(inner_number)
        page = inner.page if inner is not None else None
        if inner is None or page is None:
            self._pages.pop(number, None)
            return
        page.ended = page.ended or whole is not None
        if not page.ended or "answer" not in inner.waits:
            return
        if page.answer is not None:
            inner.answer = page.answer
            yield from self._released(inner_number, inner, "answer")
            return
        raw = page.streamed.whole(ended=True) if page.streamed else None
        if raw is not None and inner.secrets is not None:
            inner.answer = bodies.body_fields(raw, inner.answer_mime, inner.secrets)
        elif whole is not False:
            self._missing.append(Missing(page.session, _REPLIES[1], number))
            return
        else:
            inner.answer = {"lost": True}
        yield from self._released(inner_number, inner, "answer")

    def _wire_before(self, number: str) -> RequestHops:
        """What the network says of a request before its page does."""
        wire = self._early_wire.get(number)
        if wire is None:
            wire = RequestHops()
            remember(self._early_wire, number, wire, MAX_EARLY)
        return wire

    def _note_unclaimed(self, number: str, params: Params) -> None:
        """The network sent what nobody has told of: of a worker that is gone by now nobody will.
        Everything but a GET or HEAD carries an Origin."""
        if header(params.get("headers", {}), "origin"):
            remember(self._unclaimed, number, None, MAX_EARLY)

    def _went_out(self, number: str) -> Iterator[CdpObservation]:
        url = self._unsent.pop(number)
        yield from gap(
            REQUESTS, f"a request to {url[:200]} went out that was told to have failed before"
        )

    def _body_known(self, browser: BrowserState, params: Params) -> Iterator[CdpObservation]:
        number = params["requestId"]
        request = self._requests.get(number)
        if request is None or "body" not in request.waits:
            return
        raw = bodies.bytes_of_reply(params, "postData")
        if raw is not None:
            request.body = bodies.request_body(
                raw, request.mime, browser.secrets, request.wire.length
            )
            request.body_bytes = len(raw)
        yield from self._released(number, request, "body")
        yield from self._settle(request.outer)

    def _answer_known(self, browser: BrowserState, params: Params) -> Iterator[CdpObservation]:
        number = str(self._pages.get(params["requestId"], params["requestId"]))
        request = self._requests.get(number)
        if request is None or "answer" not in request.waits:
            return
        if request.page is not None and params["requestId"] == number:
            return  # what came to the worker was handed on to the page
        raw = bodies.bytes_of_reply(params, "body")
        # The browser had let go of it: too long, or its document is gone.
        request.answer = (
            {"lost": True}
            if raw is None
            else bodies.body_fields(raw, request.answer_mime, browser.secrets)
        )
        yield from self._released(number, request, "answer")

    def status_of(self, number: str) -> int | None:
        """The status that a request was answered with; None where it is over, or has no answer
        yet."""
        request = self._requests.get(number)
        return None if request is None else request.status

    def document_gone(self, frame: str, loader: str) -> Iterator[CdpObservation]:
        """The frame has another document now: of what the one before asked only the network's own
        word may come."""
        yield from self.messages.document_gone(frame)
        for number, request in list(self._requests.items()):
            asked = request.loader and request.loader != loader and number != request.loader
            if not asked or request.base.get("frame") != frame or request.left:
                continue
            if request.ended:
                request.left = (
                    True  # failed with its document: whether it went out may never be told
                )
            else:
                yield from self._leave(number, request)

    def _leave(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """Its document is gone. With the head of an answer the server took it, and its end is never
        told."""
        request.left = True
        if request.kind != _STREAM or request.status is None:
            yield from self._finished(number)

    def session_gone(self, session: SessionState) -> Iterator[CdpObservation]:
        """The session is gone: nothing more is heard of its requests."""
        yield from self.messages.document_gone(session.root)
        for number, request in list(self._requests.items()):
            if request.page is not None and request.page.session is session:
                yield from self._page_over(str(request.base["request"]), whole=False)
            if request.session is not session:
                continue
            if "answer" in request.waits:
                request.answer = {"lost": True}
            yield from self._unwitnessed(request)
            if not request.ended:
                yield from self._leave(number, request)
            if not request.ended:
                if request.status is None:
                    yield from self._fails(number, request, {"error": "unseen: its page is gone"})
                else:
                    request.ended = True
                    request.wants_body = request.wants_answer = NOBODY
                    yield from self._told_head(request)
            request.waits.clear()
            yield from request.release("")
            yield from self._finish(number, request)
        self._missing = [one for one in self._missing if one.session is not session]
        self._workers.discard(session.target)

    def _unwitnessed(self, request: Request) -> Iterator[CdpObservation]:
        """A write whose document is gone, and of which the network has not said that it went out:
        with the document the network's word is lost too, so it may have reached the server."""
        is_known = (
            request.wire.is_sent(request.hop)
            or request.status is not None
            or request.wire_status is not None
        )
        undecided = not request.ended or "wire" in request.waits
        if (
            self._live
            and request.writes
            and undecided
            and not is_known
            and not request.is_unwitnessed
        ):
            request.is_unwitnessed = True
            yield from gap(
                REQUESTS,
                f"whether a request to {request.base['url'][:200]} went out: its page is gone",
            )

    def overdue(self) -> Iterator[CdpObservation]:
        """At a fence: real headers that did not come by now will not, and a flood of messages is
        over."""
        for number, request in list(self._requests.items()):
            if "headers" in request.waits:
                yield from self._released(number, request, "headers")
            if request.left:
                yield from self._unwitnessed(request)
            if "wire" in request.waits:
                remember(self._unsent, number, request.base["url"], MAX_EARLY)
                yield from self._released(number, request, "wire")
            if request.claim is not None:
                yield from self._settle(number, last=True)
            if request.outer and request.outer not in self._requests:
                yield from self._released(number, request, "outer")
        if self._unclaimed:
            self._unclaimed.clear()
            yield from gap(REQUESTS, "a request went out of which no page and no worker has told")
        yield from self.messages.calm()

    def unanswered(self) -> Iterator[CdpObservation]:
        """At the end of all: what may change something at the server and went out. With the head of
        an answer the server took it, however long the rest would have taken; without, nobody knows
        what came of it."""
        for number, request in list(self._requests.items()):
            if not request.writes or request.ended:
                continue
            if request.status is not None:
                yield from self._finished(number, aborted=True)
            elif request.wire.is_sent(request.hop):
                yield from self._fails(number, request, {"error": "unseen: the episode is over"})

    def _of_sockets(
        self, browser: BrowserState, session: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        number = params.get("requestId", "")
        match method:
            case "Network.webSocketCreated":
                request = Request({}, "WebSocket", session, via=session.via)
                request.heads = Heads() if self._asks.headers else None
                url = browser.secrets.mask_url(params["url"])
                request.base = base_of(session, None, number) | {"method": "GET", "url": url}
                yield from self._keep(number, request)
                yield CdpObservation("request.sent", request.about())
            case "Network.webSocketWillSendHandshakeRequest":
                self._handshake(browser, number, params["request"], answer=False)
            case "Network.webSocketHandshakeResponseReceived":
                self._handshake(browser, number, params["response"], answer=True)
                if opened := self._requests.get(number):
                    yield from self._finished(number, status=params["response"]["status"])
                    self.messages.opened(number, opened.base)
            case "Network.webSocketFrameError":
                yield from self._failed(
                    browser, {"requestId": number, "errorText": params.get("errorMessage", "")}
                )
            case "Network.webSocketClosed":
                yield from self._failed(
                    browser, {"requestId": number, "errorText": "closed", "canceled": True}
                )
                yield from self.messages.closed(number)
            case (
                "Network.webSocketFrameSent"
                | "Network.webSocketFrameReceived"
                | "Network.eventSourceMessageReceived"
            ):
                yield from self.messages.fold(session, method, params, browser.secrets)

    def _handshake(
        self, browser: BrowserState, number: str, about: Params, *, answer: bool
    ) -> None:
        request = self._requests.get(number)
        if request is not None and request.heads is not None:
            names = self._asks.response_headers if answer else self._asks.request_headers
            headers = select_headers(about.get("headers", {}), names, browser.secrets)
            setattr(request.heads.hop(0), "answer" if answer else "sent", headers)


def _may_have_gone_out(how: Params) -> bool:
    """Whether a request may have failed after it went out, as one whose redirect the page takes for
    an error."""
    return "blocked" not in how and how.get("error") not in _WITHOUT_A_CONNECTION


def _failure_fields(params: Params) -> dict[str, Any]:
    """How a request failed, by `Network.loadingFailed`."""
    how: dict[str, Any] = {"error": params.get("errorText", "")}
    if params.get("canceled"):
        how["canceled"] = True
    if params.get("blockedReason") or params.get("corsErrorStatus"):
        how["blocked"] = params.get("blockedReason") or params["corsErrorStatus"]["corsError"]
    return how


__all__ = ["MAX_BODY_LENGTH", "CapturePlan", "Missing", "Network", "WantsBody"]
