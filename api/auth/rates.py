"""How fast one token may call and append, and one tenant have drafts written: a token bucket each,
kept as one number.

Of a bucket only the moment is kept at which it will be full again (the generic cell rate algorithm,
ITU-T I.371). An answer is due while that moment lies less than the burst ahead. What is asked is
always granted whole: a segment larger than the bucket leaves a debt, and the next one waits until
it is paid.

Buckets are this process's own. `limits` (PyPI) counts in Redis, Memcached or MongoDB, none of which
is here, and has no token bucket; a count shared in the database would cost each request a write. So
n replicas grant n times the rate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from api.auth.store import Principal
from api.core.errors import TooManyError
from api.core.settings import Limits

_SWEPT = 10_000
HOUR_S = 3_600


class Buckets:
    """One bucket a name, all holding ``burst_s`` seconds' worth."""

    def __init__(self, burst_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst_s, self._clock = burst_s, clock
        self._full_at: dict[str, float] = {}

    def wait(self, name: str) -> float:
        """Seconds until the bucket grants again; 0: now."""
        return max(0.0, self._full_at.get(name, 0.0) - self._clock() - self._burst_s)

    def take(self, name: str, amount: float, per_s: float) -> None:
        """Take ``amount`` of what refills at ``per_s``."""
        now = self._clock()
        if len(self._full_at) >= _SWEPT and name not in self._full_at:
            self._full_at = {kept: at for kept, at in self._full_at.items() if at > now}
        self._full_at[name] = max(self._full_at.get(name, 0.0), now) + amount / per_s


class Rates:
    """The rates of one process's callers; a rate of 0 is none."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._requests = Buckets(limits.burst_s, clock)
        self._bytes = Buckets(limits.burst_s, clock)
        # An hour's worth, less half of one: that a clock is exact does not matter.
        self._drafts = Buckets(HOUR_S * (1 - 0.5 / max(1, limits.drafts_per_hour)), clock)

    def request(self, who: Principal) -> None:
        """Count one request of the token. Raises `TooManyError` where it is over its rate."""
        rate = self._limits.requests_per_s if who.requests_per_s is None else who.requests_per_s
        if rate:
            _refuse_after(
                self._requests.wait(who.id),
                f"requests: more than {rate:g} a second with this token",
            )
            self._requests.take(who.id, 1, rate)

    def draft(self, tenant: str) -> None:
        """Count a draft that the judge's endpoint is asked for. Raises `TooManyError` where the
        tenant has asked for an hour's worth."""
        rate = self._limits.drafts_per_hour
        if rate:
            _refuse_after(self._drafts.wait(tenant), f"draft: more than {rate} an hour of a tenant")
            self._drafts.take(tenant, 1, rate / HOUR_S)

    def may_append(self, who: Principal) -> None:
        """Raises `TooManyError` while bytes that were appended are still to be paid off."""
        rate = self._limits.bytes_per_s
        _refuse_after(
            self._bytes.wait(who.id),
            f"body: more than {rate:g} bytes a second appended with this token",
        )

    def appended(self, who: Principal, size: int) -> None:
        """Count ``size`` bytes that the token appended."""
        if self._limits.bytes_per_s:
            self._bytes.take(who.id, size, self._limits.bytes_per_s)


def _refuse_after(seconds: float, said: str) -> None:
    """Raise `TooManyError` where a token has to wait before it may ask again."""
    if seconds > 0:
        raise TooManyError(
            f"{said}; wanted {seconds:.3g} seconds of none", max(1, math.ceil(seconds))
        )
