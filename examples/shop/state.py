"""What the shop remembers, in memory: a cart and a log-in per session cookie, and the orders.

Numbers count up from fixed starts, so that two runs of one script leave two equal shops.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class Order:
    """One accepted order; ``lines`` are (slug, pieces)."""

    number: int
    session: str
    name: str
    email: str
    address: str
    lines: list[tuple[str, int]]
    delivery: str
    cancelled: bool = False


@dataclass
class Session:
    """One visitor. ``views`` counts the pages seen; whoever waits for the next one waits on
    ``viewed``."""

    id: str
    cart: list[str] = field(default_factory=list)
    email: str = ""
    views: int = 0
    viewed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def saw_page(self) -> None:
        """Count a page view and tell those who wait for it."""
        async with self.viewed:
            self.views += 1
            self.viewed.notify_all()

    async def views_reach(self, wanted: int, at_most_s: float) -> None:
        """Wait until this visitor has seen ``wanted`` pages, but not longer than ``at_most_s``
        seconds."""
        try:
            async with asyncio.timeout(at_most_s), self.viewed:
                await self.viewed.wait_for(lambda: self.views >= wanted)
        except TimeoutError:
            return


@dataclass
class Shop:
    """The whole shop. ``invoice_after``: how many page views later a CSV invoice is finished;
    ``other_host``: its other name, to the browser another site; empty: loopback's."""

    invoice_after: int = 0
    other_host: str = ""
    sessions: dict[str, Session] = field(default_factory=dict)
    orders: dict[int, Order] = field(default_factory=dict)

    def session(self, cookie: str | None) -> Session:
        """The session of a cookie; a new one where there is none that the shop knows."""
        if cookie in self.sessions:
            return self.sessions[cookie]
        new = Session(f"s{len(self.sessions) + 1}")
        self.sessions[new.id] = new
        return new

    def place(self, session: Session, fields: dict[str, str]) -> Order:
        """Turn the session's cart into an order; the fields must have been checked."""
        pieces = int(fields["quantity"])
        order = Order(
            1001 + len(self.orders),
            session.id,
            fields["name"].strip(),
            fields["email"].strip(),
            fields["address"].strip(),
            [(slug, pieces) for slug in session.cart],
            fields.get("delivery", "standard"),
        )
        self.orders[order.number] = order
        session.cart.clear()
        return order
