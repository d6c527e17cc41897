"""WebSockets: asked for, opened, closed; their messages are `Messages`' own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from agentd.sources.cdp.network.headers import Heads, select_headers
from agentd.sources.cdp.network.messages import Messages
from agentd.sources.cdp.network.request_ends import RequestEnds
from agentd.sources.cdp.network.request_table import RequestTable
from agentd.sources.cdp.network.requests import Request, base_of
from agentd.sources.cdp.state.protocol import (
    FrameError,
    HandshakeReceived,
    HandshakeSent,
    LoadingFailed,
    OfRequest,
    WebSocketCreated,
)
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Handler,
    Params,
    SessionState,
)


class Sockets:
    """The fold over the browser's messages about WebSockets and the streams of their messages."""

    def __init__(self, table: RequestTable, ends: RequestEnds, messages: Messages) -> None:
        self._table = table
        self._ends = ends
        self._messages = messages

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each of the browser's messages."""
        received = partial(self._handle_message, "message.received")
        return {
            "Network.webSocketCreated": self._handle_created,
            "Network.webSocketWillSendHandshakeRequest": self._handle_handshake_sent,
            "Network.webSocketHandshakeResponseReceived": self._handle_handshake_received,
            "Network.webSocketFrameError": self._handle_error,
            "Network.webSocketClosed": self._handle_closed,
            "Network.webSocketFrameSent": partial(self._handle_message, "message.sent"),
            "Network.webSocketFrameReceived": received,
            "Network.eventSourceMessageReceived": received,
        }

    def _handle_created(
        self, browser: BrowserState, session: SessionState, params: WebSocketCreated
    ) -> Iterator[CdpObservation]:
        """Report that a socket is opened, as a request."""
        number = params["requestId"]
        request = Request({}, "WebSocket", session, via=session.via)
        request.heads = Heads() if self._table.plan.headers else None
        url = browser.secrets.mask_url(params["url"])
        request.base = base_of(session, None, number) | {"method": "GET", "url": url}
        yield from self._table.add(number, request)
        yield CdpObservation("request.sent", request.about())

    def _handle_handshake_sent(
        self, browser: BrowserState, _session: SessionState, params: HandshakeSent
    ) -> Iterable[CdpObservation]:
        """Note the headers with which a socket was asked for."""
        request = self._table.get(params["requestId"])
        if request is not None and request.heads is not None:
            names = self._table.plan.request_headers
            headers = params["request"].get("headers", {})
            request.heads.hop(0).sent = select_headers(headers, names, browser.secrets)
        return ()

    def _handle_handshake_received(
        self, browser: BrowserState, _session: SessionState, params: HandshakeReceived
    ) -> Iterator[CdpObservation]:
        """Report the answer to a socket, which is open from now on."""
        number, response = params["requestId"], params["response"]
        request = self._table.get(number)
        if request is None:
            return
        if request.heads is not None:
            names = self._table.plan.response_headers
            headers = response.get("headers", {})
            request.heads.hop(0).answer = select_headers(headers, names, browser.secrets)
        yield from self._ends.finish(number, status=response["status"])
        self._messages.opened(number, request.base)

    def _handle_error(
        self, browser: BrowserState, _session: SessionState, params: FrameError
    ) -> Iterator[CdpObservation]:
        error = params.get("errorMessage", "")
        failure: LoadingFailed = {"requestId": params["requestId"], "errorText": error}
        return self._ends.handle_failure(browser, failure)

    def _handle_closed(
        self, browser: BrowserState, _session: SessionState, params: OfRequest
    ) -> Iterator[CdpObservation]:
        number = params["requestId"]
        failure: LoadingFailed = {
            "requestId": number,
            "errorText": "closed",
            "canceled": True,
        }
        yield from self._ends.handle_failure(browser, failure)
        yield from self._messages.closed(number)

    def _handle_message(
        self, kind: str, browser: BrowserState, session: SessionState, params: Params
    ) -> Iterator[CdpObservation]:
        return self._messages.fold(kind, session, params, browser.secrets)
