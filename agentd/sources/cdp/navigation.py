"""Frames: which address each has committed, when its load event fired, when it went away.

A commit is told once, whether its event was heard or a frame tree shows it later (`reconciled`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentd.sources.cdp.masking import mask_url
from agentd.sources.cdp.state import Browser, Frame, Params, Seen, SessionState


def told(browser: Browser, session: SessionState, method: str, params: Params) -> Iterator[Seen]:
    """Fold one message about frames; ``Page.getFrameTree`` stands for that command's reply."""
    match method:
        case "Page.frameNavigated":
            yield from _commit(browser, session, params["frame"], heard=True)
        case "Page.navigatedWithinDocument":
            yield from _within(browser, session, params["frameId"], params["url"])
        case "Page.frameAttached":
            browser.frames.setdefault(params["frameId"], Frame(session.tab, params.get("parentFrameId")))
        case "Page.frameDetached":
            if params.get("reason") != "swap":  # a swap only moves the frame to another process
                yield from gone(browser, params["frameId"])
        case "Page.lifecycleEvent":
            if params.get("name") == "load":
                yield from _loaded(browser, params["frameId"], params.get("loaderId", ""))
        case "Page.getFrameTree":
            yield from _tree(browser, session, params["frameTree"])


def gone(browser: Browser, frame: str) -> Iterator[Seen]:
    """The frame and all under it are no more."""
    for one in (*reversed(browser.below(frame)), frame):
        about = browser.frames.pop(one, None)
        if about is not None:
            yield Seen("frame.detached", {"tab": about.tab, "frame": one})


def _commit(browser: Browser, session: SessionState, frame: Params, *, heard: bool) -> Iterator[Seen]:
    name, loader = frame["id"], frame.get("loaderId", "")
    known = browser.frames.get(name)
    if known is not None and known.url and known.loader == loader:
        known.parent = frame.get("parentId", known.parent)
        return
    # A frame in another process may be told of before the one that it stands in, so only a known document
    # takes the frames below with it.
    for child in browser.below(name) if known is not None and known.url else ():
        if child in browser.frames:
            yield from gone(browser, child)
    url = mask_url(_address(frame), browser.secrets)
    parent = frame.get("parentId") or (known.parent if known else None)
    browser.frames[name] = Frame(session.tab, parent, url, loader)
    data = _where(browser, name) | {"url": url, "same_document": False, "loader": loader}
    if not browser.settled:
        data["baseline"] = True
    elif not heard:
        data["reconciled"] = True
    yield Seen("page.navigated", data)


def _address(frame: Params) -> str:
    # A popup's first, empty document has no address or only a colon.
    url = frame.get("url", "")
    return "about:blank" if url in ("", ":") else url + frame.get("urlFragment", "")


def _within(browser: Browser, session: SessionState, name: str, raw: str) -> Iterator[Seen]:
    url = mask_url(raw, browser.secrets)
    known = browser.frames.setdefault(name, Frame(session.tab))
    # Chrome tells a page's own address this way right after its load: that is no progress.
    if known.url == url:
        return
    known.url = url
    data = _where(browser, name) | {"url": url, "same_document": True}
    if not browser.settled:
        data["baseline"] = True
    yield Seen("page.navigated", data)


def _loaded(browser: Browser, name: str, loader: str) -> Iterator[Seen]:
    known = browser.frames.get(name)
    if known is None or not known.url or known.loaded == loader or known.loader != loader:
        return
    known.loaded = loader
    data = _where(browser, name) | {"url": known.url}
    if not browser.settled:
        data["baseline"] = True
    yield Seen("page.loaded", data)


def _tree(browser: Browser, session: SessionState, tree: Params) -> Iterator[Seen]:
    frame = dict(tree["frame"])
    known = browser.frames.get(frame["id"])
    if known is not None and known.parent and not frame.get("parentId"):
        frame["parentId"] = known.parent
    yield from _commit(browser, session, frame, heard=False)
    for child in tree.get("childFrames", ()):
        yield from _tree(browser, session, child)


def _where(browser: Browser, name: str) -> dict[str, Any]:
    frame = browser.frames[name]
    return {"tab": frame.tab, "frame": name, "main": frame.parent is None}
