"""Requests that the browser counts and no session reports: beacons, and requests that are kept
alive, which a page sends as it is left; and background fetches, which the browser itself sends.

As a page is left its session has gone over to the next document. The browser counts such requests
as they begin, by kind and without an address, in histograms of its own. They are read at each fence
and around each change of a tab's document: what is counted more than was reported went out unseen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.protocol import HistogramsReply
from agentd.sources.cdp.state.state import CdpObservation

COMMAND = "Browser.getHistograms"
QUERY = {"query": "Fetch"}
LEAVES = "Page.frameStartedNavigating"
LEFT = "Page.frameNavigated"
KEPT_ALIVE = "FetchKeepAlive.Requests2.Total.Browser"
SENT_LATER = "FetchLater.Browser.Total.Started"
IN_BACKGROUND = "Download.Service.Request.StartResult.BackgroundFetch"
OF_SCRIPTS = "Fetch"
_BEACON = "Ping"
_REPORT = "CSPViolationReport"
_NEVER_REPORTED = "BackgroundFetch"
_BUCKETS = {
    (KEPT_ALIVE, 0): OF_SCRIPTS,
    (KEPT_ALIVE, 2): _BEACON,
    (KEPT_ALIVE, 3): _REPORT,
    (SENT_LATER, 1): OF_SCRIPTS,
    (IN_BACKGROUND, 0): _NEVER_REPORTED,
}
"""Histogram and bucket → the type under which `Network` reports what is counted there."""
_KINDS = (OF_SCRIPTS, _BEACON, _REPORT, _NEVER_REPORTED)
_TYPES = {"Other": _REPORT}
"""Types of writes under which a page's reports come as well."""

Mark = Counter[str]


class OutlivingRequests:
    """Compares what the browser counted with what was reported.

    A report comes a moment later than its count. Ordinary requests of scripts are reported under
    the same type as those that are kept alive, and may make up for one that was not: hence the
    reading before a document is left, and the one after.
    """

    def __init__(self) -> None:
        self._reported: Counter[str] = Counter()
        self._accounted: Counter[str] = Counter()
        self._counted: Counter[str] | None = None  # None: not known to begin with
        self._open: Counter[str] = Counter()  # counted, and not reported yet

    def note(self, kind: str, *, writes: bool) -> None:
        """A page or a worker reports a request of that type."""
        kind = _TYPES.get(kind, kind) if writes else kind
        if kind not in _KINDS:
            return
        self._reported[kind] += 1
        if self._open[kind]:
            self._open[kind] -= 1
            self._accounted[kind] += 1

    def mark(self) -> Mark:
        """Return what is reported by now, as the count is asked for: the browser counted it."""
        return self._reported.copy()

    def compare(self, reply: HistogramsReply, mark: Mark) -> None:
        """Compare the browser's count, asked for at ``mark``. A reply without one starts anew."""
        counted = _read_counts(reply)
        before, self._counted = self._counted, counted
        if counted is None or before is None:
            self._accounted = mark
            return
        for kind in _KINDS:
            count = counted[kind] - before[kind]
            known = min(count, self._reported[kind] - self._accounted[kind])
            self._open[kind] += count - known
            self._accounted[kind] = max(self._accounted[kind] + known, mark[kind])

    def settle(self, *kinds: str) -> Iterator[CdpObservation]:
        """Of these types (none given: of all) what was counted before will not be reported any
        more: it is a gap."""
        unreported = sum(self._open.pop(kind, 0) for kind in kinds or _KINDS)
        if unreported > 0:
            yield from gap(
                REQUESTS,
                f"{unreported} requests went out of which no page has told, as a beacon does that"
                " is sent when its page is left, or a background fetch",
            )


def _read_counts(reply: HistogramsReply) -> Counter[str] | None:
    """Return how many requests of each type the browser has counted; None where it does not say."""
    if "histograms" not in reply:
        return None
    counts: Counter[str] = Counter()
    for histogram in reply["histograms"]:
        for bucket in histogram["buckets"]:
            kind = _BUCKETS.get((histogram["name"], bucket["low"]))
            if kind is not None:
                counts[kind] += bucket["count"]
    return counts
