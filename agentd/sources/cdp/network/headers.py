"""Headers of a request and of its answers, hop by hop: only those that the plan names, masked.

The real ones (cookies, authorization) come in messages of their own, earlier or later than the
request's own messages, one for each hop, in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agentd.sources.cdp.state.masking import Secrets
from agentd.sources.cdp.state.protocol import Headers
from detectors.model.optional_values import drop_empty

MAX_HEADER_LENGTH = 4096
MAX_HEADERS = 200


@dataclass(slots=True)
class Hop:
    """The headers of one hop; ``due``: its real ones are still to come."""

    sent: dict[str, str] = field(default_factory=dict)
    answer: dict[str, str] = field(default_factory=dict)
    due: bool = False

    def fields(self) -> dict[str, Any]:
        """What an event says of them: {headers?, answer?: {headers}}."""
        response = drop_empty({"headers": self.answer})
        return drop_empty({"headers": self.sent, "response": response})


@dataclass(slots=True)
class Heads:
    """The headers of one request. ``sent`` and ``answered`` count the messages with real headers
    that came."""

    hops: list[Hop] = field(default_factory=list)
    sent: int = 0
    answered: int = 0

    def hop(self, number: int) -> Hop:
        """Hop ``number``; it may be asked for before it is known."""
        while len(self.hops) <= number:
            self.hops.append(Hop())
        return self.hops[number]

    def real(self, headers: dict[str, str], *, answer: bool) -> None:
        """Real headers came: those of the next hop that lacks them."""
        if answer:
            self.hop(self.answered).answer = headers
            self.answered += 1
        else:
            self.hop(self.sent).sent = headers
            self.sent += 1

    def lacks(self, number: int) -> bool:
        """Whether the real headers of hop ``number`` are due and not there."""
        return self.hop(number).due and not (self.sent > number and self.answered > number)


def select_headers(
    headers: Headers, names: frozenset[str] | None, secrets: Secrets
) -> dict[str, str]:
    """The wanted ``headers``, names in lower case, values masked and cut; ``names`` None: all."""
    if names is not None and not names:
        return {}
    return dict(_selected(headers.items(), names, secrets))


def _selected(
    items: Iterable[tuple[str, object]], names: frozenset[str] | None, secrets: Secrets
) -> Iterable[tuple[str, str]]:
    """Yield the headers that are asked for, masked and cut, up to `MAX_HEADERS`; names in lower
    case."""
    found = 0
    for name, value in items:
        low = name.lower()
        if low.startswith(":") or (names is not None and low not in names):
            continue
        found += 1
        if found > MAX_HEADERS:
            return
        yield low, secrets.mask_header(low, str(value))[:MAX_HEADER_LENGTH]


def header(headers: Headers, name: str) -> str:
    """One header's value, whatever the case of its name; "" where it is missing."""
    return next((str(value) for key, value in headers.items() if key.lower() == name), "")
