"""Documents that are left and listen to that: what they send then is reported to nobody.

The browser counts a document's first call of `fetch` or XMLHttpRequest (network/first_calls.py),
unless its tab is closed. So a gap is reported of one that called before, and of one whose tab is
closed.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import CdpObservation, Frame


def report_left(document: Frame) -> Iterator[CdpObservation]:
    """Another document has come in its place, or its frame is gone."""
    if {"listens", "called"} <= document.marks:
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
