"""How a request ends: with an answer, with a failure, or with its document gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentd.sources.cdp.network.answer_bodies import AnswerBodies
from agentd.sources.cdp.network.messages import Messages
from agentd.sources.cdp.network.request_table import RequestTable
from agentd.sources.cdp.network.requests import STREAM, Held, Request
from agentd.sources.cdp.state.capture_plan import NOBODY
from agentd.sources.cdp.state.protocol import LoadingFailed
from agentd.sources.cdp.state.state import BrowserState, CdpObservation
from detectors.model.optional_values import drop_empty, entries_without_none

_ABORTED = "net::ERR_ABORTED"
_WITHOUT_A_CONNECTION = frozenset(
    (
        *(
            f"net::ERR_{name}"
            for name in (
                "UNSAFE_PORT",
                "CONNECTION_REFUSED",
                "CONNECTION_FAILED",
                "CONNECTION_TIMED_OUT",
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
        ),
        *("NS_ERROR_CONNECTION_REFUSED", "NS_ERROR_UNKNOWN_HOST", "NS_ERROR_OFFLINE"),
    )
)
"""Errors, in the words of Chromium and of Firefox, of a request that had no connection to send
anything over."""
_NOTHING_MORE = (204, 205)
"""Statuses whose answer is over with its head."""


class RequestEnds:
    """Reports the ends of requests, and what ends with them."""

    def __init__(self, table: RequestTable, bodies: AnswerBodies, messages: Messages) -> None:
        self._table = table
        self._bodies = bodies
        self._messages = messages

    def report_head(self, request: Request) -> Iterator[CdpObservation]:
        """Report the head of an answer whose end does not come soon, or never."""
        if "request.response_started" not in self._table.plan.kinds or request.status is None:
            return
        data = request.about() | {"status": request.status} | request.answered()
        data |= drop_empty({"mime": request.answer_mime})
        yield CdpObservation("request.response_started", data)

    def finish(
        self, number: str, status: int | None = None, *, aborted: bool = False
    ) -> Iterator[CdpObservation]:
        """Report that the server took a request, with the status that it gave if that is known
        otherwise than by the request's own messages. ``aborted``: before all of the answer came."""
        request = self._table.get(number)
        if request is None or request.ended:
            return
        if status is None:
            status = request.status if request.status is not None else request.wire_status
        if status is None or (request.status is None and 300 <= status < 400):
            return
        data = _finished_fields(request, status, aborted=aborted)
        if request.left and request.status is None:
            address = request.base["method"], request.base["url"]
            request.wants_answer = self._table.plan.response_body(*address)
        yield from self._bodies.take(number, request, cut_off=request.left or aborted)
        yield from self._end(number, request, CdpObservation("request.finished", data))

    def handle_failure(
        self, browser: BrowserState, params: LoadingFailed
    ) -> Iterator[CdpObservation]:
        """A request failed, or was aborted after the server had taken it."""
        number = params["requestId"]
        request = self._table.get(number)
        if request is None or request.ended:
            return
        is_document = number == request.loader
        if not _is_taken(request, params):
            yield from self.fail(number, request, _failure_fields(params))
        elif not is_document and browser.is_being_left(request.base.get("frame"), request.loader):
            yield from self.leave(number, request)
        elif request.status in _NOTHING_MORE:
            yield from self.finish(number, aborted=is_document)
        elif request.writes or request.is_attachment:
            yield from self.finish(number, aborted=True)
        else:
            yield from self.fail(number, request, _failure_fields(params))

    def fail(
        self, number: str, request: Request, failure: dict[str, Any]
    ) -> Iterator[CdpObservation]:
        """Report that no whole answer came, and how. What may change something at the server and
        went out was sent, whatever came of its answer: that is waited for, where the network may
        still say so."""
        sent = request.wire.is_sent(request.hop)
        status = request.status if request.status is not None else request.wire_status
        data = request.about() | failure | entries_without_none({"status": status})
        data |= drop_empty({"hops": [*request.hops], **request.answered(), "sent": sent})
        if not sent and request.writes and may_have_gone_out(failure):
            if self._table.live:
                request.waits.add("wire")
            elif not self._table.has_wire:  # a log without the network's own word of any request
                data["sent"] = True
        request.wants_answer = NOBODY
        if not (sent and request.writes):
            request.wants_body = NOBODY
        yield from self._end(number, request, CdpObservation("request.failed", data))

    def leave(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """Its document is gone. With the head of an answer the server took it, and its end is never
        told."""
        request.left = True
        if request.kind != STREAM or request.status is None:
            yield from self.finish(number)

    def _end(self, number: str, request: Request, end: CdpObservation) -> Iterator[CdpObservation]:
        """Report the end of a request once nothing more is to come of it, and let its outer one go
        on."""
        request.ended = True
        if "twin" in request.waits:
            yield from request.release("twin")
        yield from self._messages.closed(number)
        yield from request.tell(Held(end, request.hop, [end.data], request.carries))
        if not request.waits:
            yield from self._table.drop(number, request)
        # Its answer came from elsewhere than a worker's request, or never.
        if inner := self._table.get(request.inner):
            yield from self._table.release(request.inner, inner, "outer")


def _finished_fields(request: Request, status: int, *, aborted: bool) -> dict[str, Any]:
    """Make the data of a `request.finished`."""
    optional = {
        "mime": request.answer_mime,
        "hops": list(request.hops),
        **request.answered(),
        "document_gone": request.left,
        "aborted": aborted,
    }
    return request.about() | {"status": status} | drop_empty(optional)


def _is_taken(request: Request, params: LoadingFailed) -> bool:
    """Whether a request was aborted after the server took it; a stream has no other end than
    this."""
    is_aborted = params.get("errorText") == _ABORTED and request.status is not None
    return is_aborted and request.kind != STREAM


def may_have_gone_out(failure: Mapping[str, object]) -> bool:
    """Whether a request may have failed after it went out, as one whose redirect the page takes for
    an error."""
    return "blocked" not in failure and failure.get("error") not in _WITHOUT_A_CONNECTION


def _failure_fields(params: LoadingFailed) -> dict[str, Any]:
    """How a request failed: {error, canceled?, blocked?}."""
    by_cors = params.get("corsErrorStatus", {}).get("corsError")
    optional = {
        "canceled": params.get("canceled"),
        "blocked": params.get("blockedReason") or by_cors,
    }
    return {"error": params.get("errorText", ""), **drop_empty(optional)}
