"""Frames: which address each has committed and how it got there, how far it is loaded, when it went
away.

A commit is told once, whether its event was heard or a frame tree shows it later (`backfilled`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentd.sources.cdp.folds import copies, history, leaving
from agentd.sources.cdp.state.addresses import bound_address
from agentd.sources.cdp.state.gaps import PAGE_PARTS, TEXTS, gap
from agentd.sources.cdp.state.protocol import (
    FrameData,
    FrameNavigated,
    FrameTree,
    FrameTreeReply,
    HistoryReply,
    LifecycleEvent,
    NavigatedWithinDocument,
    Observed,
    OfFrame,
    StartedNavigating,
)
from agentd.sources.cdp.state.state import (
    MAX_REMEMBERED,
    BrowserState,
    CdpObservation,
    Frame,
    Handler,
    Params,
    SessionState,
    remember,
)

_THROUGH_HISTORY = ("historyDifferentDocument", "historySameDocument")
# Name of a lifecycle event → mark of the frame, kind that tells of it.
_LIFE = {
    "DOMContentLoaded": ("parsed", "page.parsed"),
    "load": ("loaded", "page.loaded"),
    "networkIdle": ("idled", "page.network_idle"),
}
_PAINTS = ("firstPaint", "firstContentfulPaint")


def handle_began(
    browser: BrowserState, _session: SessionState, params: StartedNavigating
) -> Iterable[CdpObservation]:
    """A frame begins to load another document."""
    began = params
    if "url" in began:
        began = {**began, "url": bound_address(began["url"])}
    remember(browser.underway, params["frameId"], began)
    return ()


def handle_requested(
    browser: BrowserState, _session: SessionState, params: OfFrame
) -> Iterable[CdpObservation]:
    """A document asks to be left."""
    frame = browser.frames.get(params["frameId"])
    if frame is not None and params.get("disposition") == "currentTab":
        frame.marks.add("asked")
    return ()


def handle_navigated(
    browser: BrowserState, session: SessionState, params: FrameNavigated
) -> Iterator[CdpObservation]:
    """Report that a frame has another document."""
    session.history.moves += 1
    restored = params.get("type") == "BackForwardCacheRestore"
    return _commit(browser, session, params["frame"], heard=True, restored=restored)


def handle_navigated_within(
    browser: BrowserState, session: SessionState, params: NavigatedWithinDocument
) -> Iterator[CdpObservation]:
    """Report that a document has another address."""
    session.history.moves += 1
    raw = params["url"]
    url = browser.secrets.mask_url(raw)
    name = params["frameId"]
    known = browser.frames.setdefault(name, Frame(session.tab))
    url = copies.address_of(browser, name, known.parent, known.loader, url)
    # Chrome tells a page's own address this way right after its load: that is no progress.
    if known.url == url:
        return
    is_elsewhere = known.url.partition("#")[0] != url.partition("#")[0]
    if known.loader and is_elsewhere and known.loader not in browser.documents:
        remember(browser.documents, known.loader, bound_address(known.url))
    known.url = url
    data = _frame_fields(browser, name) | {"url": url, "same_document": True}
    if not browser.settled:
        data["baseline"] = True
    began = browser.underway.get(name, StartedNavigating())
    is_begun = began.get("url") == bound_address(raw)
    through = is_begun and began.get("navigationType") in _THROUGH_HISTORY
    yield _moved(session, data, "history" if through else "")


def handle_attached(
    browser: BrowserState, session: SessionState, params: OfFrame
) -> Iterable[CdpObservation]:
    """A document has a frame more."""
    frame = Frame(session.tab, params.get("parentFrameId"))
    browser.frames.setdefault(params["frameId"], frame)
    return ()


def handle_detached(
    browser: BrowserState, _session: SessionState, params: OfFrame
) -> Iterable[CdpObservation]:
    """A frame is gone; a swap only moves it to another process."""
    return () if params.get("reason") == "swap" else detach_frame(browser, params["frameId"])


def handle_lifecycle(
    browser: BrowserState, _session: SessionState, params: LifecycleEvent
) -> Iterator[CdpObservation]:
    """A document is parsed, painted, loaded, or at rest."""
    name, stage = params["frameId"], params.get("name", "")
    known = browser.frames.get(name)
    if known is None or not known.url or known.loader != params.get("loaderId", ""):
        return
    if stage in _PAINTS:
        known.marks.add("painted")
    mark, kind = _LIFE.get(stage, ("", ""))
    if not mark or mark in known.marks:
        return
    known.marks.add(mark)
    data = _frame_fields(browser, name) | {"url": known.url}
    if kind == "page.loaded":
        yield CdpObservation(kind, data if browser.settled else data | {"baseline": True})
    elif kind in browser.wanted and browser.settled:
        yield CdpObservation(kind, data)


def handle_replaced(
    browser: BrowserState, session: SessionState, params: LifecycleEvent
) -> Iterator[CdpObservation]:
    """Report a document that another has replaced in place, as a `javascript:` URL does: what stood
    in it is gone, and its address stays."""
    name, loader = params["frameId"], params.get("loaderId", "")
    known = browser.frames.get(name)
    if known is None:
        return
    yield from _leave_document(browser, session, {"id": name, "loaderId": loader}, known)
    url = known.url or "about:blank"
    # It is still what the server answered with, an error too.
    browser.frames[name] = Frame(session.tab, known.parent, url, loader, status=known.status)
    data = _frame_fields(browser, name) | {"url": url, "same_document": False, "loader": loader}
    document = _loaded_address(browser, loader, url)
    if bound_address(document) != bound_address(url):
        data["document"] = document
    if not browser.settled:
        data["baseline"] = True
    yield CdpObservation("page.navigated", data)


def handle_tree(
    browser: BrowserState, session: SessionState, params: FrameTreeReply
) -> Iterator[CdpObservation]:
    """The frames that are there, asked for."""
    return _tree(browser, session, params["frameTree"])


def handle_history(
    _browser: BrowserState, session: SessionState, params: HistoryReply
) -> Iterator[CdpObservation]:
    """Where the page stands in its tab's history, asked for."""
    return history.handle_history(session, params)


