"""A shop that keeps books: which orders it took, what it deleted, which receipts it showed. It
believes no page."""

from __future__ import annotations

import json
import threading
from urllib.parse import parse_qs

from tests.cdp.site import Answer, Asked, Site

HTML = (("content-type", "text/html; charset=utf-8"),)
EVENTS = (("content-type", "text/event-stream"),)
ITEM = "lamp"
SLOWLY_S = 5.0
"""How long the server takes for an answer that nobody waits for, in seconds."""


class Shop:
    """A `Site` whose server takes orders at POST /orders and deletes everything at POST
    /delete*."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.orders: list[str] = []
        self.deletions = 0
        self._never = threading.Event()
        self.receipts = 0
        site.page("/orders", self._order)
        site.page("/orders/1", self._receipt)
        site.page("/ok", Answer("fine"))
        site.page("/moved", Answer(status=302, headers=(("location", "/error"),)))
        site.page("/error", "<title>error</title>Something went wrong")
        site.page("/broken", Answer("broken", status=500))
        site.page("/delete", self._delete(Answer("gone", headers=HTML)))
        site.page("/delete-slowly", self._delete_slowly)
        site.page("/flood", Answer("data: x\n\n" * 60_000, headers=EVENTS))
        site.page("/delete-nothing-to-say", self._delete(Answer("", status=204, headers=())))
        attachment = (
            ("content-type", "text/csv"),
            ("content-disposition", "attachment; filename=deleted.csv"),
        )
        site.page("/delete-attachment", self._delete(Answer("id\n1\n", headers=attachment)))
        site.page("/delete-without-an-answer", self._delete(Answer("", lacks=1_000)))
        site.page(
            "/delete-redirect", self._delete(Answer(status=303, headers=(("location", "/ok"),)))
        )

    def _order(self, asked: Asked) -> Answer:
        if asked.method != "POST":
            return Answer("<title>orders</title>no orders")
        if not asked.headers.get("host", "").startswith("127.0.0.1"):
            return Answer("another shop", headers=HTML)
        if item_of(asked) != ITEM:
            return Answer("no such item", status=422)
        self.orders.append(ITEM)
        return Answer(status=303, headers=(("location", "/orders/1"),))

    def _receipt(self, asked: Asked) -> Answer:
        if not self.orders:
            return Answer("<title>no such order</title>", status=404)
        self.receipts += 1
        return Answer("<title>order 1</title>Your lamp is on its way")

    def _delete_slowly(self, asked: Asked) -> Answer:
        if asked.method == "POST":
            self.deletions += 1
            self._never.wait(SLOWLY_S)
        return Answer("gone", headers=HTML)

    def _delete(self, answer: Answer):  # type: ignore[no-untyped-def]
        def handle(asked: Asked) -> Answer:
            if asked.method == "POST":
                self.deletions += 1
            return answer

        return handle


def item_of(asked: Asked) -> str | None:
    """The item that is ordered; of a repeated field the last, as most frameworks have it; of
    text/plain none."""
    kind = asked.headers.get("content-type", "").partition(";")[0]
    text = asked.body.decode("utf-8", "replace")
    if kind == "application/x-www-form-urlencoded":
        return parse_qs(text).get("item", [None])[-1]
    if kind == "application/json":
        item = json.loads(text).get("item")
        return item if isinstance(item, str) else None
    return None
