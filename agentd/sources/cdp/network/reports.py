"""Reports that the browser itself posts for a page by the Reporting API (`Reporting-Endpoints`),
of a policy that was violated, say: minutes later, and told by no session. The browser says which
reports it queues; what became of one has no status, so the server may have taken it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agentd.sources.cdp.network.requests import base_of
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
MAX_ORIGINS, MAX_REPORTS = 256, 1024
_ERROR = "a report's answer is not told"


class Reports:
    """The fold over the browser's messages about them; every page of a site hears of each."""

    def __init__(self) -> None:
        self._endpoints: dict[str, dict[str, str]] = {}  # origin → group → address
        self._reported: dict[str, None] = {}

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each of the browser's messages."""
        return {
            "Network.reportingApiEndpointsChangedForOrigin": self._handle_endpoints,
            "Network.reportingApiReportAdded": self._handle_added,
        }

    def _handle_endpoints(
        self, _browser: BrowserState, _session: SessionState, params: EndpointsChanged
    ) -> Iterable[CdpObservation]:
        known = self._endpoints.get(params["origin"], {})
        groups = known | {one["groupName"]: one["url"] for one in params["endpoints"]}
        remember(self._endpoints, params["origin"], groups, MAX_ORIGINS)
        return ()

    def _handle_added(
        self, browser: BrowserState, session: SessionState, params: ReportAdded
    ) -> Iterator[CdpObservation]:
        report = params["report"]
        origin = parse_url(report["initiatorUrl"])
        groups = {} if origin is None else self._endpoints.get(origin.origin, {})
        url = groups.get(report["destination"])
        if url is None or report["id"] in self._reported:
            return
        remember(self._reported, report["id"], None, MAX_REPORTS)
        base = base_of(session, None, f"report-{report['id']}") | {
            "method": "POST",
            "url": browser.secrets.mask_url(url),
            "type": TYPE,
        }
        yield CdpObservation("request.sent", base)
        yield CdpObservation("request.failed", base | {"error": _ERROR, "sent": True})
