"""Documents that are left and listen to that: what they send then is reported to nobody.

Where the browser counts each call of `fetch` or XMLHttpRequest (network/script_requests.py), that
count decides, but for calls that a script waits for, and but for a tab that closes itself.
Elsewhere it counts a document's first call (network/first_calls.py). So a gap is reported of what
neither counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, Frame


def report_left(browser: BrowserState, document: Frame) -> Iterator[CdpObservation]:
    """Another document has come in its place, or its frame is gone."""
    if "waited" in document.marks:
        yield from gap(
            REQUESTS,
            "a document was left that uses synchronous XMLHttpRequests: what it may have sent then"
            " is not reported",
        )
    elif {"listens", "called"} <= document.marks and not browser.counts_calls:
        yield from gap(
            REQUESTS,
            "a document was left that listens to that and calls fetch or XMLHttpRequest: what it"
            " may have sent then is not reported",
        )


def report_closed(document: Frame) -> Iterator[CdpObservation]:
    """The tab is closed that the document stands in."""
    if "listens" in document.marks:
        yield from gap(
            REQUESTS,
            "a tab was closed with a document that listens to that: what it may have sent then is"
            " not reported",
        )
