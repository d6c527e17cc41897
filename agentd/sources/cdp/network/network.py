"""Requests: sent, redirected, answered, finished, failed. Bodies and headers are kept only where
the plan asks, masked.

A body that the browser does not send along is fetched; until it is known what is told of that
request waits, so the order within a request stands and no other event is late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentd.sources.cdp.network import (
    answers,
    bodies,
    challenges,
    request_dedup,
    streamed,
    worker_gap,
)
from agentd.sources.cdp.network.answer_bodies import AnswerBodies
from agentd.sources.cdp.network.extra_info import ExtraInfo
from agentd.sources.cdp.network.first_calls import FirstCalls
from agentd.sources.cdp.network.headers import Heads, header, select_headers
from agentd.sources.cdp.network.lost_requests import LostRequests
from agentd.sources.cdp.network.messages import Messages
from agentd.sources.cdp.network.outliving import OutlivingRequests
from agentd.sources.cdp.network.reports import Reports
from agentd.sources.cdp.network.request_ends import RequestEnds
from agentd.sources.cdp.network.request_table import (
    POST_DATA,
    RESPONSE_BODY,
    Missing,
    RequestTable,
)
from agentd.sources.cdp.network.requests import (
    READS,
    STREAM,
    Held,
    Request,
    answer_source,
    base_of,
    type_of,
)
from agentd.sources.cdp.network.script_requests import ScriptRequests, is_waited_for
from agentd.sources.cdp.network.sockets import Sockets
from agentd.sources.cdp.network.web_transports import WebTransports
from agentd.sources.cdp.network.worker_answers import WorkerAnswers
from agentd.sources.cdp.network.worker_documents import WorkerDocuments
from agentd.sources.cdp.state.capture_plan import NOBODY, CapturePlan
from agentd.sources.cdp.state.protocol import (
    INNER_SCHEMES,
    HistogramsReply,
    LoadingFailed,
    OfRequest,
    PostDataReply,
    RequestData,
    RequestWillBeSent,
    ResponseData,
    ResponseReceived,
)
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Handler,
    Params,
    SessionState,
)

MAX_HOPS = 20


class Network:
    """The fold over network messages. ``plan``: what is kept beside method, address and status;
    ``live``: somebody asks the browser for bodies, so that one that is wanted and not there is a
    gap."""

    def __init__(self, plan: CapturePlan, *, live: bool = False) -> None:
        self.table = RequestTable(plan, live=live)
        self._plan = plan
        self._live = live
        self.outliving = OutlivingRequests()
        self.first_calls = FirstCalls()
        self.script_requests = ScriptRequests()
        self._service_workers: set[str] = set()  # those that are listened to
        self.messages = Messages(plan.kinds, guards=live and plan.guards_messages)
        self._web_transports = WebTransports(plan, self.first_calls, live=live)
        self._answer_bodies = AnswerBodies(self.table)
        self._worker_documents = WorkerDocuments()
        self._workers = WorkerAnswers(self.table, self._answer_bodies)
        self._ends = RequestEnds(self.table, self._answer_bodies, self.messages)
        self.extra_info = ExtraInfo(self.table, self._ends, self._workers)
        self._lost = LostRequests(self.table, self._answer_bodies, self._ends)
        self._handlers: dict[str, Handler] = {
            "Network.enable": self._handle_enabled,
            "Network.requestWillBeSent": self._handle_sent,
            "Network.requestWillBeSentExtraInfo": self.extra_info.handle,
            "Network.requestServedFromCache": self._handle_cached,
            "Network.responseReceived": self._handle_answer,
            "Network.responseReceivedExtraInfo": self.extra_info.handle,
            "Network.dataReceived": self._answer_bodies.handle_data,
            "Network.loadingFinished": self._handle_finished,
            "Network.loadingFailed": self._handle_failed,
            streamed.COMMAND: self._answer_bodies.handle_stream,
            POST_DATA: self._handle_request_body,
            RESPONSE_BODY: self._answer_bodies.handle_reply,
            **Sockets(self.table, self._ends, self.messages).handlers(),
            **self._web_transports.handlers(),
            **Reports().handlers(),
        }

    def take_missing(self) -> list[Missing]:
        """The bodies that have to be fetched since this was last called."""
        return self.table.take_missing()

    def fold(
        self, browser: BrowserState, session: SessionState, method: str, params: Params
    ) -> Iterable[CdpObservation]:
        """Fold one message; a command's name stands for its reply."""
        handler = self._handlers.get(method)
        return () if handler is None else handler(browser, session, params)

    def compare_calls(
        self, browser: BrowserState, reply: HistogramsReply, *, fenced: bool
    ) -> Iterator[CdpObservation]:
        """Report calls of pages that the browser counted and that reported no request. ``fenced``:
        every page has answered since."""
        self.note_served(browser)
        pages, each_counted = browser.shown_pages(), browser.counts_calls
        yield from self.first_calls.compare(reply, pages, fenced=fenced, each_counted=each_counted)

    def note_left(self) -> None:
        """A document was left, in a tab or in a frame of one."""
        self.first_calls.note_left()
        self.script_requests.note_left()

    def note_served(self, browser: BrowserState) -> None:
        """What service workers call counts for the pages that they may serve."""
        for frame in browser.served_frames():
            self.first_calls.note_served(browser.page_of(frame))
            browser.mark_called(frame)

    def status_of(self, number: str) -> int | None:
        """The status that a request was answered with; None where it is over, or has no answer
        yet."""
        request = self.table.get(number)
        return None if request is None else request.status

    def maker_of(self, number: str, *, is_heard: bool = True) -> str | None:
        """Return who made the document that a request asked for, as `WorkerDocuments.maker_of`."""
        return self._worker_documents.maker_of(number, is_heard=is_heard)

    def is_unproven(self, number: str) -> bool:
        """Whether the document may yet turn out to be the server's, as
        `WorkerDocuments.is_unproven`."""
        return self._worker_documents.is_unproven(number)

    def document_gone(self, frame: str, loader: str) -> Iterator[CdpObservation]:
        """The frame has the document ``loader`` now, and the one before is gone."""
        yield from self.messages.document_gone(frame)
        yield from self._web_transports.document_gone(frame)
        yield from self._lost.document_gone(frame, loader)

    def session_gone(self, session: SessionState) -> Iterator[CdpObservation]:
        """The session is gone: nothing more is heard of its requests."""
        yield from self.messages.document_gone(session.root)
        yield from self._web_transports.session_gone(session)
        yield from self._lost.session_gone(session)
        self._service_workers.discard(session.target)

    def session_crashed(self, session: SessionState) -> Iterator[CdpObservation]:
        """The session's renderer is gone: of its requests only the network's own word may come."""
        return self._lost.session_crashed(session)

    def overdue(self) -> Iterator[CdpObservation]:
        """At a fence: real headers that did not come by now will not, and a flood of messages is
        over."""
        for number, request in self.table.items():
            yield from self._stop_waiting(number, request)
        yield from self.extra_info.report_unclaimed()
        yield from self.messages.calm()

    def unanswered(self) -> Iterator[CdpObservation]:
        """At the end of all: the requests that went out and have no answer."""
        return self._lost.unanswered()

    def _stop_waiting(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """Report a request with what is known of it, for each thing that it still waits for."""
        if "headers" in request.waits:
            yield from self.table.release(number, request, "headers")
        if request.left:
            yield from self._lost.report_unwitnessed(request)
            yield from self._lost.report_crashed(number, request)
        if "wire" in request.waits:
            self.extra_info.note_unsent(number, request.base["url"])
            yield from self.table.release(number, request, "wire")
        if request.claim is not None:
            yield from self._workers.settle(number, last=True)
        if request.outer and self.table.get(request.outer) is None:
            yield from self.table.release(number, request, "outer")

    def _handle_enabled(
        self, _browser: BrowserState, session: SessionState, _params: Params
    ) -> Iterable[CdpObservation]:
        """Note that a session's requests are heard, and a service worker that is."""
        session.enabled = True
        if session.via == "service_worker":
            self._service_workers.add(session.target)
        return ()

    # -- sent

    def _handle_sent(
        self, browser: BrowserState, session: SessionState, params: RequestWillBeSent
    ) -> Iterator[CdpObservation]:
        """Take a request, or the next hop of one; what is inside the browser, and a worker's own
        script, are left out."""
        number = params["requestId"]
        self.extra_info.claim(number)
        is_own_script = bool(session.via) and number == session.target
        frame = params.get("frameId") or session.root
        if self.first_calls.note(browser.page_of(frame), type_of(params)):
            waited = self._plan.guards and is_waited_for(params)
            browser.mark_called(frame, waited=waited)
        if params["request"]["url"].startswith(INNER_SCHEMES) or is_own_script:
            return  # a worker's own script is told by whoever asked for the worker
        request = self.table.get(number)
        if request is None:
            request = self._new_request(browser, session, params)
            writes = params["request"]["method"] not in READS
            self.outliving.note(request.kind, writes=writes)
            self.script_requests.note(params)
            yield from self.table.add(number, request)
            self._stream_answer(number, request, params["request"])
        elif "redirectResponse" in params:
            yield from self._handle_redirect(browser, request, params)
        else:
            # The parent's session told of it already: a navigation that moved to another process.
            return
        self._note_hop(browser, session, request, params)
        yield from self.extra_info.note_early_headers(browser, number, request)
        request_dedup.join(self.table.requests, number, request)
        sent = CdpObservation("request.sent", request.about())
        yield from request.tell(Held(sent, request.hop, []))
        yield from self._workers.settle(request.outer)

    def _new_request(
        self, browser: BrowserState, session: SessionState, params: RequestWillBeSent
    ) -> Request:
        """Return a request with what is known before its answer: its kind, session, and who may
        answer it."""
        return Request(
            {},
            type_of(params),
            session,
            params.get("loaderId", ""),
            via=session.via,
            heads=Heads() if self._plan.headers else None,
            wire=self.extra_info.take_hops(params["requestId"]),
            worker_known=bool(self._service_workers),
            secrets=browser.secrets,
            as_of=browser.secrets.news,
        )

    def _stream_answer(self, number: str, request: Request, about: RequestData) -> None:
        """Have the answer's body streamed, where it is wanted and may be gone before it can be
        fetched."""
        if not self._live or request.kind not in streamed.TYPES:
            return
        if self._plan.response_body(about["method"], about["url"]):
            request.streamed = streamed.Streamed()
            self.table.fetch(request.session, streamed.COMMAND, number)

    def _note_hop(
        self,
        browser: BrowserState,
        session: SessionState,
        request: Request,
        params: RequestWillBeSent,
    ) -> None:
        """Keep where the present hop goes, its body and headers."""
        about = params["request"]
        url = browser.secrets.mask_url(about["url"] + about.get("urlFragment", ""))
        where = base_of(session, params.get("frameId"), params["requestId"])
        request.base = where | {"method": about["method"], "url": url}
        self._note_body(browser, request, params)
        if request.heads is None:
            return
        hop = request.heads.hop(request.hop)
        if not hop.sent:
            headers = about.get("headers", {})
            hop.sent = select_headers(headers, self._plan.request_headers, browser.secrets)

    def _note_body(
        self, browser: BrowserState, request: Request, params: RequestWillBeSent
    ) -> None:
        """Keep the body that the present hop carries, or have it fetched."""
        about = params["request"]
        wanted = NOBODY
        if about.get("hasPostData") or "postData" in about:
            wanted = self._plan.request_body(about["method"], about["url"])
        request.carries = wanted != NOBODY
        request.wants_body = max(request.wants_body, wanted)
        if not request.carries or request.body is not None or "body" in request.waits:
            return  # without one, or a 307 that sends the same body on
        request.mime = header(about.get("headers", {}), "content-type")
        raw = bodies.bytes_of(about)
        if raw is None:
            request.waits.add("body")
            self.table.fetch(request.session, POST_DATA, params["requestId"])
        else:
            _set_body(browser, request, raw)

    def _handle_request_body(
        self, browser: BrowserState, _session: SessionState, params: PostDataReply
    ) -> Iterator[CdpObservation]:
        """Add the body that was asked for, and report what waited for it."""
        number = params["requestId"]
        request = self.table.get(number)
        if request is None or "body" not in request.waits:
            return
        raw = bodies.bytes_of_reply(params, "postData")
        if raw is not None:
            _set_body(browser, request, raw)
        yield from self.table.release(number, request, "body")
        yield from self._workers.settle(request.outer)

    def _handle_redirect(
        self, browser: BrowserState, request: Request, params: RequestWillBeSent
    ) -> Iterator[CdpObservation]:
        """Report a hop with its status and where it leads, and go on with the next one."""
        answer = params["redirectResponse"]
        has_extra_info = params.get("redirectHasExtraInfo")
        location = header(answer.get("headers", {}), "location") or params["request"]["url"]
        hop: dict[str, Any] = {
            "method": request.base["method"],
            "url": request.base["url"],
            "status": answer["status"],
            "location": browser.secrets.mask_url(location),
        }
        hop |= answer_source(answers.source_of(answer, extra=has_extra_info))
        if len(request.hops) < MAX_HOPS:
            request.hops.append(hop)
        self._note_answer_headers(browser, request, answer, due=bool(has_extra_info))
        request.wire.redirect(request.hop, due=has_extra_info is not False)
        redirected = CdpObservation("request.redirected", request.base | hop)
        holders = [redirected.data, hop]
        if answers.is_passed_on(answer):
            claimed = (answer["status"], location)
            yield from self._workers.claim(params["requestId"], request, claimed, holders)
        else:
            yield from self._workers.disjoin(request)
        number = request.hop
        request.hop += 1
        yield from request.tell(Held(redirected, number, holders, request.carries))

    # -- answered

    def _handle_cached(
        self, _browser: BrowserState, _session: SessionState, params: OfRequest
    ) -> Iterable[CdpObservation]:
        """Note that the browser's memory answered."""
        if request := self.table.get(params["requestId"]):
            request.answered_by = "memory"
        return ()

    def _handle_answer(
        self, browser: BrowserState, session: SessionState, params: ResponseReceived
    ) -> Iterator[CdpObservation]:
        """Note an answer's head, and decide whether its body is wanted; one without its request is
        a gap."""
        number, answer = params["requestId"], params["response"]
        request = self.table.get(number)
        if request is None:
            yield from worker_gap.emit_worker_gap(session)
            return
        headers = answer.get("headers", {})
        has_extra_info = params.get("hasExtraInfo")
        answers.note(request, answer, extra=has_extra_info)
        disposition = header(headers, "content-disposition").lower()
        request.is_attachment = disposition.startswith("attachment")
        if request.streamed:
            request.streamed.answered(headers)
        self._note_answer_headers(browser, request, answer, due=bool(has_extra_info))
        request.wants_answer = self._plan.response_body(
            request.base["method"], answer.get("url", "")
        )
        yield from challenges.emit_challenge(request.base, answer)
        request.passed_on = answers.is_passed_on(answer)
        yield from self._worker_documents.note(number, request)
        if request.passed_on:
            yield from self._workers.claim(number, request, None, [])
        else:
            yield from self._workers.disjoin(request)
        if self.table.get(number) is None:
            return
        if params.get("type") == STREAM:
            self.messages.opened(number, request.base)
            yield from self._ends.report_head(request)
        elif request.left:
            yield from self._ends.finish(number)  # the browser says nothing of the rest

    def _note_answer_headers(
        self, browser: BrowserState, request: Request, answer: ResponseData, *, due: bool
    ) -> None:
        """Keep the headers of the answer to the present hop; ``due``: the real ones are still to
        come."""
        if request.heads is None:
            return
        hop = request.heads.hop(request.hop)
        hop.due = due
        if not hop.answer and self._plan.answers_headers:
            headers = answer.get("headers", {})
            hop.answer = select_headers(headers, self._plan.response_headers, browser.secrets)

    # -- over

    def _handle_finished(
        self, _browser: BrowserState, session: SessionState, params: OfRequest
    ) -> Iterator[CdpObservation]:
        """Report that an answer is whole, and read a body that the page's script holds."""
        number = params["requestId"]
        if number == session.target:
            session.heard = True
        yield from self._ends.finish(number)
        yield from self._answer_bodies.handle_page_end(number, whole=True)

    def _handle_failed(
        self, browser: BrowserState, _session: SessionState, params: LoadingFailed
    ) -> Iterator[CdpObservation]:
        yield from self._ends.handle_failure(browser, params)
        yield from self._answer_bodies.handle_page_end(params["requestId"], whole=False)


def _set_body(browser: BrowserState, request: Request, raw: bytes) -> None:
    """Give a request the body that its present hop carries."""
    request.body = bodies.request_body(raw, request.mime, browser.secrets, request.wire.length)
    request.body_bytes = len(raw)
