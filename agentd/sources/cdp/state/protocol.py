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


class RequestData(TypedDict):
    """`Network.Request`."""

    method: str
    url: str
    urlFragment: NotRequired[str]
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
