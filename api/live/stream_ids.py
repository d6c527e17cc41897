"""Ids of the stream of all episodes: sealed, because they name a place among the segments of all
tenants.

A plain number would tell each tenant how much the others write: by the difference of two ids of its
own, and by every id that tells how far the stream is.
"""

from __future__ import annotations

import base64
import binascii
import struct
from secrets import randbelow

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from api.log.arrivals import LogPlace

BEYOND_EVENTS = 2**62
"""Event numbers are lower; `StreamIds.of_place` draws from here on."""
_NUMBERS = struct.Struct(">qqq")
_LETTERS = 64
"""Of an id: 24 bytes of numbers and a tag of 16, in base 32."""


class StreamIds:
    """The ids that one installation gives. ``key``: 64 secret bytes that all replicas share."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def of_event(self, tenant: str, place: LogPlace, seq: int) -> bytes:
        """Seal the id of event ``seq`` in the segment at ``place``: the same event, the same id."""
        sealed = self._cipher.encrypt(_NUMBERS.pack(*place, seq), [tenant.encode()])
        return base64.b32encode(sealed).lower()

    def of_place(self, tenant: str, place: LogPlace) -> bytes:
        """Seal the id of a place behind all its events: another one each time, so that nobody sees
        whether the place is still the same."""
        return self.of_event(tenant, place, BEYOND_EVENTS + randbelow(BEYOND_EVENTS))

    def read(self, tenant: str, id: str) -> tuple[LogPlace, int]:
        """Open an id: the place and the event number in it. Raises `ValueError` for one that was
        never given to the tenant."""
        if len(id) != _LETTERS or not id.isascii() or id != id.lower():
            raise ValueError("an id of another form")
        try:
            opened = self._cipher.decrypt(base64.b32decode(id.upper()), [tenant.encode()])
        except (InvalidTag, binascii.Error):
            raise ValueError("an id that nobody gave") from None
        xact, position, seq = _NUMBERS.unpack(opened)
        return LogPlace(xact, position), seq
