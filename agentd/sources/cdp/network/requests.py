"""One request on its way: what is known of it, and what waits to be told until more is.

What is told of a request waits while its body, its real headers or the answer's body are still to
come, so that the order within a request stands and no other event is late.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentd.sources.cdp.network import bodies
from agentd.sources.cdp.network.headers import Heads
from agentd.sources.cdp.network.streamed import Streamed
from agentd.sources.cdp.network.wire import RequestHops
from agentd.sources.cdp.state.capture_plan import ALWAYS, IF_TAKEN, NOBODY
from agentd.sources.cdp.state.masking import Secrets
from agentd.sources.cdp.state.protocol import RequestWillBeSent
from agentd.sources.cdp.state.state import CdpObservation, SessionState
from detectors.model.optional_values import drop_empty


@dataclass(slots=True)
class Held:
    """An observation that waits. ``hop``: the hop that it tells of; ``holders``: what carries that
    hop's body and headers, the observation and its entry in ``hops``."""

    seen: CdpObservation
    hop: int
    holders: list[dict[str, Any]]
    carries: bool = False


@dataclass(slots=True)
class Claim:
    """A service worker says that it has an answer from the network: to what the page sent by
    ``method`` to ``url``.

    ``answer``: status and location of a redirect, None for the last answer; ``holders``: what tells
    of it. The worker's request may come to be known later than its answer."""

    method: str
    url: str
    answer: tuple[int, str] | None
    holders: list[dict[str, Any]]


