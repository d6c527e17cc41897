"""Requests that a page's script sends by an ordinary `fetch` or `XMLHttpRequest`, or a session of
WebTransport that it begins, as the page is left, and no session reports.

By then the page's session has gone over to the next document, and no histogram counts such a
request. But the browser counts pages that call these functions: each page once for each of them, by
its first call, without an address. A page is counted at once as it is left. So what is counted
around a change of document, and belongs to no page that reported a request of that type, was called
by a page as it was left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.protocol import HistogramsReply
from agentd.sources.cdp.state.state import CALLS, CdpObservation, remember

COMMAND = "Browser.getHistograms"
FEATURES = "Blink.UseCounter.Features"
QUERY = {"query": FEATURES}
LEAVES = ("Page.frameNavigated", "Page.frameDetached", "Target.targetDestroyed")
"""Messages by which a document may have been left."""
TRANSPORT = "WebTransport"
_TYPES = {675: "Fetch", 677: "XHR", 465: "XHR", 3472: TRANSPORT}
"""Bucket → the type under which `Network` reports such requests: `fetch`, an asynchronous and a
synchronous `XMLHttpRequest`, and `WebTransport`. The numbers are Chromium's for good
(`WebFeature`)."""
_WAITED, _TRANSPORT = 465, 3472
_OF_SERVICE_WORKERS = "Fetch"
MAX_PAGES = 512

Call = tuple[str, int]
"""A page, by the document that it shows, and a bucket."""


class FirstCalls:
    """Compares which pages the browser counted with those that reported a request."""

    def __init__(self) -> None:
        self._reported: dict[str, set[str]] = {}  # page → types of which it reported a request
        self._awaited: dict[Call, None] = {}  # reported, and not counted yet
        self._counted: Counter[int] | None = None  # None: not known to begin with
        self._was_left = False  # a document was left since the last fence

    def note(self, page: str, kind: str) -> bool:
        """A document of ``page``, or a worker of it, reports a request of that type; return whether
        it is one of these calls."""
        if kind not in (*CALLS, TRANSPORT):
            return False
        types = self._reported.get(page, set())
        if kind in types:
            return True
        remember(self._reported, page, types | {kind}, MAX_PAGES)
        for bucket, one in _TYPES.items():
            if one == kind:
                self._awaited[page, bucket] = None
        while len(self._awaited) > MAX_PAGES:
            del self._awaited[next(iter(self._awaited))]
        return True

    def note_served(self, page: str) -> None:
        """A service worker serves the page: what it calls is counted for the page, as it comes."""
        self.note(page, _OF_SERVICE_WORKERS)

    def note_left(self) -> None:
        """A document was left, in a tab or in a frame of one."""
        self._was_left = True

    def compare(
        self,
        reply: HistogramsReply,
        pages: Collection[str],
        *,
        fenced: bool,
        each_counted: bool = False,
    ) -> Iterator[CdpObservation]:
        """Compare the browser's count; ``pages`` are there now. ``fenced``: whoever was left before
        has been counted; ``each_counted``: the browser counts each call that no script waits for
        (network/script_requests.py), so that only the others say more here. A reply without a count
        starts anew."""
        counted = _read_counts(reply)
        before, self._counted = self._counted, counted
        if counted is None or before is None:
            return
        unreported = {b: self._take_unreported(b, counted[b] - before[b]) for b in _TYPES}
        called = sum(unreported.values())
        if each_counted:
            called = unreported[_WAITED] + unreported[_TRANSPORT]
        for call in [call for call in self._awaited if call[0] not in pages]:
            del self._awaited[call]
        was_left, self._was_left = self._was_left, self._was_left and not fenced
        if called and was_left:
            yield from gap(
                REQUESTS,
                "a page called fetch, XMLHttpRequest or WebTransport and reported no such request,"
                " as one does that calls it as it is left",
            )

    def _take_unreported(self, bucket: int, count: int) -> int:
        """Return how many of the ``count`` pages that were counted have reported nothing."""
        awaited = [call for call in self._awaited if call[1] == bucket][: max(count, 0)]
        for call in awaited:
            del self._awaited[call]
        return max(count, 0) - len(awaited)


def _read_counts(reply: HistogramsReply) -> Counter[int] | None:
    """Return how many pages called each function; None where the browser does not say."""
    if "histograms" not in reply:
        return None
    return Counter(
        {
            bucket["low"]: bucket["count"]
            for histogram in reply["histograms"]
            if histogram["name"] == FEATURES
            for bucket in histogram["buckets"]
            if bucket["low"] in _TYPES
        }
    )
