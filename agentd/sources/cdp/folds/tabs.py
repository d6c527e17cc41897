"""Tabs: opened, in front, titled, crashed, closed, from the browser's own list of targets and what
pages say."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.folds import leaving
from agentd.sources.cdp.state.gaps import DOWNLOADS, REQUESTS, gap
from agentd.sources.cdp.state.protocol import OfTarget, OfTargetInfo, TargetInfo
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, SessionState
from agentd.sources.cdp.state.targets import is_page

MAX_TITLE_LENGTH = 1000
ACTIVATED = "tab.activated"


def is_tab(info: TargetInfo) -> bool:
    """Whether a target is a tab or popup that a person uses, not the browser's own interface or a
    tool."""
    # A subtype marks a page that is prepared, not shown.
    return is_page(info) and not info.get("subtype")


def handle_info(
    browser: BrowserState, _parent: str, params: OfTargetInfo
) -> Iterator[CdpObservation]:
    """A target is there, or its entry in the browser's list has changed."""
    info = params["targetInfo"]
    if not is_tab(info):
        return
    tab = browser.pages.tab(info["targetId"])
    url = browser.secrets.mask_url(info["url"] or "about:blank")
    known = browser.tabs.get(tab)
    if known is None:
        known = browser.tabs[tab] = {"title": ""}
        data: dict[str, object] = {"tab": tab, "url": url}
        if info.get("openerId"):
            data["opener"] = known["opener"] = browser.pages.tab(info["openerId"])
        yield _standing(browser, CdpObservation("tab.opened", data))
    # Until a page names itself the browser shows its address as the title.
    title = info.get("title", "")
    if not info["url"].rstrip("/").endswith(title.rstrip("/")):
        yield from _record_listed(browser, tab, title, url)


def handle_destroyed(
    browser: BrowserState, _parent: str, params: OfTarget
) -> Iterator[CdpObservation]:
    """A target is gone; a tab with the page that it shows."""
    page, pages = params["targetId"], browser.pages
    is_unheard = page in browser.tabs and page not in pages.tabs
    if is_unheard and browser.live and browser.settled:
        yield from gap(REQUESTS + DOWNLOADS, "a tab was gone before it could be listened to")
    if pages.is_shown(page):
        yield from close_tab(browser, pages.tab(page))
    pages.tabs.pop(page, None)


def handle_crashed(
    browser: BrowserState, _parent: str, params: OfTarget
) -> Iterator[CdpObservation]:
    """The renderer of a target is gone."""
    tab = browser.pages.tab(params["targetId"])
    if tab in browser.tabs:
        yield CdpObservation("tab.crashed", {"tab": tab})


def open_tab(browser: BrowserState, parent: str, info: TargetInfo) -> str:
    """A page target was attached to, from the session ``parent``; gives its tab."""
    pages, page = browser.pages, info["targetId"]
    browser.profiles.add(info.get("browserContextId", ""))
    tab = pages.above.get(parent) or page
    if parent in pages.above:
        pages.above[parent] = tab
    pages.tabs[page] = tab
    return tab


def close_tab(browser: BrowserState, tab: str) -> Iterator[CdpObservation]:
    """The tab is gone, and its frames with it."""
    known = browser.tabs.pop(tab, None)
    if known is None:
        return
    frames = [name for name, about in browser.frames.items() if about.tab == tab]
    documents = [browser.frames.pop(frame) for frame in frames]
    yield from leaving.report_closed(browser, documents, opened="opener" in known)
    browser.pages.shown.pop(tab, None)
    browser.pages.focused.pop(tab, None)
    browser.opening.pop(tab, None)
    browser.titles.pop(tab, None)
    yield CdpObservation("tab.closed", {"tab": tab})


def record_focus(
    browser: BrowserState, session: SessionState, front: bool
) -> Iterator[CdpObservation]:
    """A page says that it is in front now, or no more."""
    pages = browser.pages
    pages.focused.pop(session.tab, None)
    if not front:
        return
    pages.focused[session.tab] = None
    if browser.settled and pages.front != session.tab:
        pages.front = session.tab
        yield CdpObservation(ACTIVATED, {"tab": session.tab})


def settle_baseline(browser: BrowserState) -> Iterator[CdpObservation]:
    """The baseline is in: the tab in front, if exactly one says that it is."""
    pages = browser.pages
    if len(pages.focused) == 1:
        [pages.front] = pages.focused
        yield CdpObservation(ACTIVATED, {"tab": pages.front, "baseline": True})


def count_active_tabs(browser: BrowserState) -> Iterator[CdpObservation]:
    """To be asked when every page has said where it stands: a harness that gives all of them the
    focus hides which one is in front."""
    several = len(browser.pages.focused) > 1
    if several != browser.pages.several:
        browser.pages.several = several
        part: dict[str, object] = {"source": "cdp", "part": ACTIVATED}
        reason = "more than one tab says that it is in front, as harnesses make them believe"
        if several:
            yield CdpObservation("gap.began", part | {"reason": reason})
        else:
            yield CdpObservation("gap.ended", part)


def _record_listed(
    browser: BrowserState, tab: str, title: str, url: str
) -> Iterator[CdpObservation]:
    """Report a title of the list of targets, which knows it before the document is heard of that it
    belongs to: then it waits for that document, so that it is not taken for the one before."""
    if tab in browser.titles:
        yield from record_title(browser, tab, *browser.titles[tab])
    if not title or not browser.live or _stands_at(browser, tab, url):
        yield from record_title(browser, tab, title, url)
    else:
        browser.titles[tab] = title, url


def release_titles(browser: BrowserState, *, all_: bool = False) -> Iterator[CdpObservation]:
    """Report the titles whose document is there now; with ``all_`` the others too."""
    for tab, (title, url) in list(browser.titles.items()):
        if all_ or _stands_at(browser, tab, url):
            yield from record_title(browser, tab, title, url)


def _stands_at(browser: BrowserState, tab: str, url: str) -> bool:
    """Whether the page that the tab shows is at the address, and that is reported."""
    frame = browser.frames.get(browser.pages.shown.get(tab, tab))
    if frame is None or frame.url.partition("#")[0] != url.partition("#")[0]:
        return False
    pages = (state for state in browser.sessions.values() if state.tab == tab and state.is_page)
    return not any(state.holds_back for state in pages)


def record_title(browser: BrowserState, tab: str, title: str, url: str) -> Iterator[CdpObservation]:
    """The tab's title is ``title``, says the list of targets or the page; told once."""
    browser.titles.pop(tab, None)
    known = browser.tabs.get(tab)
    if known is None or not title or known["title"] == title[:MAX_TITLE_LENGTH]:
        return
    known["title"] = title[:MAX_TITLE_LENGTH]
    data = {"tab": tab, "title": known["title"], "url": url}
    yield _standing(browser, CdpObservation("page.title_changed", data))


def _standing(browser: BrowserState, seen: CdpObservation) -> CdpObservation:
    """Mark what is seen while the daemon attaches: it is the start state."""
    if not browser.settled:
        seen.data["baseline"] = True
    return seen