@dataclass(slots=True)
class Request:
    """One request. ``waits``: what has to come before anything is told: body, headers, answer,
    outer, inner, wire; twin: whether a worker's that was told of before is the same one.

    ``carries``: the present hop has the body (a 302 turns a POST into a GET without one);
    ``wants_body``: who reads the body that one of them had, ``wants_answer``: the answer's.
    ``wire``: the network's own words, which come even where the document that asked is gone
    (``left``), or never: then that it may have gone out is told once (``is_unwitnessed``);
    ``is_crashed``: the renderer that asked is gone.
    ``rewritten``: the answer that the page got is not the server's. ``outer``: the page's request
    that a service worker passes on as this one; ``worker_known``: some service worker was listened
    to when it was sent; ``passed_on``: such a worker has the answer from the network; ``page``:
    that request, once this one stands in for it; ``answered_at``: when the server answered, which
    tells two answers apart. ``secrets``: with what it was masked, ``as_of`` which of its news.
    """

    base: dict[str, Any]
    kind: str
    session: SessionState
    loader: str = ""
    mime: str = ""
    body: dict[str, Any] | None = None
    body_bytes: int = 0
    """How many of its bytes the browser told: a file that it reads from disk is not among them."""
    carries: bool = False
    wants_body: int = NOBODY
    hops: list[dict[str, Any]] = field(default_factory=list)
    hop: int = 0
    heads: Heads | None = None
    wants_answer: int = NOBODY
    streamed: Streamed | None = None
    answer: dict[str, Any] | None = None
    status: int | None = None
    wire: RequestHops = field(default_factory=RequestHops)
    rewritten: bool = False
    answer_mime: str = ""
    answered_by: str = ""
    via: str = ""
    left: bool = False
    is_crashed: bool = False
    outer: str = ""
    inner: str = ""
    waits: set[str] = field(default_factory=set)
    later: list[Held] = field(default_factory=list)
    ended: bool = False
    is_attachment: bool = False
    is_unwitnessed: bool = False
    worker_known: bool = False
    passed_on: bool = False
    answered_at: float | None = None
    page: Request | None = None
    claim: Claim | None = None
    secrets: Secrets | None = None
    as_of: int = 0

    @property
    def wire_status(self) -> int | None:
        """The status of the present hop by the network's own message."""
        return self.wire.status(self.hop)

    @property
    def writes(self) -> bool:
        """Whether its method may change something at the server."""
        return str(self.base.get("method")).upper() not in READS

    def tell(self, held: Held) -> Iterator[CdpObservation]:
        """Tell it now, or after what waits."""
        if (
            self.heads is not None
            and held.seen.kind != "request.sent"
            and self.heads.lacks(held.hop)
        ):
            self.waits.add("headers")
        # That it left is known at once, unless a page's and a worker's may be the same one.
        is_sent = held.seen.kind == "request.sent"
        waits = bool(self.waits & {"outer", "twin"}) if is_sent else bool(self.waits)
        if waits or self.later:
            self.later.append(held)
        else:
            yield self._whole(held)

    def release(self, what: str) -> Iterator[CdpObservation]:
        """``what`` need not be waited for any longer."""
        self.waits.discard(what)
        if self.waits:
            return
        later, self.later = self.later, []
        for held in later:
            yield self._whole(held)

    def _whole(self, held: Held) -> CdpObservation:
        """The observation with the body, the headers and the answer that it waited for."""
        kind, data = held.seen
        for holder in held.holders:
            if held.carries and self.body is not None:
                holder["body"] = self.body
            if self.heads is not None:
                holder.update(self.heads.hop(held.hop).fields())
        if kind == "request.finished" and self.answer is not None:
            data["response"] = data.get("response", {}) | {"body": self.answer}
        if self.secrets is not None and self.secrets.news != self.as_of:
            return CdpObservation(kind, bodies.mask_again(data, self.secrets))
        return held.seen

    def unknown(self) -> str:
        """Which body that somebody reads, as the request ended, is not known, or not whole; "":
        none."""
        status = self.status or self.wire_status or 0
        read = (ALWAYS,) if status >= _REFUSED else (IF_TAKEN, ALWAYS)
        if self.wants_body in read and (self.body is None or "cut" in self.body):
            return f"{self.base['method']} to"
        has_answer_body = status not in _EMPTY and self.base["method"] != "HEAD"
        if self.wants_answer in read and has_answer_body and self._lacks_answer_body():
            return "the answer from"
        return ""

    def _lacks_answer_body(self) -> bool:
        """Whether the server's answer, to what a rule may want to read, is not known, or not
        whole."""
        if self.kind in PARTS or self.answered().get("cached"):
            return False
        return self.answer is None or "lost" in self.answer or "cut" in self.answer

    def about(self) -> dict[str, Any]:
        """What every observation of its end says: base, type, via, whether a cache answered."""
        return self.base | {"type": self.kind} | drop_empty({"via": self.via})

    def answered(self) -> dict[str, Any]:
        """What is known of who answered."""
        by = self.answered_by
        if not by and self.wire_status == 304 and self.status != 304:
            by = "revalidated"
        return answer_source(by)


PARTS = frozenset(
    (
        "Script Stylesheet Image Font Media Preflight Ping Manifest TextTrack Other"
        " CSPViolationReport"
    ).split()
)
"""Types of what a document is made of (an icon's is Other). A rule's address may match one, but
its body is never what a rule wants to read."""
_REFUSED = 400
READS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_EMPTY = frozenset((204, 205, 304))
STREAM = "EventSource"
CACHES = frozenset(("memory", "disk", "prefetch", "cache_storage"))


def answer_source(by: str) -> dict[str, Any]:
    """What an event says of who answered, whom ``by`` names; nothing for an empty name."""
    return drop_empty({"cached": by in CACHES, "served_from": by})


def type_of(params: RequestWillBeSent) -> str:
    """The kind of resource that `Network.requestWillBeSent` is about."""
    if params.get("initiator", {}).get("type") == "preflight":
        return "Preflight"
    return str(params.get("type", "Other"))


def base_of(session: SessionState, frame: str | None, number: str) -> dict[str, Any]:
    """Where a request belongs: what every observation of it says."""
    where = {"tab": session.tab, "frame": frame or session.root} if session.tab else {}
    return where | {"request": number}


def number_of(text: str) -> int | None:
    """A header's whole number, or None."""
    return int(text) if text.isdecimal() and len(text) < 16 else None
