"""Who answered a request: the server, a cache of the browser, a service worker, or nobody that is
known."""

from __future__ import annotations

from agentd.sources.cdp.network.requests import Request
from agentd.sources.cdp.state.protocol import ResponseData

_BY_WORKER = {"cache-storage": "cache_storage", "http-cache": "disk"}
_BY_NETWORK = ("network", "http-cache")


def source_of(answer: ResponseData, *, extra: bool | None) -> str:
    """Who gave ``answer`` (`Network.Response`): "" for the server, else a value of `served_from`.

    ``extra``: whether the browser says that the network has told of it, None where it does not say.
    A service worker's answer is its own, from wherever it took it: request_dedup.py finds out
    whether the network gave it to the worker for the same request. What the browser says to be a
    worker's, and has from a server at the other end of a connection, it asked for itself: the
    worker was not running, or left it to the server. What came over no connection
    was made up through DevTools, or by the browser itself.
    """
    if answer.get("fromServiceWorker") and not _is_fallback(answer):
        return _BY_WORKER.get(answer.get("serviceWorkerResponseSource", ""), "worker")
    if answer.get("fromPrefetchCache"):
        return "prefetch"
    if answer.get("fromDiskCache"):
        return "disk"  # of an answer that was confirmed with 304 the browser says no such thing
    connected = answer.get("connectionId", -1) != 0 or bool(answer.get("remoteIPAddress"))
    made_up = (
        extra is False
        and not connected
        and str(answer.get("url", "")).startswith(("http:", "https:"))
    )
    return "unknown" if made_up else ""


def _is_fallback(answer: ResponseData) -> bool:
    """Whether an answer came from the server although a service worker is there."""
    has_server = bool(answer.get("connectionId")) and bool(answer.get("remoteIPAddress"))
    return has_server and answer.get("serviceWorkerResponseSource") == "fallback-code"


def is_passed_on(answer: ResponseData) -> bool:
    """Whether it is a service worker's, who has it from the network."""
    return (
        bool(answer.get("fromServiceWorker"))
        and answer.get("serviceWorkerResponseSource") in _BY_NETWORK
    )


def note(request: Request, answer: ResponseData, *, extra: bool | None) -> None:
    """Keep what the head of an answer says. Where the network itself told of another status,
    DevTools wrote it over: the server's own counts, and what the answer holds is nobody's."""
    request.status, request.answer_mime = answer["status"], answer.get("mimeType", "")
    request.answered_at = answer.get("responseTime")
    by = source_of(answer, extra=extra)
    if answer.get("fromServiceWorker"):
        request.via = "service_worker"
    elif by in ("", "unknown") and request.wire_status is not None:
        by = ""
        if extra is False or request.wire_status not in (request.status, 304):
            request.status, request.rewritten = request.wire_status, True
    if by and not (by == "unknown" and request.answered_by):
        request.answered_by = by
