"""Kinds of the browser's tabs, documents, dialogs and downloads."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from detectors.model.kinds.kind import KindTable, Masked

BROWSER = KindTable("cdp")


class InTab(TypedDict):
    """`tab`: CDP's target id."""

    tab: str


class InFrame(InTab):
    """`frame`: CDP's frame id."""

    frame: str


class OfDocument(InFrame):
    """A frame's document; `main`: of the tab's top frame."""

    main: bool
    url: str


@BROWSER.kind("tab.opened")
class TabOpened(InTab):
    """A tab or popup exists."""

    url: str
    opener: NotRequired[str]
    baseline: NotRequired[bool]


@BROWSER.kind("tab.activated")
class TabActivated(InTab):
    """The tab is the one in front now."""

    baseline: NotRequired[bool]


@BROWSER.kind("tab.closed")
class TabClosed(InTab):
    """A tab is gone."""


@BROWSER.kind("tab.crashed")
class TabCrashed(InTab):
    """A tab's renderer crashed."""


@BROWSER.kind("page.navigated")
class PageNavigated(OfDocument):
    """A frame committed a URL. `same_document`: pushState, replaceState or a hash.
    `navigation_type`: back, forward, reload, where that is known. `status`: 400 or above, where the
    server answered the document with an error. `document`: the address from which it was loaded,
    where it stands at another (pushState) as it comes out of the browser's cache or is found again;
    about:service-worker where a worker made it up; empty where nobody knows.
    `backfilled`: seen on attaching to a tab that opened a moment earlier, not when it happened."""

    same_document: bool
    navigation_type: NotRequired[Literal["back", "forward", "reload"]]
    status: NotRequired[int]
    loader: NotRequired[str]
    document: NotRequired[str]
    backfilled: NotRequired[bool]
    baseline: NotRequired[bool]


@BROWSER.kind("page.parsed", asked=True)
class PageParsed(OfDocument):
    """The frame's DOMContentLoaded fired."""


@BROWSER.kind("page.loaded")
class PageLoaded(OfDocument):
    """The frame's load event fired."""

    baseline: NotRequired[bool]


@BROWSER.kind("page.network_idle", asked=True)
class PageNetworkIdle(OfDocument):
    """The frame's network has been idle for 500 ms."""


@BROWSER.kind("page.failed")
class PageFailed(OfDocument, Masked):
    """The frame could not load and shows an error page."""

    error: str


@BROWSER.kind("page.title_changed")
class PageTitleChanged(InTab, Masked):
    """The tab's title is now this."""

    title: str
    url: str
    baseline: NotRequired[bool]


@BROWSER.kind("frame.detached")
class FrameDetached(InFrame):
    """A frame is gone."""


DialogType = Literal["alert", "confirm", "prompt", "beforeunload"]


@BROWSER.kind("dialog.opened")
class DialogOpened(InTab, Masked):
    """alert, confirm, prompt or beforeunload is shown."""

    type: DialogType
    message: str
    url: str


@BROWSER.kind("dialog.closed")
class ClosedDialog(InTab, Masked):
    """Somebody answered it."""

    type: DialogType
    message: str
    accepted: bool
    input: str


@BROWSER.kind("permission.changed")
class PermissionChanged(InFrame, Masked):
    """A permission (geolocation, notifications, ...) is now granted or denied."""

    name: str
    state: str


@BROWSER.kind("auth.challenged")
class AuthChallenged(TypedDict):
    """The server asked for a user and a password (HTTP 401 or 407) and got none, or wrong ones.
    While the browser's login prompt is open, and where the agent gives the password over DevTools,
    the browser reports no challenge."""

    tab: NotRequired[str]
    frame: NotRequired[str]
    request: str
    url: str
    scheme: str
    realm: NotRequired[str]


class OfDownload(Masked):
    """`download`: the browser's own id of it; `name`: as the browser suggests it."""

    url: str
    name: str
    download: str


@BROWSER.kind("download.began")
class DownloadBegan(InFrame, OfDownload):
    """The browser starts a download."""


@BROWSER.kind("download.progressed", asked=True)
class DownloadProgressed(TypedDict):
    """Bytes so far, at every twentieth of them all."""

    download: str
    received: int
    total: NotRequired[int]


@BROWSER.kind("download.finished")
class DownloadFinished(InTab, OfDownload):
    """The browser has the whole file."""

    size: int


@BROWSER.kind("download.canceled")
class DownloadCanceled(InTab, OfDownload):
    """The download was cancelled or failed."""