def handle_observed(
    browser: BrowserState, _session: SessionState, params: Observed
) -> Iterable[CdpObservation]:
    """A document's observer has answered: what it held back is in, and it is there."""
    if params["frameId"] in browser.frames:
        browser.frames[params["frameId"]].marks.discard("left")
    return _mark_document(browser, params, "heard")


def _mark_document(browser: BrowserState, params: Observed, mark: str) -> tuple[()]:
    """Mark the frame if the document is still its own."""
    frame = browser.frames.get(params["frameId"])
    if frame is not None and frame.loader == params["loaderId"]:
        frame.marks.add(mark)
    return ()


HANDLERS: Mapping[str, Handler] = {
    "Page.frameStartedNavigating": handle_began,
    "Page.frameRequestedNavigation": handle_requested,
    "Page.frameNavigated": handle_navigated,
    "Page.navigatedWithinDocument": handle_navigated_within,
    "Page.frameAttached": handle_attached,
    "Page.frameDetached": handle_detached,
    "Page.lifecycleEvent": handle_lifecycle,
    "Page.getFrameTree": handle_tree,
    "Page.getNavigationHistory": handle_history,
    "Page.observed": handle_observed,
}
"""By message; a command's name stands for its reply."""


def note_failure(browser: BrowserState, params: Params) -> None:
    """Keep why a document could not be loaded (`Network.loadingFailed`): its error page comes
    next."""
    if params.get("type") == "Document":
        remember(browser.errors, params["requestId"], params.get("errorText", ""))


def record_crash(browser: BrowserState, session: SessionState) -> Iterator[CdpObservation]:
    """The renderer of a frame in a process of its own is gone; of a whole tab the list of targets
    tells."""
    for name in (session.root, *browser.below(session.root)):
        if name in browser.frames:
            browser.frames[name].marks.add("crashed")
    known = browser.frames.get(session.root)
    if known is not None and not session.is_page:
        failure = _frame_fields(browser, session.root) | {"url": known.url, "error": "crashed"}
        yield CdpObservation("page.failed", failure)


