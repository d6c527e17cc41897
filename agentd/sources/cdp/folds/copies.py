"""Documents that are not what their address says: a page's source, which the browser shows as text
at the page's own address, and the frames of a page that was saved to a file, which bear the
addresses that the file gives them."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.state.protocol import TargetInfo
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, Frame, Params, remember

SOURCE = "view-source:"
SAVED = "saved"
"""Marks a frame whose document is a saved page, or a part of one."""
_ARCHIVES = frozenset(("multipart/related", "message/rfc822", "application/x-mimearchive"))
_SUFFIXES = (".mht", ".mhtml")


def note_answer(browser: BrowserState, params: Params) -> None:
    """Note a document that is a saved page, by its type (`Network.responseReceived`)."""
    if params["response"].get("mimeType", "").lower() in _ARCHIVES:
        remember(browser.archives, params["requestId"], None)


def address_of(browser: BrowserState, name: str, parent: str | None, loader: str, url: str) -> str:
    """Return the address at which the document ``loader`` of a frame is reported, given the one
    that the browser tells: the source of a page is ``view-source:`` and the page's address, a frame
    of a saved page is at the file's."""
    above = browser.frames.get(parent or "")
    if above is not None and SAVED in above.marks:
        return above.url
    return SOURCE + url if browser.pages.sources.get(name) == _whole(url) else url


def is_saved(browser: BrowserState, parent: str | None, loader: str, url: str) -> bool:
    """Return whether a document is a saved page, or stands in one."""
    above = browser.frames.get(parent or "")
    if above is not None:
        return SAVED in above.marks
    path = url.lower().partition("#")[0].partition("?")[0]
    is_named_so = path.startswith("file:") and path.endswith(_SUFFIXES)
    return loader in browser.archives or is_named_so


def handle_listed(browser: BrowserState, info: TargetInfo) -> Iterator[CdpObservation]:
    """Take in the address under which the browser lists a page: that it shows a source is told
    there alone, and may be told after the document."""
    name, listed = info["targetId"], info.get("url", "")
    shown = browser.secrets.mask_url(listed.removeprefix(SOURCE))
    if listed.startswith(SOURCE):
        remember(browser.pages.sources, name, _whole(shown))
    else:
        browser.pages.sources.pop(name, None)
    frame = browser.frames.get(name)
    if frame is None or not frame.url:
        return
    address = frame.url.removeprefix(SOURCE)
    is_source = name in browser.pages.sources
    if is_source is frame.url.startswith(SOURCE) or _whole(address) != _whole(shown):
        return
    frame.url = SOURCE + address if is_source else address
    yield _report(browser, name, frame)


def _report(browser: BrowserState, name: str, frame: Frame) -> CdpObservation:
    """The document of a frame, at the address that it is known to have now."""
    data: dict[str, object] = {
        "tab": frame.tab,
        "frame": name,
        "main": frame.parent is None,
        "url": frame.url,
        "same_document": False,
        "loader": frame.loader,
    }
    if not browser.settled:
        data["baseline"] = True
    return CdpObservation("page.navigated", data)


def _whole(url: str) -> str:
    """Return an address without what stands behind its fragment mark."""
    return url.partition("#")[0]
