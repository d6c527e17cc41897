"""Kinds of the browser's tabs, documents, dialogs and downloads."""

from __future__ import annotations

from detectors.model.kinds.kind import EventKind, kind

BROWSER: dict[str, EventKind] = {
    "tab.opened": kind("cdp", "tab url opener? baseline?", "A tab or popup exists."),
    "tab.activated": kind("cdp", "tab baseline?", "The tab is the one in front now."),
    "tab.closed": kind("cdp", "tab", "A tab is gone."),
    "tab.crashed": kind("cdp", "tab", "A tab's renderer crashed."),
    "page.navigated": kind(
        "cdp",
        "tab frame main url same_document navigation_type? status? loader? backfilled? baseline?",
        "A frame committed a URL. `same_document`: pushState, replaceState or a hash."
        " `navigation_type`: back, forward, reload, where that is known. `status`: 400 or above,"
        " where the server answered the document with an error. `backfilled`: seen on attaching to"
        " a tab that opened a moment earlier, not when it happened.",
    ),
    "page.parsed": kind(
        "cdp", "tab frame main url", "The frame's DOMContentLoaded fired.", asked=True
    ),
    "page.loaded": kind("cdp", "tab frame main url baseline?", "The frame's load event fired."),
    "page.network_idle": kind(
        "cdp", "tab frame main url", "The frame's network has been idle for 500 ms.", asked=True
    ),
    "page.failed": kind(
        "cdp", "tab frame main url error", "The frame could not load; an error page stands there."
    ),
    "page.title_changed": kind("cdp", "tab title url baseline?", "The tab's title is now this."),
    "frame.detached": kind("cdp", "tab frame", "A frame is gone."),
    "dialog.opened": kind(
        "cdp", "tab type message url", "alert, confirm, prompt or beforeunload is shown."
    ),
    "dialog.closed": kind("cdp", "tab type message accepted input", "Somebody answered it."),
    "permission.changed": kind(
        "cdp",
        "tab frame name state",
        "A permission (geolocation, notifications, ...) is now granted or denied.",
    ),
    "auth.challenged": kind(
        "cdp",
        "tab? frame? request url scheme realm?",
        "The server asked for a user and a password (HTTP 401 or 407) and got none, or wrong ones."
        " While the browser's login prompt stands, and where the agent gives the password over"
        " DevTools, nobody is told of a challenge.",
    ),
    "download.began": kind("cdp", "tab frame url name download", "The browser starts a download."),
    "download.progressed": kind(
        "cdp",
        "download received total?",
        "Bytes so far, at every twentieth of them all.",
        asked=True,
    ),
    "download.finished": kind(
        "cdp", "tab url name download size", "The browser has the whole file."
    ),
    "download.canceled": kind(
        "cdp", "tab url name download", "The download was cancelled or failed."
    ),
}
