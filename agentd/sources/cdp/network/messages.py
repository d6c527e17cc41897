"""Messages over WebSockets and event streams, where they are wanted: masked, cut, and bounded in
their number.

A flood is a gap of this part, and so is a connection that was open before anybody listened, whose
address nobody knows: what leans on messages is then not known, and nothing else is touched.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentd.masking import MASK
from agentd.sources.cdp.network import bodies
from agentd.sources.cdp.state.gaps import gap
from agentd.sources.cdp.state.masking import Secrets, mask_body
from agentd.sources.cdp.state.state import CdpObservation, Params, SessionState

MAX_SOCKETS = 1024
MAX_PER_SECOND = 200
"""Messages of one connection in a second of the browser's clock; more are a gap."""
MAX_MESSAGE_LENGTH = 16384
"""Bytes of a message that are kept; a longer one is marked ``cut``."""

_TEXT, _BINARY = 1, 2


@dataclass(slots=True)
class _Connection:
    base: dict[str, Any]
    second: int = -1
    told: int = 0
    lost: int = 0


class Messages:
    """The fold over the messages of one attachment's connections. ``kinds``: those that are
    wanted; ``guards``: something that must not happen is known by them."""

    def __init__(self, kinds: frozenset[str], *, guards: bool = False) -> None:
        self._guards = guards
        self._kinds = {kind for kind in kinds if kind.startswith("message.")}
        self._connections: dict[str, _Connection] = {}
        self._nameless: dict[str, SessionState] = {}
        self._flood = False

    def opened(self, number: str, base: dict[str, Any]) -> None:
        """A connection that messages can come over: ``base`` names tab, frame, request and
        address."""
        if self._kinds:
            self._connections[number] = _Connection(
                {name: base[name] for name in base if name != "method"}
            )
            if len(self._connections) > MAX_SOCKETS:
                del self._connections[next(iter(self._connections))]

    def closed(self, number: str) -> Iterator[CdpObservation]:
        """Forget a connection that is gone, and end the gap that it stood for."""
        self._connections.pop(number, None)
        if self._nameless.pop(number, None) is not None:
            yield CdpObservation("gap.ended", {"source": "cdp", "part": "message"})

    def document_gone(self, root: str) -> Iterator[CdpObservation]:
        """The document of the frame ``root`` is gone, and the connections of its session with it.
        What it sent over them as it was left is reported to nobody."""
        for number, session in list(self._nameless.items()):
            if session.root == root:
                yield from self.closed(number)
        left = [n for n, one in self._connections.items() if one.base.get("frame") == root]
        for number in left:
            del self._connections[number]
        if left and self._guards:
            yield from gap(
                ("message",),
                "a document was left with a connection open: what it may have sent then is not"
                " reported",
            )

    def fold(
        self, kind: str, session: SessionState, params: Params, secrets: Secrets
    ) -> Iterator[CdpObservation]:
        """Fold one message; ``kind``: that of the event that it becomes."""
        if kind not in self._kinds:
            return
        connection = self._connections.get(params["requestId"])
        if connection is None:
            yield from self._met(session, params["requestId"])
            connection = self._connections[params["requestId"]]
        if not self._has_room(connection, int(params.get("timestamp", 0))):
            if not self._flood:
                self._flood = True
                url = connection.base["url"][:200]
                reason = f"more than {MAX_PER_SECOND} messages a second over {url}"
                yield CdpObservation(
                    "gap.began", {"source": "cdp", "part": "message", "reason": reason}
                )
            return
        yield from self.calm(connection)
        data = _event(params, secrets) if "data" in params else _frame(params["response"], secrets)
        if data is not None:
            yield CdpObservation(kind, connection.base | data)

    def _met(self, session: SessionState, number: str) -> Iterator[CdpObservation]:
        """A connection that was open before the daemon came, and its address told before that."""
        self.opened(
            number, {"tab": session.tab, "frame": session.root, "request": number, "url": ""}
        )
        if number not in self._nameless and len(self._nameless) < MAX_SOCKETS:
            self._nameless[number] = session
            reason = (
                "a connection was open before it could be listened to: its address is not known"
            )
            yield CdpObservation(
                "gap.began", {"source": "cdp", "part": "message", "reason": reason}
            )

    def calm(self, connection: _Connection | None = None) -> Iterator[CdpObservation]:
        """End the gap of a flood: nothing was left out of late. Without ``connection``: say what
        stands at a fence."""
        if not self._flood:
            return
        connections = self._connections.values()
        if connection is not None and any(other.lost for other in connections):
            return
        self._flood = False
        for other in connections:
            other.lost = 0
        yield CdpObservation("gap.ended", {"source": "cdp", "part": "message"})

    def _has_room(self, connection: _Connection, second: int) -> bool:
        """Count a message of this second, and say whether it is one of the first
        `MAX_PER_SECOND`."""
        if second != connection.second:
            connection.second, connection.told, connection.lost = second, 0, 0
        connection.told += 1
        connection.lost += connection.told > MAX_PER_SECOND
        return connection.told <= MAX_PER_SECOND


def _frame(frame: Params, secrets: Secrets) -> dict[str, Any] | None:
    """Return a frame of a socket as a text or as bytes, masked; None for one that carries no
    message."""
    payload = str(frame.get("payloadData", ""))
    if frame.get("opcode") == _TEXT:
        return _text(payload, secrets)
    if frame.get("opcode") != _BINARY:
        return None
    try:
        raw = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return {"base64": "", "cut": True}
    return _binary(raw) if bodies.is_clean(raw, secrets) else {"text": MASK}


def _binary(raw: bytes) -> dict[str, Any]:
    """Return bytes of a message, cut to `MAX_MESSAGE_LENGTH`."""
    data: dict[str, Any] = {"base64": base64.b64encode(raw[:MAX_MESSAGE_LENGTH]).decode()}
    return data | ({"cut": True} if len(raw) > MAX_MESSAGE_LENGTH else {})


def _event(params: Params, secrets: Secrets) -> dict[str, Any]:
    """Return a message of an event stream with its name and id, where it has them."""
    about = {
        "event": str(params.get("eventName", ""))[:200],
        "id": str(params.get("eventId", ""))[:200],
    }
    return _text(str(params["data"]), secrets) | {
        name: value for name, value in about.items() if value
    }


def _text(text: str, secrets: Secrets) -> dict[str, Any]:
    """Return a text of a message, masked, then cut to `MAX_MESSAGE_LENGTH` bytes."""
    masked = mask_body(text, "", secrets).encode("utf-8", "replace")
    data: dict[str, Any] = {"text": masked[:MAX_MESSAGE_LENGTH].decode("utf-8", "ignore")}
    return data | ({"cut": True} if len(masked) > MAX_MESSAGE_LENGTH else {})