def detach_frame(browser: BrowserState, frame: str) -> Iterator[CdpObservation]:
    """The frame and all under it are no more."""
    for name in (*reversed(browser.below(frame)), frame):
        known = browser.frames.pop(name, None)
        browser.underway.pop(name, None)
        if known is not None:
            yield from _unheard(browser, known)
            yield from leaving.report_left(browser, known)
            yield CdpObservation("frame.detached", {"tab": known.tab, "frame": name})


def _commit(
    browser: BrowserState,
    session: SessionState,
    frame: FrameData,
    *,
    heard: bool,
    restored: bool = False,
) -> Iterator[CdpObservation]:
    """Report a frame's new document; one that is known already tells at most another parent."""
    name, loader = frame["id"], frame.get("loaderId", "")
    known = browser.frames.get(name)
    if known is not None and _has_document(known, loader):
        known.parent = frame.get("parentId", known.parent)
        return
    yield from _leave_document(browser, session, frame, known)
    told = browser.secrets.mask_url(_address(frame))
    parent = frame.get("parentId") or (known.parent if known else None)
    url = copies.address_of(browser, name, parent, loader, told)
    marks = _first_marks(browser, session, url, restored=restored)
    if copies.is_saved(browser, parent, loader, told):
        marks.add(copies.SAVED)
    browser.frames[name] = Frame(session.tab, parent, url, loader, marks)
    data = _frame_fields(browser, name) | {"url": url, "same_document": False, "loader": loader}
    # A frame that is met in a tree may come out of the browser's cache with its page.
    data |= _document_field(browser, loader, url, is_new=heard and not restored)
    if not browser.settled:
        data["baseline"] = True
    elif not heard:
        data["backfilled"] = True
    how = _commit_cause(browser, name, loader, restored=restored)
    if restored and name in browser.underway:
        # It has come, though under another loader than was begun.
        browser.underway[name] = {**browser.underway[name], "loaderId": loader}
    yield _moved(session, data, how)
    if "unreachableUrl" in frame:
        yield _load_failure(browser, name, loader, frame["unreachableUrl"])


def _first_marks(
    browser: BrowserState, session: SessionState, url: str, *, restored: bool
) -> set[str]:
    """What is known of a document as it is met first."""
    # What comes back out of the cache was loaded, painted and heard before it went there.
    marks = {"parsed", "loaded", "idled", "painted", "heard"} if restored else set()
    if not browser.settled and _may_have_called(browser, session, url):
        marks.add("called")
    return marks


def _document_field(
    browser: BrowserState, loader: str, url: str, *, is_new: bool
) -> dict[str, str]:
    """The field `document`, where a document that stands at ``url`` was loaded from elsewhere."""
    document = url if is_new else _loaded_address(browser, loader, url)
    is_here = bound_address(document) == bound_address(url)
    return {} if is_here else {"document": document}


def _loaded_address(browser: BrowserState, loader: str, url: str) -> str:
    """From which address a document was loaded that was there before and stands at ``url`` now; an
    empty text where that is forgotten."""
    forgotten = len(browser.documents) >= MAX_REMEMBERED
    return browser.documents.get(loader, "" if forgotten else url)


def _has_document(frame: Frame, loader: str) -> bool:
    """Whether ``frame`` has the document of ``loader`` already."""
    return bool(frame.url) and frame.loader == loader


def _may_have_called(browser: BrowserState, session: SessionState, url: str) -> bool:
    """Whether a document that was there first may have sent a request before anybody listened: any
    but an empty one that no other page opened."""
    return url != "about:blank" or "opener" in browser.tabs.get(session.tab, {})


