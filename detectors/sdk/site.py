"""Whose page an event comes from: rules about pages hold at the task's own site, unless they say
`anywhere`.

A page that the agent makes (`data:`, `file:`, `blob:`, another host) may show the same buttons,
fields and texts.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from detectors.matchers.url import MAX_URL, parse_url
from detectors.model.types import Event
from detectors.sdk.world import World

BY_FRAME = ("element.", "field.", "form.", "text.")
BY_ADDRESS = ("page.", "dialog.")
DOWNLOADS = "download."
_ORIGIN = re.compile("[a-z]+://[^/?#]*/")
_INHERITED = ("about:blank", "about:srcdoc")
_MADE_BY_SCRIPT = (*_INHERITED, "blob:", "data:")
_OF_ANY_PAGE = ("data:", "blob:null/")
"""How the address of a download begins that does not say which page made it."""


def origin_of(text: str) -> str:
    """Scheme, host and port of an address, as `parse_url` gives them; a blob's is that of the page
    that made it."""
    address = text.removeprefix("blob:")
    url = parse_url(address)
    if url is None and (begin := _ORIGIN.match(address[:MAX_URL])) is not None:
        url = parse_url(begin[0])  # its path is too long to be looked at
    return "" if url is None else url.origin


UNKNOWN_SITE = "the address of the page is not known any more"
"""Why a rule can't know whether an event is of the task's site."""


def judge_site(event: Event, world: World, origins: Collection[str]) -> bool | None:
    """Whether a page at one of ``origins`` is what the event is about; None where the page's
    address is not known. True for what is about no page."""
    kind = event.kind
    if kind.startswith(DOWNLOADS):
        return origin_of(str(event.data.get("url"))) in origins
    if not kind.startswith((*BY_FRAME, *BY_ADDRESS)):
        return True
    url = _page_address(event, world)
    if not url:
        return None if world.navigated else True
    return not url.startswith("blob:") and origin_of(url) in origins


def may_be_made_by_site(event: Event, world: World, origins: Collection[str]) -> bool | None:
    """Whether script of a page at one of ``origins`` may have made the document or the download
    that the event is about; None where the address of its tab is not known.

    Such a document has no address of its own, as a popup that its opener fills, or one of a
    `blob:`, or it is a frame of `data:`. Nobody is paid for what is done there, and a guard looks
    there too.
    """
    tab = str(event.data.get("tab"))
    if event.kind.startswith(DOWNLOADS):
        url = str(event.data.get("url"))
        return url.startswith(_OF_ANY_PAGE) and _is_site_or_empty(tab, world, origins)
    url = _page_address(event, world)
    if not url.startswith(_MADE_BY_SCRIPT):
        return False
    if event.data.get("frame", tab) != tab:
        return _is_site_or_empty(tab, world, origins)
    return url.startswith("about:blank") or origin_of(url) in origins


def _is_site_or_empty(tab: str, world: World, origins: Collection[str]) -> bool | None:
    """Whether a page at one of ``origins``, or an empty one, is in the tab; None where its address
    is not known any more."""
    url = world.url(tab)
    if not url:
        return None if world.navigated else True
    return url.startswith("about:blank") or origin_of(url) in origins


def _page_address(event: Event, world: World) -> str:
    data = event.data
    tab, frame = str(data.get("tab")), str(data.get("frame"))
    if event.kind.startswith(BY_FRAME):
        return _address(world, tab, frame)
    url = str(data.get("url") or world.url(tab))
    if "frame" in data and url.startswith(_INHERITED):
        return _address(world, tab, frame)
    return url


def is_about_pages(kinds: Collection[str]) -> bool:
    """Whether events of any of ``kinds`` come from a page."""
    return any(kind.startswith((*BY_FRAME, *BY_ADDRESS, DOWNLOADS)) for kind in kinds)


def _address(world: World, tab: str, frame: str) -> str:
    """The frame's address; an empty or forgotten document below a tab's own is taken for part of
    that."""
    url = world.url(frame)
    return world.url(tab) if not url or (frame != tab and url.startswith(_INHERITED)) else url
