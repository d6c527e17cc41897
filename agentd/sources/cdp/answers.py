"""Who answered a request: the server, a cache of the browser, or a service worker with words of its own."""

from __future__ import annotations

from agentd.sources.cdp.requests import Request
from agentd.sources.cdp.state import Params

_BY_WORKER = {"cache-storage": "cache_storage", "http-cache": "disk", "fallback-code": "worker"}


def note(request: Request, answer: Params) -> None:
    """Keep what the head of an answer (`Network.Response`) says."""
    request.status, request.answer_mime = answer["status"], answer.get("mimeType", "")
    if answer.get("fromServiceWorker"):
        request.via = "service_worker"
        request.answered_by = _BY_WORKER.get(answer.get("serviceWorkerResponseSource", ""), "")
    elif answer.get("fromPrefetchCache"):
        request.answered_by = "prefetch"
    elif answer.get("fromDiskCache"):
        # Of an answer that was confirmed with 304 the browser says no such thing.
        request.answered_by = "disk"
