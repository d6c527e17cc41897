"""Which session belongs to which tab, which page a tab shows, and when a new one has arrived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from agentd.sources.cdp.folds import navigation, tabs
from agentd.sources.cdp.state.protocol import (
    FrameNavigated,
    FrameTreeReply,
    Listed,
    StartedNavigating,
    TargetInfo,
)
from agentd.sources.cdp.state.request_backfill import Arrival, Message
from agentd.sources.cdp.state.state import (
    WORKERS,
    BrowserState,
    CdpObservation,
    Params,
    SessionState,
)


def record_attachment(browser: BrowserState, parent: str, session: str, info: TargetInfo) -> None:
    """A target was attached to from the session ``parent`` ("": the browser's own)."""
    kind = info["type"]
    if kind == "tab":
        browser.pages.above[session] = ""
    elif kind in WORKERS:
        browser.sessions[session] = _worker_state(browser, parent, info)
    elif kind == "page":
        tab = tabs.open_tab(browser, parent, info)
        browser.sessions[session] = _document_state(browser, tab, info)
    else:
        tab = browser.session_state(parent).tab
        browser.sessions[session] = _document_state(browser, tab, info)


def _worker_state(browser: BrowserState, parent: str, info: TargetInfo) -> SessionState:
    """Return the state of a worker's session, of the tab and frame that started it."""
    kind = info["type"]
    above = browser.session_state(parent) if parent else SessionState("", "", False)
    frame = info.get("parentFrameId") or above.root
    state = SessionState(above.tab, frame, False, info["targetId"], kind)
    state.url = info.get("url", "")
    # A service worker starts again and again, from the browser's own copy, and is told of in
    # time all the same.
    state.heard = kind == "service_worker" or not (browser.live and browser.settled)
    return state


def _document_state(browser: BrowserState, tab: str, info: TargetInfo) -> SessionState:
    """Return the state of a page's or frame's session; one that came later begins as an arrival."""
    target = info["targetId"]
    state = SessionState(tab, target, info["type"] == "page", target)
    state.hidden = info.get("subtype") == "prerender"
    if browser.live and browser.settled:
        opener = browser.pages.tab(info.get("openerId", ""))
        expected = browser.opening.pop(opener, "")
        state.arrival = Arrival(expected, opened="openerId" in info, prepared=state.hidden)
    return state


def handle_shown(browser: BrowserState, info: TargetInfo) -> Iterator[CdpObservation]:
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
        state.unproven.clear()  # whose they are stays unknown
        late, state.late = state.late, []
        yield from map(_as_news, late) if browser.settled else late
        known = browser.frames.get(page)
        yield from tabs.record_title(browser, tab, state.title, known.url if known else "")


def _as_news(seen: CdpObservation) -> CdpObservation:
    """What stood in a page that was prepared as the daemon came is news when it is shown; a field
    that came with a value was filled by nobody all the same."""
    if seen.kind != "field.filled":
        seen.data.pop("baseline", None)
    return seen


ArrivalHandler = Callable[[BrowserState, SessionState, Arrival, Any], Iterable[Message]]
"""Takes one message about a tab's first moments; gives what the network's fold is to take for
it."""


def _handle_download(
    _browser: BrowserState, _session: SessionState, arrival: Arrival, _params: Params
) -> Iterable[Message]:
    arrival.downloads = True
    return ()


def _handle_began(
    _browser: BrowserState, session: SessionState, arrival: Arrival, params: StartedNavigating
) -> Iterable[Message]:
    """Note the document that a young page's own frame begins to load."""
    if params["frameId"] == session.root:
        arrival.began(params["loaderId"], params["url"])
    return ()


def _handle_tree(
    browser: BrowserState, _session: SessionState, arrival: Arrival, params: FrameTreeReply
) -> Iterable[Message]:
    frame = params["frameTree"]["frame"]
    arrival.start_listening(browser, frame.get("loaderId", ""), frame.get("url", ""))
    return ()


def _handle_navigated(
    browser: BrowserState, session: SessionState, arrival: Arrival, params: FrameNavigated
) -> Iterable[Message]:
    """Give what an arrival tells when its first document was replaced."""
    before = browser.frames.get(session.root)
    if before is None or params["frame"]["id"] != session.root:
        return ()
    return arrival.replaced(browser, before.loader, before.url)


def _handle_listed(
    browser: BrowserState, session: SessionState, arrival: Arrival, params: Listed
) -> Iterable[Message]:
    """Give what the page's own list of requests tells of an arrival, if it is of this document."""
    frame = browser.frames.get(session.root)
    if frame is None or frame.loader != params["loaderId"]:
        return ()
    return arrival.listed(browser, session, params)


ARRIVAL_HANDLERS: Mapping[str, ArrivalHandler] = {
    "Page.downloadWillBegin": _handle_download,
    "Page.frameStartedNavigating": _handle_began,
    "Page.getFrameTree": _handle_tree,
    "Page.frameNavigated": _handle_navigated,
    "Page.listed": _handle_listed,
}
"""By message, looked at before its own handler; a command's name stands for its reply."""
