"""The requests on their way, by the browser's number for each, and the bodies that have to be
fetched for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agentd.sources.cdp.network.requests import Request
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.state import CdpObservation, SessionState

MAX_REQUESTS = 4096
POST_DATA = "Network.getRequestPostData"
RESPONSE_BODY = "Network.getResponseBody"


class Missing(NamedTuple):
    """A body that has to be fetched: the reply comes in as a message named after ``command``."""

    session: SessionState
    command: str
    number: str


class RequestTable:
    """Every request that is not over, or of which something waits. ``plan``: what is kept beside
    method, address and status; ``live``: somebody asks the browser for bodies, so that one that is
    wanted and not there is a gap."""

    def __init__(self, plan: CapturePlan, *, live: bool) -> None:
        self.plan = plan
        self.live = live
        self.has_wire = False
        """Whether the network service itself told of any request."""
        self.requests: dict[str, Request] = {}
        self._missing: list[Missing] = []

    def get(self, number: str) -> Request | None:
        """The request of that number, None where it is over or unknown."""
        return self.requests.get(number)

    def items(self) -> list[tuple[str, Request]]:
        """Every number and request, as they are now."""
        return list(self.requests.items())

    def add(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """Keep a new request; the oldest gives way to it where there are too many."""
        self.requests[number] = request
        if len(self.requests) <= MAX_REQUESTS:
            return
        oldest = self.requests.pop(next(iter(self.requests)))
        oldest.waits.clear()
        yield from oldest.release("")
        yield from self._report_unknown_body(oldest)
        if not oldest.ended and not oldest.left:
            yield from gap(
                REQUESTS,
                f"more than {MAX_REQUESTS} requests on their way: the end of one is not known",
            )

    def forget(self, number: str) -> None:
        """Drop a request that is another one's; nothing is fetched for it any more."""
        del self.requests[number]
        self._missing = [missing for missing in self._missing if missing.number != number]

    def replace(self, number: str) -> None:
        """Drop a request that another one stands in for; the body of its answer may still be
        fetched."""
        del self.requests[number]
        self._missing = [
            missing
            for missing in self._missing
            if missing.command != POST_DATA or missing.number != number
        ]

    def release(self, number: str, request: Request, what: str) -> Iterator[CdpObservation]:
        """Report what waited for ``what`` alone, and drop the request where it is over."""
        yield from request.release(what)
        if request.ended and not request.waits:
            yield from self.drop(number, request)

    def drop(self, number: str, request: Request) -> Iterator[CdpObservation]:
        """The request is over, and all that concerns it has been reported."""
        if self.requests.pop(number, None) is not None:
            yield from self._report_unknown_body(request)

    def fetch(self, session: SessionState, command: str, number: str) -> None:
        """Have a body fetched by ``command``."""
        self._missing.append(Missing(session, command, number))

    def take_missing(self) -> list[Missing]:
        """The bodies that have to be fetched since this was last called."""
        missing, self._missing = self._missing, []
        return missing

    def drop_missing_of(self, session: SessionState) -> None:
        """Nothing more can be fetched from a session that is gone."""
        self._missing = [missing for missing in self._missing if missing.session is not session]

    def _report_unknown_body(self, request: Request) -> Iterator[CdpObservation]:
        """A body that a rule asked for and nobody knows is not one that lacks what the rule
        wants."""
        if self.live and (what := request.unknown()):
            yield from gap(
                REQUESTS,
                f"the body of {what} {request.base['url'][:200]} is not known, or not whole",
            )
