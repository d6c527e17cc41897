"""Documents that are left and could send a request then, which no session reports.

Where the browser counts each call of `fetch` or XMLHttpRequest (network/script_requests.py), that
count decides, but for calls that a script waits for, and but for a tab that its page closes.
Elsewhere it counts a document's first call alone (network/first_calls.py), and as a tab closes not
even that. So a gap is reported of what neither counts. A listener that is known says little there:
a page may add one in the moment in which it leaves, when nobody can ask it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, Frame

_WITHOUT_SCRIPT = ("chrome:", "chrome-error:", "chrome-extension:", "devtools:", "view-source:")
_EMPTY = ("", "about:blank")


def report_left(browser: BrowserState, document: Frame) -> Iterator[CdpObservation]:
    """Another document has come in its place, or its frame is gone."""
    if "waited" in document.marks:
        yield from gap(
            REQUESTS,
            "a document was left that uses synchronous XMLHttpRequests: what it may have sent then"
            " is not reported",
        )
    elif _may_send(browser, document) and not browser.counts_kept:
        yield from gap(
            REQUESTS,
            "a document was left in one of several browser contexts, where nothing is counted: what"
            " it may have sent then is not reported",
        )
    elif _may_send(browser, document) and "called" in document.marks and not browser.counts_calls:
        yield from gap(
            REQUESTS,
            "a document was left that calls fetch or XMLHttpRequest, in a browser context whose"
            " calls are not counted: what it may have sent then is not reported",
        )


def report_closed(
    browser: BrowserState, documents: Iterable[Frame], *, opened: bool
) -> Iterator[CdpObservation]:
    """The tab is closed that these documents stand in; ``opened``: another page had opened it.

    Its main document tells that it is left where a person or a harness closes the tab: then its
    session is there until the end. A page that closes a tab takes the session along first.
    """
    documents = [one for one in documents if "crashed" not in one.marks]
    counted = browser.counts_calls and any(
        "left" in one.marks for one in documents if one.parent is None
    )
    if not counted and any(
        _may_send(browser, one) and (opened or one.url not in _EMPTY) for one in documents
    ):
        yield from gap(
            REQUESTS, "a tab was closed: what its documents may have sent then is not reported"
        )


def _may_send(browser: BrowserState, document: Frame) -> bool:
    """Whether the document may hold a script that sends a request of which a guard hears."""
    return browser.guards and browser.settled and not document.url.startswith(_WITHOUT_SCRIPT)
