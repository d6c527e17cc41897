"""The network service's own messages: which headers went out and came back, and with which status.

They come earlier or later than those of the page or the worker that asked, of which nobody may ever
hear.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.network import bodies
from agentd.sources.cdp.network.headers import header, select_headers
from agentd.sources.cdp.network.request_ends import RequestEnds
from agentd.sources.cdp.network.request_table import MAX_REQUESTS, RequestTable
from agentd.sources.cdp.network.requests import Request, number_of
from agentd.sources.cdp.network.wire import RequestHops
from agentd.sources.cdp.network.worker_answers import WorkerAnswers
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.protocol import ExtraInfoParams
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, SessionState, remember

MAX_EARLY = 256


class ExtraInfo:
    """The fold over the network service's messages, those of unknown requests kept until a page or
    a worker reports the request."""

    def __init__(self, table: RequestTable, ends: RequestEnds, workers: WorkerAnswers) -> None:
        self._table = table
        self._ends = ends
        self._workers = workers
        self.early: dict[str, list[ExtraInfoParams]] = {}
        self._early_hops: dict[str, RequestHops] = {}
        # Requests that a page or a worker reported.
        self._known: dict[str, None] = {}
        # Those that went out and may write, and that nobody has reported yet.
        self._unclaimed: dict[str, None] = {}
        # Those reported to have failed unsent → the address of each.
        self._unsent: dict[str, str] = {}

    def handle(
        self, browser: BrowserState, _session: SessionState, params: ExtraInfoParams
    ) -> Iterator[CdpObservation]:
        """Fold one message of the network service."""
        self._table.has_wire = True
        if "statusCode" in params:
            return self._handle_answer(browser, params, params["statusCode"])
        return self._handle_sent(browser, params)

    def claim(self, number: str) -> None:
        """A page or a worker reports the request of that number."""
        self._unclaimed.pop(number, None)
        remember(self._known, number, None, MAX_REQUESTS)

    def take_hops(self, number: str) -> RequestHops:
        """What the network said of a request before its page did."""
        return self._early_hops.pop(number, None) or RequestHops()

    def note_early_headers(
        self, browser: BrowserState, number: str, request: Request
    ) -> Iterator[CdpObservation]:
        """Give a new request the headers that came before it; what else was said is in its hops
        (`take_hops`)."""
        for params in self.early.pop(number, ()):
            yield from self._note_headers(browser, request, params)

    def note_unsent(self, number: str, url: str) -> None:
        """The network did not say in time that a request went out that failed."""
        remember(self._unsent, number, url[:200], MAX_EARLY)

    def report_unclaimed(self) -> Iterator[CdpObservation]:
        """Requests that nobody has reported by now are a gap."""
        if self._unclaimed:
            self._unclaimed.clear()
            yield from gap(REQUESTS, "a request went out of which no page and no worker has told")

    def _handle_sent(
        self, browser: BrowserState, params: ExtraInfoParams
    ) -> Iterator[CdpObservation]:
        """The headers of a request's hop went out."""
        number = params["requestId"]
        headers = params.get("headers", {})
        length = number_of(header(headers, "content-length"))
        request = self._table.get(number)
        if request is None:
            hops = self._hops_before(number)
            hops.sent += 1
            hops.length = length
            yield from self._note_unclaimed(browser, params)
            self._keep_early(params)
            return
        request.wire.sent += 1
        if request.carries:
            request.wire.length = length
            if request.body is not None and length is not None:
                bodies.size_the_file(request.body, length - request.body_bytes)
        if "wire" in request.waits:
            request.later[-1].seen.data["sent"] = True
            yield from self._table.release(number, request, "wire")
        yield from self._note_headers(browser, request, params)

    def _handle_answer(
        self, browser: BrowserState, params: ExtraInfoParams, status: int
    ) -> Iterator[CdpObservation]:
        """The head of the answer to a request's hop came back."""
        number = params["requestId"]
        request = self._table.get(number)
        hops = self._hops_before(number) if request is None else request.wire
        hops.answers.append((status, header(params.get("headers", {}), "location")))
        if request is None:
            self._keep_early(params)
            return
        yield from self._note_headers(browser, request, params)
        if request.left:
            yield from self._ends.finish(number)
        yield from self._workers.settle(request.outer)

    def _note_headers(
        self, browser: BrowserState, request: Request, params: ExtraInfoParams
    ) -> Iterator[CdpObservation]:
        """Keep the real headers that are wanted, and report what waited for them."""
        if request.heads is None:
            return
        plan = self._table.plan
        is_answer = "statusCode" in params
        names = plan.response_headers if is_answer else plan.request_headers
        headers = select_headers(params.get("headers", {}), names, browser.secrets)
        request.heads.real(headers, answer=is_answer)
        if "headers" not in request.waits:
            return
        if not any(request.heads.lacks(held.hop) for held in request.later):
            yield from self._table.release(params["requestId"], request, "headers")

    def _hops_before(self, number: str) -> RequestHops:
        """What the network says of a request before its page does."""
        hops = self._early_hops.get(number)
        if hops is None:
            hops = RequestHops()
            remember(self._early_hops, number, hops, MAX_EARLY)
        return hops

    def _keep_early(self, params: ExtraInfoParams) -> None:
        """Keep headers that came before their request; of too many the oldest are let go."""
        if not self._table.plan.headers:
            return
        self.early.setdefault(params["requestId"], []).append(params)
        if len(self.early) > MAX_EARLY:
            del self.early[next(iter(self.early))]

    def _note_unclaimed(
        self, browser: BrowserState, params: ExtraInfoParams
    ) -> Iterator[CdpObservation]:
        """The network sent what nobody has reported: of a worker that is gone by now nobody will.
        Everything but a GET or HEAD carries an Origin."""
        number = params["requestId"]
        if number in self._unsent:
            url = self._unsent.pop(number)
            yield from gap(
                REQUESTS, f"a request to {url} went out that was told to have failed before"
            )
            return
        has_origin = bool(header(params.get("headers", {}), "origin"))
        if has_origin and browser.settled and number not in self._known:
            remember(self._unclaimed, number, None, MAX_EARLY)
