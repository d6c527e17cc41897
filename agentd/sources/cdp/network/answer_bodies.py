"""Where the body of an answer comes from: what was streamed, what is fetched, or what a worker
handed on to its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentd.sources.cdp.network import bodies, request_dedup
from agentd.sources.cdp.network.request_table import RESPONSE_BODY, RequestTable
from agentd.sources.cdp.network.requests import Request
from agentd.sources.cdp.state.protocol import BodyReply, DataReceived, StreamReply
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, SessionState


class AnswerBodies:
    """The bodies of the answers that a plan wants. ``stand_ins``: a page's request → the worker's
    that stands in for it."""

    def __init__(self, table: RequestTable) -> None:
        self._table = table
        self.stand_ins: dict[str, str] = {}

    def take(self, number: str, request: Request, *, cut_off: bool) -> Iterator[CdpObservation]:
        """Take the body of an answer that is over as it came in, or have it fetched. ``cut_off``:
        nobody knows whether all of it came."""
        if not request.wants_answer:
            return
        page = request.page
        if page is not None and request_dedup.is_answer_of(page, request):
            request.waits.add("answer")
            yield from self.handle_page_end(number_of(page), whole=None)
            return
        lost = _is_out_of_reach(request)
        raw = None
        if request.streamed is not None and not lost:
            raw = request.streamed.whole(ended=not cut_off)
        if raw is not None and request.secrets is not None:
            request.answer = bodies.body_fields(raw, request.answer_mime, request.secrets)
        elif lost or cut_off:
            request.answer = {"lost": True}  # the browser would give what came so far for the whole
        else:
            request.waits.add("answer")
            self._table.fetch(request.session, RESPONSE_BODY, number)

    def handle_page_end(self, number: str, *, whole: bool | None) -> Iterator[CdpObservation]:
        """A page has all that a worker passed on to it, or will not have it. ``whole`` None: the
        worker's request is over, and waits for that."""
        inner_number = self.stand_ins.get(number, "")
        inner = self._table.get(inner_number)
        page = inner.page if inner is not None else None
        if inner is None or page is None:
            self.stand_ins.pop(number, None)
            return
        page.ended = page.ended or whole is not None
        if not page.ended or "answer" not in inner.waits:
            return
        raw = page.streamed.whole(ended=True) if page.streamed else None
        if page.answer is not None:
            inner.answer = page.answer
        elif raw is not None and inner.secrets is not None:
            inner.answer = bodies.body_fields(raw, inner.answer_mime, inner.secrets)
        elif whole is not False:
            self._table.fetch(page.session, RESPONSE_BODY, number)
            return
        else:
            inner.answer = {"lost": True}
        yield from self._table.release(inner_number, inner, "answer")

    def handle_reply(
        self, browser: BrowserState, _session: SessionState, params: BodyReply
    ) -> Iterator[CdpObservation]:
        """A body was fetched, or the browser had let go of it: too long, or its document is
        gone."""
        number = self.stand_ins.get(params["requestId"], params["requestId"])
        request = self._table.get(number)
        if request is None or "answer" not in request.waits:
            return
        if request.page is not None and params["requestId"] == number:
            return  # what came to the worker was handed on to the page
        raw = bodies.bytes_of_reply(params, "body")
        if raw is None:
            request.answer = {"lost": True}
        else:
            request.answer = bodies.body_fields(raw, request.answer_mime, browser.secrets)
        yield from self._table.release(number, request, "answer")

    def handle_stream(
        self, _browser: BrowserState, _session: SessionState, params: StreamReply
    ) -> Iterable[CdpObservation]:
        """The browser streams a body from here on, or refuses."""
        request = self._asking_request(params["requestId"])
        if request is not None and request.streamed:
            request.streamed.began(params)
        return ()

    def handle_data(
        self, _browser: BrowserState, _session: SessionState, params: DataReceived
    ) -> Iterable[CdpObservation]:
        """A piece of a body came in."""
        request = self._asking_request(params["requestId"])
        if request is not None and request.streamed:
            request.streamed.add_data(params)
        return ()

    def _asking_request(self, number: str) -> Request | None:
        """The request of that number, also where a worker's stands in for it."""
        inner = self._table.get(self.stand_ins.get(number, ""))
        return self._table.get(number) if inner is None else inner.page


def number_of(page: Request) -> str:
    """Return the browser's number of a page's request. What a worker's request that stands in for
    it is told by may be either's number."""
    return str(page.base["request"])


def _is_out_of_reach(request: Request) -> bool:
    """Whether the browser can't be asked for the server's answer: it was overwritten, or handed on
    to somebody else."""
    if request.rewritten or request.page is not None:
        return True
    return request.streamed is not None and request.streamed.went_elsewhere
