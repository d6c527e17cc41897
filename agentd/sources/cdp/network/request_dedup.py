"""A page's request that a service worker passes on to the network is one request, not two.

The browser gives the two no common number. A worker's request to the address, and by the method, of
a page's unanswered one waits until the page's answer says where it came from. If that is the
network, the worker's request is the one that went out: what it carried and what the server said to
it is told, in the page's name. Everything else that a worker answers with is its own, and what it
sends is a request of its own.
"""

from __future__ import annotations

from typing import Any

from agentd.sources.cdp.network.requests import Request
from detectors.model.optional_values import drop_keys, pick_keys


def join(requests: dict[str, Request], number: str, request: Request) -> None:
    """Let a service worker's request wait for the page's that may be the same; ``request`` is the
    one of them that came to be known just now. The two sessions' messages have no common order:
    where the worker's came first, that it left has been reported, and the page's waits as well."""
    if request.hop or request.outer or request.inner:
        return
    by_worker = request.session.via == "service_worker"
    if request.session.via and not by_worker:
        return
    for other, candidate in requests.items():
        page, inner = (candidate, request) if by_worker else (request, candidate)
        if _may_be_same(page, inner):
            page.inner, inner.outer = (number, other) if by_worker else (other, number)
            inner.waits.add("outer")
            if not by_worker:
                page.waits.add("twin")
            return


def _may_be_same(page: Request, inner: Request) -> bool:
    """Whether ``inner`` may be the page's request ``page``, which a service worker sent on; neither
    is joined to another one yet."""
    if page.session.via or inner.session.via != "service_worker":
        return False
    if page.inner or inner.outer or inner.hop:
        return False
    return _asked_by(page) == (inner.base["method"], inner.base["url"])


def _asked_by(request: Request) -> tuple[str, str] | None:
    """Method and address of what is not answered yet, or by a worker that may have it from the
    network."""
    if request.claim is not None:
        return request.claim.method, request.claim.url
    if request.status is not None or request.ended:
        return None
    return request.base["method"], request.base["url"]


def is_pending(page: Request, inner: Request | None) -> bool:
    """Whether more may come to be known of what a worker says to have from the network."""
    if inner is None:
        return page.worker_known
    is_hop = page.claim is not None and page.claim.answer is not None
    return is_hop and (not inner.wire.answers or "body" in inner.waits)


def stand_in(page: Request, inner: Request) -> None:
    """Let the worker's request take the page's place: its address, body, status and answer, where
    the page asked."""
    # That it left is reported already by its own number, where it was known before the page's.
    keys = ("tab", "frame") if "twin" in page.waits else ("tab", "frame", "request")
    place: dict[str, Any] = pick_keys(page.base, keys)
    inner.base = place | drop_keys(inner.base, place)
    inner.kind, inner.outer, inner.page = page.kind, "", page
    # That it was sent is reported by the page's.
    inner.later = [held for held in inner.later if held.seen.kind != "request.sent"]
    for held in inner.later:
        data = held.seen.data
        data.update(place)
        if "type" in data:
            data["type"] = page.kind
    _want_the_body(page, inner)


def is_answer_of(page: Request, inner: Request) -> bool:
    """Whether the page got the very answer to the worker's request, not that to another one."""
    return (
        page.answered_at is not None
        and page.answered_at == inner.answered_at
        and not inner.rewritten
    )


def take_hop(page: Request, inner: Request | None, answer: tuple[int, str]) -> bool:
    """Whether the redirect that ends the page's present hop, by its status and location, is the
    server's answer to the worker's request; then the hop carried what the worker's did."""
    if inner is None or inner.wire.answers[:1] != [answer] or "body" in inner.waits:
        return False
    _want_the_body(page, inner)
    if "twin" in page.waits:
        page.later = [held for held in page.later if held.seen.kind != "request.sent"]
    page.body, page.mime, page.wants_body = inner.body, inner.mime, inner.wants_body
    page.waits.discard("body")
    return True


def _want_the_body(page: Request, inner: Request) -> None:
    """A worker may send on a body that the browser does not tell of: then what was sent is not
    known."""
    if page.carries and inner.body is None:
        inner.wants_body = max(inner.wants_body, page.wants_body)
