"""Which session belongs to which tab, which page a tab shows, and when a new one has arrived."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.folds import navigation, tabs
from agentd.sources.cdp.state.request_backfill import Arrival, Message
from agentd.sources.cdp.state.state import (
    WORKERS,
    BrowserState,
    CdpObservation,
    Params,
    SessionState,
)


def attached(browser: BrowserState, parent: str, session: str, info: Params) -> None:
    """A target was attached to from the session ``parent`` ("": the browser's own)."""
    kind, target = info["type"], info["targetId"]
    if kind == "tab":
        browser.pages.above[session] = ""
        return
    if kind in WORKERS:
        above = browser.session_state(parent) if parent else SessionState("", "", False)
        frame = info.get("parentFrameId") or above.root
        state = browser.sessions[session] = SessionState(above.tab, frame, False, target, kind)
        # A service worker starts again and again, from the browser's own copy, and is told of in
        # time all the same.
        state.heard = kind == "service_worker" or not (browser.live and browser.settled)
        return
    tab = (
        tabs.attached(browser, parent, info)
        if kind == "page"
        else browser.session_state(parent).tab
    )
    state = browser.sessions[session] = SessionState(tab, target, kind == "page", target)
    state.hidden = info.get("subtype") == "prerender"
    if browser.live and browser.settled:
        opener = browser.pages.tab(info.get("openerId", ""))
        state.arrival = Arrival(browser.opening.pop(opener, ""), prepared=state.hidden)


def handle_shown(browser: BrowserState, info: Params) -> Iterator[CdpObservation]:
    """A target's entry in the browser's list has changed: a page that was prepared may be the one
    that is shown now."""
    page = info["targetId"]
    prepared = [
        state for state in browser.sessions.values() if state.target == page and state.hidden
    ]
    # A tab that was attached to while it prepared a page may bear that page's name: it counts as
    # shown all the while.
    if info.get("subtype") or (browser.pages.is_shown(page) and not prepared):
        return
    tab = browser.pages.tab(page)
    before = browser.pages.shown.get(tab, tab)
    browser.pages.shown[tab] = page
    if before != page:
        yield from navigation.detach_frame(browser, before)
    for state in prepared:
        state.hidden = False
        state.history.moves += 1  # it takes over the tab's
        late, state.late = state.late, []
        yield from map(_as_news, late) if browser.settled else late
        known = browser.frames.get(page)
        yield from tabs.titled(browser, tab, state.title, known.url if known else "")


def _as_news(seen: CdpObservation) -> CdpObservation:
    """What stood in a page that was prepared as the daemon came is news when it is shown; a field
    that came with a value was filled by nobody all the same."""
    if seen.kind != "field.filled":
        seen.data.pop("baseline", None)
    return seen


def arrives(
    browser: BrowserState, state: SessionState, method: str, params: Params
) -> Iterator[Message]:
    """Fold one message into a session's `Arrival`; gives what the network's fold is to be told for
    it."""
    arrival = state.arrival
    if arrival is None:
        return
    frame = browser.frames.get(state.root)
    match method:
        case "Page.downloadWillBegin":
            arrival.downloads = True
        case "Page.frameStartedNavigating" if params["frameId"] == state.root:
            arrival.began(params)
        case "Page.getFrameTree":
            tree = params["frameTree"]["frame"]
            arrival.start_listening(browser, tree.get("loaderId", ""), tree.get("url", ""))
        case "Page.frameNavigated" if params["frame"]["id"] == state.root and frame is not None:
            yield from arrival.replaced(browser, frame.loader, frame.url)
        case "Page.listed" if frame is not None and frame.loader == params["loaderId"]:
            yield from arrival.listed(browser, state, params)
