"""Requests that really go to a loopback server, told as Chromium tells them, folded as the daemon
folds them."""

from __future__ import annotations

import http.client
import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from detectors.task.ruleset import Ruleset
from tests.support.logs import Said


class Browser:
    """One tab; each request is sent, answered, and told by the daemon's own fold under the task's
    plan."""

    def __init__(self, rules: Ruleset) -> None:
        self._fold = Normaliser("s", "tab", CapturePlan.from_plan(rules.plan("ep")))
        self._numbers = itertools.count(1)
        about = {"targetId": "tab", "type": "page", "url": "", "title": ""}
        list(
            self._fold.feed("", "Target.attachedToTarget", {"sessionId": "s", "targetInfo": about})
        )

    def asks(
        self, method: str, url: str, body: bytes | None = None, mime: str = "application/json"
    ) -> list[Said]:
        """What is told of a request that a server answers."""
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            connection.request(method, parts.path, body, {"Content-Type": mime})
            answer = connection.getresponse()
            answer.read()
        finally:
            connection.close()
        return self.told(method, url, body, answer.status, mime)

    def told(
        self,
        method: str,
        url: str,
        body: bytes | None,
        status: int | None,
        mime: str = "application/json",
    ) -> list[Said]:
        """What is told of a request with this answer; None: it was cancelled."""
        number = str(next(self._numbers))
        request: dict[str, Any] = {"url": url, "method": method, "headers": {"Content-Type": mime}}
        if body is not None:
            request |= {"hasPostData": True, "postData": body.decode()}
        base = {
            "requestId": number,
            "loaderId": "l",
            "frameId": "tab",
            "type": "Fetch",
            "timestamp": 1.0,
        }
        messages: list[tuple[str, dict[str, Any]]] = [
            (
                "Network.requestWillBeSent",
                {**base, "request": request, "documentURL": url, "initiator": {}},
            )
        ]
        if status is None:
            messages.append(
                (
                    "Network.loadingFailed",
                    {**base, "errorText": "net::ERR_ABORTED", "canceled": True},
                )
            )
        else:
            response = {"url": url, "status": status, "headers": {}, "mimeType": "application/json"}
            messages.append(("Network.responseReceived", {**base, "response": response}))
            messages.append(("Network.loadingFinished", {**base, "encodedDataLength": 15}))
        return list(self._folded(messages))

    def _folded(self, messages: list[tuple[str, dict[str, Any]]]) -> Iterator[Said]:
        for method, params in messages:
            for seen in self._fold.feed("s", method, params):
                yield seen.kind, dict(seen.data)
