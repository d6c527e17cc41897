"""Downloads: begun, under way, in or given up, as the page's own events tell it without any
download behaviour set.

The browser tells of a download only as long as the page that began it is there. Where that goes
before (a tab opened for nothing but the download closes itself), its end is not seen, which is
said. The file is the files source's affair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Download,
    Params,
    SessionState,
    remember,
)

MAX_DOWNLOADS = 256
SHARE = 20
"""Progress is told at every twentieth of the whole."""
UNKNOWN_TOTAL = 1 << 20
"""Where the whole is not known, at every so many bytes."""
ENDS = ("download.finished", "download.canceled")


def fold(
    browser: BrowserState, session: SessionState, method: str, params: Params
) -> Iterator[CdpObservation]:
    """Fold one message about a download."""
    if method == "Page.downloadWillBegin":
        url, name = browser.secrets.mask_url(params["url"]), params["suggestedFilename"]
        remember(
            browser.downloads,
            params["guid"],
            Download(session.tab, session.target, url, name),
            MAX_DOWNLOADS,
        )
        about = {"tab": session.tab, "frame": params["frameId"], "url": url, "name": name}
        yield CdpObservation("download.began", about | {"download": params["guid"]})
    elif method == "Page.downloadProgress" and params["guid"] in browser.downloads:
        yield from _progress(browser, params["guid"], params)


def page_gone(browser: BrowserState, session: SessionState) -> Iterator[CdpObservation]:
    """The page is gone: what it was downloading may still come in."""
    unknown = False
    for number, one in list(browser.downloads.items()):
        if one.page != session.target or not session.is_page:
            continue
        del browser.downloads[number]
        if one.total and one.received == one.total:
            yield _finished(number, one)
        else:
            unknown = True
    if unknown:  # it may end in any step from here on
        reason = "the page that began a download is gone, and with it the word of its end"
        for kind in ENDS:
            yield CdpObservation("gap.began", {"source": "cdp", "of": kind, "reason": reason})


def _progress(browser: BrowserState, number: str, params: Params) -> Iterator[CdpObservation]:
    one = browser.downloads[number]
    one.received, one.total = int(params["receivedBytes"]), max(0, int(params["totalBytes"]))
    state = params["state"]
    if state == "inProgress":
        share = one.total // SHARE if one.total else UNKNOWN_TOTAL
        if (
            "download.progressed" in browser.wanted
            and one.received > one.told
            and one.received - one.told >= share
        ):
            one.told = one.received
            data: dict[str, Any] = {"download": number, "received": one.received}
            yield CdpObservation(
                "download.progressed", data | ({"total": one.total} if one.total else {})
            )
        return
    del browser.downloads[number]
    if state == "completed":
        yield _finished(number, one)
    else:
        yield CdpObservation(
            "download.canceled",
            {"tab": one.tab, "url": one.url, "name": one.name, "download": number},
        )


def _finished(number: str, one: Download) -> CdpObservation:
    data = {"tab": one.tab, "url": one.url, "name": one.name, "download": number}
    return CdpObservation("download.finished", data | {"size": one.received})
