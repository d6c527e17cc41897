"""The DevTools messages that the folds read, with the fields that they read, named as the browser
names them.

A message of an older browser, or of somebody else's log, may lack what is `NotRequired` here.
`Page.observed`, `Page.listed` and `Page.precedenceKnown` are the attachment's own: answers that it
got by commands of its own, kept in recordings under these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

Headers = Mapping[str, object]

INNER_SCHEMES = (
    "data:",
    "blob:",
    "about:",
    "chrome:",
    "chrome-extension:",
    "chrome-untrusted:",
    "devtools:",
)
"""How an address begins that no server is asked for: the document's own, and the browser's."""


class RequestData(TypedDict):
    """`Network.Request`."""

    method: str
    url: str
    urlFragment: NotRequired[str]
    initialPriority: NotRequired[str]
    headers: NotRequired[Headers]
    hasPostData: NotRequired[bool]
    postData: NotRequired[str]
    postDataEntries: NotRequired[list[dict[str, str]]]


class ResponseData(TypedDict):
    """`Network.Response`."""

    url: NotRequired[str]
    status: int
    headers: NotRequired[Headers]
    mimeType: NotRequired[str]
    connectionId: NotRequired[int]
    remoteIPAddress: NotRequired[str]
    responseTime: NotRequired[float]
    fromDiskCache: NotRequired[bool]
    fromPrefetchCache: NotRequired[bool]
    fromServiceWorker: NotRequired[bool]
    serviceWorkerResponseSource: NotRequired[str]


class Initiator(TypedDict):
    """`Network.Initiator`."""

    type: NotRequired[str]


class RequestWillBeSent(TypedDict):
    """`Network.requestWillBeSent`: a request, or its next hop after a redirect."""

    requestId: str
    request: RequestData
    loaderId: NotRequired[str]
    frameId: NotRequired[str]
    type: NotRequired[str]
    initiator: NotRequired[Initiator]
    redirectResponse: NotRequired[ResponseData]
    redirectHasExtraInfo: NotRequired[bool]


class ExtraInfoParams(TypedDict):
    """`Network.requestWillBeSentExtraInfo`; with a ``statusCode``,
    `Network.responseReceivedExtraInfo`."""

    requestId: str
    headers: NotRequired[Headers]
    statusCode: NotRequired[int]


class ResponseReceived(TypedDict):
    """`Network.responseReceived`: the head of an answer."""

    requestId: str
    response: ResponseData
    type: NotRequired[str]
    hasExtraInfo: NotRequired[bool]


class OfRequest(TypedDict):
    """A message that names a request and nothing else that is read."""

    requestId: str


class DataReceived(TypedDict):
    """`Network.dataReceived`, with ``data`` of a body that is streamed."""

    requestId: str
    dataLength: NotRequired[int]
    encodedDataLength: NotRequired[int]
    data: NotRequired[str]


class StreamReply(TypedDict):
    """The reply to `Network.streamResourceContent`; none of the data where it was refused."""

    requestId: str
    bufferedData: NotRequired[str]


class CorsErrorStatus(TypedDict):
    """`Network.CorsErrorStatus`."""

    corsError: str


class Bucket(TypedDict):
    """`Browser.Bucket`: how often values from ``low`` were counted."""

    low: int
    count: int


class Histogram(TypedDict):
    """`Browser.Histogram`."""

    name: str
    buckets: list[Bucket]


class HistogramsReply(TypedDict):
    """The reply to `Browser.getHistograms`; without any where nobody was asked."""

    histograms: NotRequired[list[Histogram]]


class LoadingFailed(TypedDict):
    """`Network.loadingFailed`."""

    requestId: str
    type: NotRequired[str]
    errorText: NotRequired[str]
    canceled: NotRequired[bool]
    blockedReason: NotRequired[str]
    corsErrorStatus: NotRequired[CorsErrorStatus]


class PostDataReply(TypedDict):
    """The reply to `Network.getRequestPostData`; without the data where it was refused."""

    requestId: str
    postData: NotRequired[str]
    base64Encoded: NotRequired[bool]


class BodyReply(TypedDict):
    """The reply to `Network.getResponseBody`; without the body where it was refused."""

    requestId: str
    body: NotRequired[str]
    base64Encoded: NotRequired[bool]


class ReportEndpoint(TypedDict):
    """`Network.ReportingApiEndpoint`."""

    url: str
    groupName: str


class EndpointsChanged(TypedDict):
    """`Network.reportingApiEndpointsChangedForOrigin`."""

    origin: str
    endpoints: list[ReportEndpoint]


class QueuedReport(TypedDict):
    """`Network.ReportingApiReport`."""

    id: str
    initiatorUrl: str
    destination: str


class ReportAdded(TypedDict):
    """`Network.reportingApiReportAdded`."""

    report: QueuedReport


class WebTransportEvent(TypedDict):
    """`Network.webTransportCreated`, which has the address, and `webTransportClosed`."""

    transportId: str
    url: NotRequired[str]


class WebSocketCreated(TypedDict):
    """`Network.webSocketCreated`."""

    requestId: str
    url: str


class HandshakeRequest(TypedDict):
    """`Network.WebSocketRequest`."""

    headers: NotRequired[Headers]


class HandshakeSent(TypedDict):
    """`Network.webSocketWillSendHandshakeRequest`."""

    requestId: str
    request: HandshakeRequest


class HandshakeReceived(TypedDict):
    """`Network.webSocketHandshakeResponseReceived`."""

    requestId: str
    response: ResponseData


class FrameError(TypedDict):
    """`Network.webSocketFrameError`."""

    requestId: str
    errorMessage: NotRequired[str]


class TargetInfo(TypedDict):
    """`Target.TargetInfo`."""

    targetId: str
    type: str
    title: NotRequired[str]
    url: NotRequired[str]
    subtype: NotRequired[str]
    openerId: NotRequired[str]
    parentFrameId: NotRequired[str]
    browserContextId: NotRequired[str]


class AttachedToTarget(TypedDict):
    """`Target.attachedToTarget`."""

    sessionId: str
    targetInfo: TargetInfo


class OfSession(TypedDict):
    """`Target.detachedFromTarget`."""

    sessionId: str


class OfTargetInfo(TypedDict):
    """`Target.targetCreated` and `Target.targetInfoChanged`."""

    targetInfo: TargetInfo


class OfTarget(TypedDict):
    """`Target.targetDestroyed` and `Target.targetCrashed`."""

    targetId: str


class FrameData(TypedDict):
    """`Page.Frame`."""

    id: str
    parentId: NotRequired[str]
    loaderId: NotRequired[str]
    url: NotRequired[str]
    urlFragment: NotRequired[str]
    unreachableUrl: NotRequired[str]


class FrameTree(TypedDict):
    """`Page.FrameTree`."""

    frame: FrameData
    childFrames: NotRequired[list[FrameTree]]


class FrameTreeReply(TypedDict):
    """The reply to `Page.getFrameTree`."""

    frameTree: FrameTree


class OfFrame(TypedDict):
    """A message about a frame, with what some of them have beside it."""

    frameId: str
    parentFrameId: NotRequired[str]
    reason: NotRequired[str]
    disposition: NotRequired[str]


class FrameNavigated(TypedDict):
    """`Page.frameNavigated`, and `Page.documentOpened` without a type."""

    frame: FrameData
    type: NotRequired[str]


class StartedNavigating(TypedDict, total=False):
    """`Page.frameStartedNavigating`."""

    frameId: str
    loaderId: str
    url: str
    navigationType: str


class NavigatedWithinDocument(TypedDict):
    """`Page.navigatedWithinDocument`."""

    frameId: str
    url: str


class LifecycleEvent(TypedDict):
    """`Page.lifecycleEvent`."""

    frameId: str
    loaderId: NotRequired[str]
    name: NotRequired[str]


class HistoryEntry(TypedDict):
    """`Page.NavigationEntry`."""

    id: int
    userTypedURL: NotRequired[str]
    transitionType: NotRequired[str]


class HistoryReply(TypedDict):
    """The reply to `Page.getNavigationHistory`, without entries where it was refused; asked after
    ``as_of`` moves of the page."""

    entries: NotRequired[list[HistoryEntry]]
    currentIndex: NotRequired[int]
    as_of: NotRequired[int]


class WorkersHeard(TypedDict):
    """`Page.workersHeard`: every service worker has answered since these documents were committed;
    ``is_given_up``: one had no time to."""

    loaders: list[str]
    is_given_up: NotRequired[bool]


class Observed(TypedDict):
    """`Page.observed`: the first answer of a document's observer."""

    frameId: str
    loaderId: str


