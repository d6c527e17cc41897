"""HTTP authentication that a server asked for and did not get, from the answer's own headers:
nothing is answered.

While the browser's login prompt stands, and where the agent's own handler gives the password,
Chromium tells nobody of the 401: then there is no challenge to see, only the answer that came in
the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentd.sources.cdp.network.headers import header
from agentd.sources.cdp.state.protocol import ResponseData
from agentd.sources.cdp.state.state import CdpObservation
from detectors.model.optional_values import pick_keys

_SCHEME = re.compile(r"^\s*([A-Za-z][A-Za-z0-9-]*)")
_REALM = re.compile(r'\brealm\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))', re.IGNORECASE)
_ASKS = {401: "www-authenticate", 407: "proxy-authenticate"}
MAX_REALM_LENGTH = 200


def emit_challenge(base: dict[str, Any], answer: ResponseData) -> Iterator[CdpObservation]:
    """The challenge in ``answer`` (`Network.Response`) to the request of ``base``, if there is
    one."""
    text = header(answer.get("headers", {}), _ASKS.get(answer["status"], ""))
    found = _SCHEME.match(text)
    if found is None:
        return
    data: dict[str, Any] = pick_keys(base, ("tab", "frame", "request", "url"))
    data["scheme"] = found[1].lower()
    if realm := _REALM.search(text):
        data["realm"] = re.sub(r"\\(.)", r"\1", realm[1] if realm[1] is not None else realm[2])[
            :MAX_REALM_LENGTH
        ]
    yield CdpObservation("auth.challenged", data)
