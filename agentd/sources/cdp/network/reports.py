"""Reports that the browser itself posts for a page by the Reporting API (`Reporting-Endpoints`),
of a policy that was violated, say: minutes later, and told by no session. The browser says which
reports it queues; what became of one has no status, so the server may have taken it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agentd.sources.cdp.network.requests import base_of
from agentd.sources.cdp.state.gaps import REQUESTS, gap
from agentd.sources.cdp.state.protocol import EndpointsChanged, ReportAdded
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Handler,
    SessionState,
    remember,
)
from detectors.matchers.url import parse_url

TYPE = "Report"
MAX_ORIGINS, MAX_ADDRESSES, MAX_REPORTS = 256, 16, 1024
_ERROR = "a report's answer is not told"
_FORGOTTEN = "the browser posts a report to one of more addresses than are kept"
_Groups = dict[str, tuple[str, ...]]


class Reports:
    """The fold over the browser's messages about them; every page of a site hears of each."""

    def __init__(self) -> None:
        self._endpoints: dict[str, _Groups] = {}
        """Origin → group → its addresses: each document of an origin has groups of its own, and
        the browser does not say to whose a report belongs."""
        self._has_forgotten = False
        self._reported: dict[str, None] = {}

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handler of each of the browser's messages by its name."""
        return {
            "Network.reportingApiEndpointsChangedForOrigin": self._handle_endpoints,
            "Network.reportingApiReportAdded": self._handle_added,
        }

    def _handle_endpoints(
        self, _browser: BrowserState, _session: SessionState, params: EndpointsChanged
    ) -> Iterable[CdpObservation]:
        """Keep the addresses that an origin names, beside those that it named before."""
        origin = params["origin"]
        groups = dict(self._endpoints.get(origin, {}))
        for one in params["endpoints"]:
            known = groups.get(one["groupName"], ())
            if one["url"] not in known:
                groups[one["groupName"]] = (*known, one["url"])
        is_too_many = sum(map(len, groups.values())) > MAX_ADDRESSES
        if is_too_many:
            groups = {}
        is_full = len(self._endpoints) == MAX_ORIGINS and origin not in self._endpoints
        self._has_forgotten |= is_full or is_too_many
        remember(self._endpoints, origin, groups, MAX_ORIGINS)
        return ()

    def _handle_added(
        self, browser: BrowserState, session: SessionState, params: ReportAdded
    ) -> Iterator[CdpObservation]:
        """Report a request to each address to which a report may be posted; a gap where some of
        them may have been forgotten."""
        report = params["report"]
        origin = parse_url(report["initiatorUrl"])
        groups = {} if origin is None else self._endpoints.get(origin.origin, {})
        addresses = groups.get(report["destination"], ())
        is_unsent = not addresses and not self._has_forgotten
        if is_unsent or report["id"] in self._reported:
            return
        remember(self._reported, report["id"], None, MAX_REPORTS)
        if self._has_forgotten:
            yield from gap(REQUESTS, _FORGOTTEN)
        for n, url in enumerate(addresses):
            base = base_of(session, None, f"report-{report['id']}-{n}") | {
                "method": "POST",
                "url": browser.secrets.mask_url(url),
                "type": TYPE,
            }
            yield CdpObservation("request.sent", base)
            yield CdpObservation("request.failed", base | {"error": _ERROR, "sent": True})
