"""What pages looked like, as rrweb's stream of events (page/visual.js): masked, cut into pieces,
and bounded.

It tells people what happened and is evidence of nothing: no rule hears it, and it gives way to what
is. What is left out is a gap of the source `visual`, which blinds nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from agentd.masking import MASK, Masker
from agentd.sources.cdp.state.state import CdpObservation

SAID = ("visual", "visual.lost")
"""What the page script says of it."""
PIECE = 192 * 1024
"""Characters of one event at most; what is longer comes in several."""
MAX_EVENT_BYTES = 5 << 20
_ADDRESSES = frozenset(
    ("href", "src", "action", "formaction", "poster", "cite", "data", "background", "xlink:href")
)
_AS_IT_IS = frozenset(
    ("_cssText", "type", "tagName", "class", "id", "publicId", "systemId", "style")
)
_VALUES = ("value", "content")
MAX_SECRETS = 10_000
"""Elements with a secret value that are known again when it changes; of more, the newest."""


class Visual:
    """The fold over the streams of one attachment. ``most``: characters of the whole episode, 0:
    nothing is kept."""

    def __init__(self, most: int, secrets: Masker) -> None:
        self._left = most
        self._secrets = secrets
        self._lost: dict[str, str] = {}
        # Stream and number of the elements whose values are secrets.
        self._hidden: dict[tuple[str, int], None] = {}
        self._full = False

    def fold(self, said: CdpObservation) -> Iterator[CdpObservation]:
        """What one word of a page becomes; ``said`` has ``tab`` and what the script said."""
        tab = str(said.data["tab"])
        if said.kind == "visual.lost":
            yield from self._lose(tab, str(said.data.get("reason"))[:200])
            return
        if self._full:
            return
        stream = str(said.data.get("stream"))[:40]
        try:
            text = orjson.dumps(
                [self._masked(one, "", stream) for one in _read(said.data.get("events"))]
            ).decode()
        except (ValueError, TypeError, RecursionError):
            # orjson writes no more than 254 levels, of which each element takes two. What follows a
            # message that is not told can't be shown, so the gap ends with the next stream.
            yield from self._lose(
                tab, "a page is too large, or nested too deeply, to be recorded", stream
            )
            return
        self._left -= len(text)
        if self._left < 0:
            self._full = True
            yield from self._lose(
                tab, "the recording of what pages look like reached its cap (--visual-max)"
            )
            return
        about = {"tab": tab, "stream": stream, "sequence": _whole(said.data.get("n"))}
        if self._lost.get(tab) not in (None, stream):
            del self._lost[tab]
            yield CdpObservation("gap.ended", {"source": "visual", "part": tab})
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        for place, piece in enumerate(pieces):
            part: dict[str, object] = (
                {"part": place, "parts": len(pieces)} if len(pieces) > 1 else {}
            )
            yield CdpObservation(
                "visual.dom_recorded",
                {**about, "sent_ms": _whole(said.data.get("now")), **part, "text": piece},
            )

    def _lose(self, tab: str, reason: str, stream: str = "") -> Iterator[CdpObservation]:
        """Begin a gap in a tab's visual record, unless one runs."""
        if tab not in self._lost:
            self._lost[tab] = stream
            yield CdpObservation("gap.began", {"source": "visual", "part": tab, "reason": reason})

    def _masked(self, value: object, name: str, stream: str) -> object:
        """Mask a value of the record by what it is: an address, a text, an element, or a list of
        them."""
        if isinstance(value, str):
            if name in _ADDRESSES:
                return self._secrets.mask_url(value)
            return value if name in _AS_IT_IS else self._secrets.mask_text(value)
        if isinstance(value, list):
            return [self._masked(one, name, stream) for one in value]
        if isinstance(value, dict):
            value = self._element(value, (stream, _whole(value.get("id"))))
            return {key: self._masked(one, key, stream) for key, one in value.items()}
        return value

    def _element(self, node: dict[str, object], number: tuple[str, int]) -> dict[str, object]:
        """An element, or what became of one: without a hidden field's value and what stands under a
        telling name."""
        attributes = node.get("attributes")
        if isinstance(attributes, dict):
            hides = number in self._hidden or self._hides(attributes)
            if hides and number[1]:
                self._remember_hidden(number)
            return node | {"attributes": self._mask_attributes(attributes, hides=hides)}
        if number in self._hidden and node.get("text"):
            return node | {"text": MASK}
        return node

    def _remember_hidden(self, number: tuple[str, int]) -> None:
        """Remember an element whose text is hidden; of too many the oldest is let go."""
        self._hidden[number] = None
        if len(self._hidden) > MAX_SECRETS:
            del self._hidden[next(iter(self._hidden))]

    def _mask_attributes(self, attributes: dict[str, object], *, hides: bool) -> dict[str, object]:
        """Mask what stands under a telling name; with ``hides`` the element's value too."""
        texts = {key for key, value in attributes.items() if isinstance(value, str) and value}
        secret = {key for key in texts if self._secrets.is_secret_name(key)}
        if hides:
            secret |= texts.intersection(_VALUES)
        return attributes | dict.fromkeys(secret, MASK)

    def _hides(self, attributes: dict[str, object]) -> bool:
        """Whether an element's attributes say that its value is nobody's business."""
        names = [str(attributes[key]) for key in ("name", "id", "property") if key in attributes]
        return attributes.get("type") == "hidden" or any(
            self._secrets.is_secret(name, "") for name in names
        )


def _read(text: Any) -> list[Any]:
    """The events of one message. Raises `ValueError` or `RecursionError` where it is none."""
    if not isinstance(text, str) or len(text) > MAX_EVENT_BYTES:
        raise ValueError("no message")
    try:
        events = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Half a character, which orjson refuses.
        events = orjson.loads(
            json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        )
    if not isinstance(events, list):
        raise ValueError("no list of events")
    return events


def _whole(value: object) -> int:
    """Return a whole number that JSON can hold exactly, 0 for anything else."""
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
