"""Documents that a service worker answered with: the server's to the same request, or its own.

The browser says that a worker answered, and from where it took the answer. It does not say to which
request that was the answer, and where it let the worker's request race with its own, it calls a
passed on answer made up. So a document is the server's where a request of a worker to the same
address, by the same method, had an answer at the very moment at which the document's was given.
Worker and page speak through processes of their own, so a document whose answer no worker is known
to have had waits until each of them has answered a question. Where a worker's answer is heard of
after the document was told as made up, what was told may be wrong, which is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentd.sources.cdp.network.requests import Request
from agentd.sources.cdp.state.gaps import PAGES, gap
from agentd.sources.cdp.state.state import CdpObservation, remember

BY_WORKER = "about:service-worker"
"""Stands for the address from which a document was loaded that a service worker made up."""
DOCUMENT = "Document"
_OWN = ("worker", "cache_storage")
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Answer:
    """``key``: to what it was the answer, and when; ``is_own``: the browser does not say that it
    came from the network; ``is_cached``: it came out of a cache that scripts fill; ``is_known``:
    the worker's requests were heard."""

    key: str
    is_own: bool
    is_cached: bool
    is_known: bool


class WorkerDocuments:
    """What workers had from the network, and the documents that they answered with."""

    def __init__(self) -> None:
        self._from_network: dict[str, bool] = {}
        self._documents: dict[str, _Answer] = {}
        self._made: dict[str, bool] = {}

    def note(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """A request has an answer, noted in ``request``; a gap where a document was told as made up
        that is its."""
        key = f"{request.answered_at} {request.base['method']} {request.base['url']}"
        by_worker = request.passed_on or request.answered_by in _OWN
        if request.session.via == "service_worker":
            if not by_worker and not request.rewritten:
                remember(self._from_network, key, True, _KEPT)
                if self._made.pop(key, False):
                    yield from gap(PAGES, "a service worker's answer was heard after its document")
        elif by_worker and request.kind == DOCUMENT:
            is_cached = request.answered_by == "cache_storage"
            answer = _Answer(key, not request.passed_on, is_cached, request.worker_known)
            remember(self._documents, number, answer, _KEPT)

    def is_unproven(self, number: str) -> bool:
        """Whether a worker's answer that is still to be heard of may prove the document that the
        request asked for to be the server's."""
        answer = self._documents.get(number)
        return answer is not None and not answer.is_cached and answer.key not in self._from_network

    def maker_of(self, number: str, *, is_heard: bool = True) -> str | None:
        """Return who made the document that a request asked for: `BY_WORKER` for a service worker
        that answered by itself or out of a cache that scripts fill, an empty text where nobody
        knows, None for the server. ``is_heard``: what workers have from the network is known."""
        answer = self._documents.get(number)
        if answer is None or (not answer.is_cached and answer.key in self._from_network):
            return None
        if not answer.is_cached and answer.is_own and answer.is_known and is_heard:
            remember(self._made, answer.key, True, _KEPT)
            return BY_WORKER
        return BY_WORKER if answer.is_cached else ""
