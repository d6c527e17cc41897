"""Tabs: opened, titled, crashed, closed, from the browser's own list of targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentd.sources.cdp.masking import mask_url
from agentd.sources.cdp.state import Browser, Params, Seen

_OURS_NOT = ("devtools://", "chrome-extension://", "chrome-untrusted://")
LONGEST_TITLE = 1000


def is_tab(info: Params) -> bool:
    """Whether a target is a tab or popup that a person uses, not the browser's own interface or a tool."""
    if info.get("type") != "page" or info.get("subtype"):
        return False  # a subtype marks a page that is prepared, not shown
    return not str(info.get("url", "")).startswith(_OURS_NOT)


def told(browser: Browser, method: str, params: Params) -> Iterator[Seen]:
    """Fold one message about targets."""
    match method:
        case "Target.targetCreated" | "Target.targetInfoChanged":
            yield from _info(browser, params["targetInfo"])
        case "Target.targetDestroyed":
            yield from closed(browser, params["targetId"])
        case "Target.targetCrashed":
            if params["targetId"] in browser.tabs:
                yield Seen("tab.crashed", {"tab": params["targetId"]})


def closed(browser: Browser, tab: str) -> Iterator[Seen]:
    """The tab is gone, and its frames with it."""
    if browser.tabs.pop(tab, None) is None:
        return
    for frame in [name for name, about in browser.frames.items() if about.tab == tab]:
        del browser.frames[frame]
    yield Seen("tab.closed", {"tab": tab})


def _info(browser: Browser, info: Params) -> Iterator[Seen]:
    if not is_tab(info):
        return
    tab, url = info["targetId"], mask_url(info["url"] or "about:blank", browser.secrets)
    known = browser.tabs.get(tab)
    if known is None:
        known = browser.tabs[tab] = {"title": ""}
        data: dict[str, Any] = {"tab": tab, "url": url}
        if info.get("openerId"):
            data["opener"] = info["openerId"]
        yield _standing(browser, Seen("tab.opened", data))
    # Until a page names itself the browser shows its address as the title.
    title = info.get("title", "")
    if not info["url"].rstrip("/").endswith(title.rstrip("/")):
        yield from titled(browser, tab, title, url)


def titled(browser: Browser, tab: str, title: str, url: str) -> Iterator[Seen]:
    """The tab's title is ``title``, says the list of targets or the page; told once."""
    known = browser.tabs.get(tab)
    if known is None or not title or known["title"] == title[:LONGEST_TITLE]:
        return
    known["title"] = title[:LONGEST_TITLE]
    yield _standing(browser, Seen("page.titled", {"tab": tab, "title": known["title"], "url": url}))


def _standing(browser: Browser, seen: Seen) -> Seen:
    if not browser.settled:
        seen.data["baseline"] = True
    return seen
