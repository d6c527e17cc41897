"""Sessions of WebTransport: over one a page or a worker may write to a server what it likes, and no
event says what. For as long as one is there, a guard does not know what was written. Nor does it as
a page is left that had one: what it begins then is reported to nobody (the first one of a page is
counted, network/first_calls.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from agentd.sources.cdp.network.first_calls import TRANSPORT, FirstCalls
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.protocol import WebTransportEvent
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Handler,
    SessionState,
    remember,
)

MAX_PAGES = 512
MESSAGES = ("message",)
_REASON = "a session of WebTransport to {}: what is written over it is not reported"


class WebTransports:
    """The fold over the browser's messages about them. ``live``: a plan's guards are all who ask,
    of a log that was recorded by others anybody may."""

    def __init__(self, plan: CapturePlan, calls: FirstCalls, *, live: bool) -> None:
        self._calls = calls
        parts = REQUESTS if plan.guards or not live else ()
        self._parts = (*parts, *(MESSAGES if plan.guards_messages or not live else ()))
        self._open: dict[str, SessionState] = {}
        self._users: dict[str, None] = {}  # the roots of sessions whose pages or workers had one

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each of the browser's messages."""
        return {
            "Network.webTransportCreated": self._handle_created,
            "Network.webTransportClosed": self._handle_closed,
        }

    def document_gone(self, root: str) -> Iterator[CdpObservation]:
        """The document of the frame ``root`` is gone, and the transports of its session with it."""
        yield from self._end(lambda session: session.root == root)
        if root in self._users:
            del self._users[root]
            yield from gap(
                self._parts,
                "a document was left that uses WebTransport: what it may have sent then is not"
                " reported",
            )

    def session_gone(self, gone: SessionState) -> Iterator[CdpObservation]:
        """The session is gone, and with it the page or worker that had them."""
        return self._end(lambda session: session is gone)

    def _handle_created(
        self, browser: BrowserState, session: SessionState, params: WebTransportEvent
    ) -> Iterable[CdpObservation]:
        if params["transportId"] not in self._open:
            self._open[params["transportId"]] = session
            self._calls.note(browser.page_of(session.root), TRANSPORT)
            remember(self._users, session.root, None, MAX_PAGES)
            url = browser.secrets.mask_url(params.get("url", ""))[:200]
            yield from self._begin(_REASON.format(url))

    def _handle_closed(
        self, _browser: BrowserState, _session: SessionState, params: WebTransportEvent
    ) -> Iterable[CdpObservation]:
        return self._close(params["transportId"])

    def _end(self, ends: Callable[[SessionState], bool]) -> Iterator[CdpObservation]:
        for number in [number for number, session in self._open.items() if ends(session)]:
            yield from self._close(number)

    def _begin(self, reason: str) -> Iterator[CdpObservation]:
        for part in self._parts:
            yield CdpObservation("gap.began", {"source": "cdp", "part": part, "reason": reason})

    def _close(self, number: str) -> Iterator[CdpObservation]:
        if self._open.pop(number, None) is not None:
            for part in self._parts:
                yield CdpObservation("gap.ended", {"source": "cdp", "part": part})