class ResourceListing(TypedDict):
    """What a document says that it has loaded (`LISTING` in request_backfill.py). ``loaded``: name,
    initiator, status, whether it was redirected."""

    url: str
    status: int
    redirects: int
    ended: bool
    complete: bool
    loaded: list[tuple[str, str, int, bool]]


class Listed(TypedDict):
    """`Page.listed`: a new tab's document's list, with the tab's history if it has one; ``last``:
    it was complete before."""

    loaderId: str
    listing: ResourceListing
    entries: NotRequired[list[HistoryEntry]]
    currentIndex: NotRequired[int]
    last: NotRequired[bool]


class WindowOpen(TypedDict):
    """`Page.windowOpen`."""

    url: str


class DialogOpening(TypedDict):
    """`Page.javascriptDialogOpening`."""

    url: str
    message: str
    type: str


class DialogClosed(TypedDict):
    """`Page.javascriptDialogClosed`."""

    result: bool
    userInput: NotRequired[str]


class DownloadWillBegin(TypedDict):
    """`Page.downloadWillBegin`."""

    frameId: str
    guid: str
    url: str
    suggestedFilename: str


class DownloadProgress(TypedDict):
    """`Page.downloadProgress`."""

    guid: str
    totalBytes: float
    receivedBytes: float
    state: str


class WorldCreated(TypedDict):
    """The reply to `Page.createIsolatedWorld`, with the frame that it was asked for."""

    frameId: str
    executionContextId: int


class BindingCalled(TypedDict):
    """`Runtime.bindingCalled`."""

    name: str
    payload: str
    executionContextId: int


class PrecedenceKnown(TypedDict):
    """`Page.precedenceKnown`: whether the page's own listeners stand before the observer's."""

    executionContextId: int
    preceded: bool
