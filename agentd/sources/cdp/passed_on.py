"""A page's request that a service worker passes on to the network is one request, not two.

The browser gives the two no common number. A worker's request to the address, and by the method, of a page's
unanswered one waits until the page's answer says where it came from.
"""

from __future__ import annotations

from agentd.sources.cdp.requests import Request
from agentd.sources.cdp.state import Params


def join(requests: dict[str, Request], number: str, request: Request) -> None:
    """Let a service worker's ``request`` wait for the page's, if it may be the same."""
    if request.session.via != "service_worker" or request.outer or request.hop:
        return
    for other, page in requests.items():
        if (
            not page.session.via
            and not page.inner
            and page.status is None
            and not page.ended
            and page.base.get("url") == request.base["url"]
            and page.base.get("method") == request.base["method"]
        ):
            page.inner, request.outer = number, other
            request.waits.add("outer")
            return


def is_same(answer: Params) -> bool:
    """Whether the page's answer is what the worker got from the network."""
    return bool(answer.get("fromServiceWorker")) and answer.get("serviceWorkerResponseSource") in (
        "network",
        "http-cache",
    )
