"""Every request that a page's script sends by `fetch`, XMLHttpRequest or EventSource, as the
browser counts them, compared with those that were reported.

For each such request to a site Chromium looks into its cache of compiled code, whatever the request
asks for and also as its page is left, and counts the look-up at once. Two sorts are counted
elsewhere: what is kept alive (network/outliving.py), and nowhere what a script waits for
(a synchronous XMLHttpRequest). Browser contexts beside the browser's own have no such cache: there
nothing is counted, and first calls have to do (network/first_calls.py, folds/leaving.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.network.outliving import KEPT_ALIVE, SENT_LATER
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.protocol import HistogramsReply, RequestWillBeSent
from agentd.sources.cdp.state.state import CdpObservation

COMMAND = "Browser.getHistograms"
LOOKED_UP = "SiteIsolatedCodeCache.WASM.Behaviour"
QUERY = {"query": LOOKED_UP}
_BUCKETS = frozenset(
    {(LOOKED_UP, 0), (LOOKED_UP, 1), (LOOKED_UP, 6), (KEPT_ALIVE, 0), (SENT_LATER, 1)}
)
"""Histogram and bucket: code was found, was not, was not whole; `fetch` with `keepalive`, and
`fetchLater`. The other buckets of the first one are of what is written to the cache."""
_OF_SCRIPTS = frozenset({"Fetch", "XHR", "EventSource"})
_SITES = ("http:", "https:")
_MARKUP = ("parser", "script")
_IS_WAITED_FOR = "VeryHigh"
FENCES = 2
"""A document that makes way for one in another process is told that it is left only then."""


class ScriptRequests:
    """Compares what the browser counted with what was reported. ``is_exact``: the browser has
    counted such requests, and the last time all that had been reported.

    A report may come a moment before its count, and a count before its report. So a reported
    request is awaited by two readings, and a difference decides at a fence, when every page has
    answered.
    """

    def __init__(self) -> None:
        self.is_exact = False
        self._reported = 0
        self._accounted = 0
        self._mark = 0  # of the last reading
        self._counted: int | None = None  # None: not known to begin with
        self._open = 0  # counted, and not reported yet
        self._held = 0  # those of them that were open at the last fence
        self._fences = 0  # for so many a document counts as just left

    def note(self, params: RequestWillBeSent) -> None:
        """A page or a worker reports a request; its next hops are not counted."""
        if not _is_counted(params):
            return
        self._reported += 1
        if self._open:
            self._open -= 1
            self._accounted += 1

    def note_left(self) -> None:
        """A document was left, in a tab or in a frame of one."""
        self._fences = FENCES

    def mark(self) -> int:
        """Return what is reported by now, as the count is asked for."""
        return self._reported

    def compare(self, kept: HistogramsReply, looked_up: HistogramsReply, mark: int) -> None:
        """Compare the browser's counts, asked for at ``mark``. A reply without one starts anew."""
        counted = _read_count(kept, looked_up)
        before, self._counted = self._counted, counted
        previous, self._mark = self._mark, mark
        if counted is None or before is None:
            self._accounted, self.is_exact = mark, bool(counted)
            return
        count = counted - before
        known = min(count, self._reported - self._accounted)
        self._open += count - known
        self._accounted += known
        if self._accounted < previous:  # reported before the last reading, and not counted since
            self._accounted, self.is_exact = previous, False
        elif known:
            self.is_exact = True

    def settle(self) -> Iterator[CdpObservation]:
        """At a fence: what was counted before will not be reported any more. Where a document was
        just left it is a gap; that it was may be known one fence later, and what it sends by
        another process one fence later too."""
        was_left = self._fences > 0
        self._fences = max(self._fences - 1, 0)
        if not was_left:
            self._open -= min(self._held, self._open)
            self._held = self._open
            return
        unreported, self._open, self._held = self._open, 0, 0
        if unreported:
            yield from gap(
                REQUESTS,
                f"{unreported} requests of page scripts went out of which no page has told, as one"
                " does that is sent when its page is left",
            )


def is_waited_for(params: RequestWillBeSent) -> bool:
    """Whether a script stands still until the request is answered: a synchronous
    XMLHttpRequest."""
    is_first = params["request"].get("initialPriority") == _IS_WAITED_FOR
    return params.get("type") == "XHR" and is_first


def _is_counted(params: RequestWillBeSent) -> bool:
    """Whether a request is one that a page's script may have made, as the browser counts them."""
    request = params["request"]
    if not request["url"].startswith(_SITES) or is_waited_for(params):
        return False
    kind = params.get("type", "Other")
    return kind in _OF_SCRIPTS or (kind == "Other" and _is_loaded_ahead(params))


def _is_loaded_ahead(params: RequestWillBeSent) -> bool:
    """Whether it is what a page has loaded ahead for its scripts (`prefetch`, `preload`), which is
    counted like theirs; not an icon, or a drawing that a style refers to."""
    request = params["request"]
    if request["method"] != "GET":
        return False
    cause = params.get("initiator", {}).get("type")
    priority = request.get("initialPriority")
    return priority == "VeryLow" or (priority == "High" and cause in _MARKUP)


def _read_count(*replies: HistogramsReply) -> int | None:
    """Return how many requests the browser has counted; None where it does not say."""
    if any("histograms" not in reply for reply in replies):
        return None
    return sum(
        bucket["count"]
        for reply in replies
        for histogram in reply["histograms"]
        for bucket in histogram["buckets"]
        if (histogram["name"], bucket["low"]) in _BUCKETS
    )
