"""Downloads: begun, under way, in or given up, as the page's own events tell it without any
download behaviour set.

The browser tells of a download only as long as the page that began it is there. Where that goes
before (a tab opened for nothing but the download closes itself), its end is not seen, which is
said. The file is the files source's affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentd.sources.cdp.state.protocol import DownloadProgress, DownloadWillBegin
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Download,
    Handler,
    SessionState,
    remember,
)

MAX_DOWNLOADS = 256
SHARE = 20
"""Progress is told at every twentieth of the whole."""
UNKNOWN_TOTAL = 1 << 20
"""Where the whole is not known, at every so many bytes."""
ENDS = ("download.finished", "download.canceled")


def handle_began(
    browser: BrowserState, session: SessionState, params: DownloadWillBegin
) -> Iterator[CdpObservation]:
    """Report that a page begins a download."""
    number, name = params["guid"], params["suggestedFilename"]
    url = browser.secrets.mask_url(params["url"])
    download = Download(session.tab, session.target, url, name)
    remember(browser.downloads, number, download, MAX_DOWNLOADS)
    about = {"tab": session.tab, "frame": params["frameId"], "url": url, "name": name}
    yield CdpObservation("download.began", about | {"download": number})


def handle_progress(
    browser: BrowserState, _session: SessionState, params: DownloadProgress
) -> Iterator[CdpObservation]:
    """More of a download is there, or it is over."""
    number = params["guid"]
    download = browser.downloads.get(number)
    if download is None:
        return
    download.received = int(params["receivedBytes"])
    download.total = max(0, int(params["totalBytes"]))
    if params["state"] == "inProgress":
        if "download.progressed" in browser.wanted:
            yield from _report_progress(number, download)
        return
    del browser.downloads[number]
    if params["state"] == "completed":
        yield _finished(number, download)
    else:
        yield CdpObservation("download.canceled", _download_fields(number, download))


HANDLERS: Mapping[str, Handler] = {
    "Page.downloadWillBegin": handle_began,
    "Page.downloadProgress": handle_progress,
}


def page_gone(browser: BrowserState, session: SessionState) -> Iterator[CdpObservation]:
    """The page is gone: what it was downloading may still come in."""
    if not session.is_page:
        return
    unknown = False
    for number, download in list(browser.downloads.items()):
        if download.page != session.target:
            continue
        del browser.downloads[number]
        if download.total and download.received == download.total:
            yield _finished(number, download)
        else:
            unknown = True
    if unknown:  # it may end in any step from here on
        reason = "the page that began a download is gone, and with it the word of its end"
        for kind in ENDS:
            yield CdpObservation("gap.began", {"source": "cdp", "part": kind, "reason": reason})


def _report_progress(number: str, download: Download) -> Iterator[CdpObservation]:
    """Report how much is there, if that is a share of the whole more than was reported last."""
    news = download.received - download.told
    share = download.total // SHARE if download.total else UNKNOWN_TOTAL
    if news <= 0 or news < share:
        return
    download.told = download.received
    data: dict[str, object] = {"download": number, "received": download.received}
    if download.total:
        data["total"] = download.total
    yield CdpObservation("download.progressed", data)


def _finished(number: str, download: Download) -> CdpObservation:
    data = _download_fields(number, download)
    return CdpObservation("download.finished", data | {"size": download.received})


def _download_fields(number: str, download: Download) -> dict[str, object]:
    return {
        "tab": download.tab,
        "url": download.url,
        "name": download.name,
        "download": number,
    }