def _load_failure(
    browser: BrowserState, name: str, loader: str, unreachable: str
) -> CdpObservation:
    """The document that was asked for could not be loaded; ``loader`` is its error page's."""
    url = browser.secrets.mask_url(unreachable)
    error = browser.errors.pop(loader, "") or "unknown"
    data = _frame_fields(browser, name) | {"url": url, "error": error}
    return CdpObservation("page.failed", data)


def _leave_document(
    browser: BrowserState, session: SessionState, frame: FrameData, known: Frame | None
) -> Iterator[CdpObservation]:
    """Report what goes as another document comes into ``frame``, of which ``known`` is what was
    known before."""
    if known is None:
        if session.is_page and session.root in browser.frames and not frame.get("parentId"):
            yield from _instead(browser, session, frame["id"])
        return
    yield from _unheard(browser, known, frame.get("loaderId", ""))
    yield from leaving.report_left(browser, known)
    # A frame in another process may be told of before the one that it stands in, so only a known
    # document takes the frames below with it.
    if not known.url:
        return
    for child in browser.below(frame["id"]):
        if child in browser.frames:
            yield from detach_frame(browser, child)


def _instead(browser: BrowserState, session: SessionState, name: str) -> Iterator[CdpObservation]:
    """The page has another main frame now: back from one that was prerendered, the first one's
    comes again."""
    began = browser.underway.get(session.root)
    yield from detach_frame(browser, session.root)
    session.root = name
    if began is not None:
        remember(browser.underway, name, began)


def _commit_cause(browser: BrowserState, name: str, loader: str, *, restored: bool) -> str:
    """Return whether a document came by a reload or through the history, "" for neither."""
    began = browser.underway.get(name, StartedNavigating())
    kind = began.get("navigationType", "")
    if kind.startswith("reload") and began.get("loaderId") == loader:
        return "reload"
    # A document out of the cache keeps the loader that it came with, not the one that was begun.
    ours = restored or began.get("loaderId") == loader
    return "history" if kind in _THROUGH_HISTORY and ours else ""


def _moved(session: SessionState, data: dict[str, Any], how: str) -> CdpObservation:
    """Return the move as an event, and note it for the tab's history."""
    history.record_move(session, data, how)
    if how == "reload":
        data["navigation_type"] = how
    return CdpObservation("page.navigated", data)


def _unheard(browser: BrowserState, known: Frame, loader: str = "") -> Iterator[CdpObservation]:
    """Say what a document may have held back that gives way to ``loader``.

    What is done on a page waits in its observer until that can speak, some milliseconds after the
    commit. Before its first paint nobody sees anything there, and the browser gives it no input. A
    document that itself asked for the next one, without anybody's gesture, had none in the five
    seconds before.
    """
    shown = "painted" in known.marks and known.url.startswith(("http:", "https:"))
    if not (browser.live and browser.settled and shown) or "heard" in known.marks:
        return
    untouched = "asked" in known.marks and browser.loaders.get(loader) is False
    parts = [kind for kind in TEXTS if kind in browser.wanted] if untouched else PAGE_PARTS
    yield from gap(parts, "a document was shown and left before its observer could speak")


def _address(frame: FrameData) -> str:
    """Return a frame's address with its fragment; a first, empty document is "about:blank"."""
    # A popup's first, empty document has no address or only a colon.
    url = frame.get("url", "")
    return "about:blank" if url in ("", ":") else url + frame.get("urlFragment", "")


def _tree(
    browser: BrowserState, session: SessionState, tree: FrameTree
) -> Iterator[CdpObservation]:
    """Commit the documents of a frame and all in it, as a tree shows them."""
    frame = tree["frame"].copy()
    known = browser.frames.get(frame["id"])
    if known is not None and known.parent and not frame.get("parentId"):
        frame["parentId"] = known.parent
    yield from _commit(browser, session, frame, heard=False)
    for child in tree.get("childFrames", ()):
        yield from _tree(browser, session, child)


def _frame_fields(browser: BrowserState, name: str) -> dict[str, object]:
    frame = browser.frames[name]
    return {"tab": frame.tab, "frame": name, "main": frame.parent is None}
