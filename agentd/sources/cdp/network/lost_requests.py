"""Requests whose document, session or episode is over before they are: what the server may have
taken all the same."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.network.answer_bodies import AnswerBodies, number_of
from agentd.sources.cdp.network.request_ends import RequestEnds
from agentd.sources.cdp.network.request_table import RequestTable
from agentd.sources.cdp.network.requests import Request
from agentd.sources.cdp.state.capture_plan import NOBODY
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import CdpObservation, SessionState


class LostRequests:
    """Reports what became of requests of which nobody will say more."""

    def __init__(self, table: RequestTable, bodies: AnswerBodies, ends: RequestEnds) -> None:
        self._table = table
        self._bodies = bodies
        self._ends = ends

    def document_gone(self, frame: str, loader: str) -> Iterator[CdpObservation]:
        """The frame has the document ``loader`` now: of what the one before asked for only the
        network's own word may come. An empty ``loader``: the frame is gone, and with it what would
        have told of a document that was still to come."""
        for number, request in self._table.items():
            if request.base.get("frame") != frame or request.left:
                continue
            is_to_come = request.loader == number and bool(loader)
            if not request.loader or request.loader == loader or is_to_come:
                continue
            if request.ended:
                # It failed with its document: whether it went out may never be told.
                request.left = True
            else:
                yield from self._ends.leave(number, request)

    def session_gone(self, session: SessionState) -> Iterator[CdpObservation]:
        """The session is gone: nothing more is heard of its requests."""
        for number, request in self._table.items():
            if request.page is not None and request.page.session is session:
                yield from self._bodies.handle_page_end(number_of(request.page), whole=False)
            if request.session is session:
                yield from self._give_up(number, request)
        self._table.drop_missing_of(session)

    def session_crashed(self, session: SessionState) -> Iterator[CdpObservation]:
        """The session's renderer is gone: of what it asked for only the network's own word may
        come, as of a request that outlives its page."""
        for number, request in self._table.items():
            if request.session is session and not request.ended:
                request.is_crashed = True
                yield from self._ends.leave(number, request)

    def report_crashed(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """At a fence: a write of a renderer that is gone, which the network has not told an answer
        of. Nobody will."""
        if request.is_crashed and request.writes and not request.ended:
            yield from self._ends.fail(number, request, {"error": "unseen: its page crashed"})

    def report_unwitnessed(self, request: Request) -> Iterator[CdpObservation]:
        """A write whose document is gone, and of which the network has not said that it went out:
        with the document the network's word is lost too, so it may have reached the server."""
        if not self._table.live or request.is_unwitnessed or not _is_undecided_write(request):
            return
        request.is_unwitnessed = True
        yield from gap(
            REQUESTS,
            f"whether a request to {request.base['url'][:200]} went out: its page is gone",
        )

    def unanswered(self) -> Iterator[CdpObservation]:
        """At the end of all: what may change something at the server and went out. With the head of
        an answer the server took it, however long the rest would have taken; without, nobody knows
        what came of it."""
        for number, request in self._table.items():
            if "outer" in request.waits:  # a worker's, of which the page got no answer
                yield from self._table.release(number, request, "outer")
        for number, request in self._table.items():
            if not request.writes or request.ended:
                continue
            if request.status is not None:
                yield from self._ends.finish(number, aborted=True)
            elif request.wire.is_sent(request.hop):
                failure = {"error": "unseen: the episode is over"}
                yield from self._ends.fail(number, request, failure)

    def _give_up(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """End a request whose session is gone by what is known of it now."""
        if "answer" in request.waits:
            request.answer = {"lost": True}
        yield from self.report_unwitnessed(request)
        if not request.ended:
            yield from self._ends.leave(number, request)
        if not request.ended and request.status is None:
            yield from self._ends.fail(number, request, {"error": "unseen: its page is gone"})
        elif not request.ended:
            request.ended = True
            request.wants_body = request.wants_answer = NOBODY
            yield from self._ends.report_head(request)
        request.waits.clear()
        yield from request.release("")
        yield from self._table.drop(number, request)


def _is_undecided_write(request: Request) -> bool:
    """Whether nobody knows of a write if it reached the server."""
    if not request.writes or (request.ended and "wire" not in request.waits):
        return False
    if request.status is not None or request.wire_status is not None:
        return False
    return not request.wire.is_sent(request.hop)
