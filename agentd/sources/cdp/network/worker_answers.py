"""A service worker's answers: whether one is the server's to the same request (request_dedup.py),
which then is reported once, in the page's name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentd.sources.cdp.network import request_dedup
from agentd.sources.cdp.network.answer_bodies import AnswerBodies
from agentd.sources.cdp.network.request_table import MAX_REQUESTS, RequestTable
from agentd.sources.cdp.network.requests import PARTS, STREAM, Claim, Request
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import CdpObservation, remember


class WorkerAnswers:
    """What service workers answered to pages, as far as it may have come from the network."""

    def __init__(self, table: RequestTable, bodies: AnswerBodies) -> None:
        self._table = table
        self._bodies = bodies

    def claim(
        self,
        number: str,
        page: Request,
        answer: tuple[int, str] | None,
        holders: list[dict[str, Any]],
    ) -> Iterator[CdpObservation]:
        """A service worker has an answer to the page's request from the network: of the fields as
        in `Claim`."""
        yield from self.settle(number, last=True)
        page.claim = Claim(page.base["method"], page.base["url"], answer, holders)
        yield from self.settle(number)

    def settle(self, number: str, *, last: bool = False) -> Iterator[CdpObservation]:
        """See whether a worker's answer is the server's to the same request: then the request that
        went out is reported. ``last``: nothing more will come to be known. What is not known to be
        the server's is the worker's own."""
        page = self._table.get(number)
        if page is None or page.claim is None:
            return
        inner = self._table.get(page.inner)
        if request_dedup.is_pending(page, inner) and not last:
            page.waits.add("inner")
            return
        claim, page.claim = page.claim, None
        inner_number, page.inner = page.inner, ""
        if inner is None:
            yield from _report_unheard_worker(page)
        elif page.kind == STREAM:
            page.answered_by = inner.answered_by
            self._table.forget(inner_number)
        elif claim.answer is None:
            yield from self._stand_in(number, page, inner_number, inner)
            return
        elif request_dedup.take_hop(page, inner, claim.answer):
            _mark_as_from_server(claim)
            self._table.forget(inner_number)
        else:
            yield from self._table.release(inner_number, inner, "outer")
        page.waits.discard("twin")
        yield from self._table.release(number, page, "inner")

    def disjoin(self, page: Request) -> Iterator[CdpObservation]:
        """The page's answer did not come through a worker from the network: what that sent is its
        own."""
        number, page.inner = page.inner, ""
        if inner := self._table.get(number):
            yield from self._table.release(number, inner, "outer")
        yield from page.release("twin")

    def _stand_in(
        self, number: str, page: Request, inner_number: str, inner: Request
    ) -> Iterator[CdpObservation]:
        """Let the worker's request take the place of the page's."""
        self._table.replace(number)
        request_dedup.stand_in(page, inner)
        remember(self._bodies.stand_ins, number, inner_number, MAX_REQUESTS)
        if inner.ended and inner.wants_answer:
            yield from self._bodies.take(inner_number, inner, cut_off=inner.left)
        yield from self._table.release(inner_number, inner, "outer")


def _report_unheard_worker(page: Request) -> Iterator[CdpObservation]:
    """Nobody knows what a worker sent that was not listened to when it answered a page."""
    if not page.worker_known and page.kind not in PARTS:
        yield from gap(
            REQUESTS, "a service worker answered a request before it could be listened to"
        )


def _mark_as_from_server(claim: Claim) -> None:
    """The redirect was the server's, not the worker's own."""
    for holder in claim.holders:
        holder.pop("served_from", None)
        holder.pop("cached", None)
