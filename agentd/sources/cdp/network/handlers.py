"""What a handler of one kind of DevTools message is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agentd.sources.cdp.state.state import BrowserState, CdpObservation, SessionState

Handler = Callable[[BrowserState, SessionState, Any], Iterable[CdpObservation]]
"""Takes the message's parameters (a TypedDict of protocol.py) and gives what is seen in them."""
