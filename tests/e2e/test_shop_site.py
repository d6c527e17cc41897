"""The shop itself, asked over HTTP: what the other tests lean on is what it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lab.demo.parts import start_shop
from lab.demo.processes import DemoProcesses

FIELDS = {
    "name": "Ada",
    "email": "ada@example.org",
    "address": "12 Square",
    "quantity": "2",
    "terms": "on",
}


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[httpx.Client]:
    with DemoProcesses(tmp_path / "logs") as parts:
        url = start_shop(parts, tmp_path / "shop", 0)
        with httpx.Client(base_url=url) as client:
            yield client


def _order(visitor: httpx.Client, slug: str, **changed: str) -> httpx.Response:
    visitor.post("/cart", data={"product": slug})
    return visitor.post("/orders", data={**FIELDS, **changed})


@pytest.mark.parametrize("field", list(FIELDS))
def test_each_field_of_an_order_is_needed_and_its_lack_is_said(
    visitor: httpx.Client, field: str
) -> None:
    refused = _order(visitor, "lamp", **{field: ""})
    assert refused.status_code == 422
    assert refused.text.count('class="wrong"') == 1


def test_an_accepted_order_has_a_page_and_two_invoices(visitor: httpx.Client) -> None:
    accepted = _order(visitor, "lamp")
    assert (accepted.status_code, accepted.headers["location"]) == (303, "/orders/1001")
    assert "Your order is confirmed." in visitor.get("/orders/1001").text
    csv = visitor.get("/orders/1001/invoice.csv")
    assert csv.headers["content-disposition"] == 'attachment; filename="invoice-1001.csv"'
    assert csv.text.splitlines() == [
        "order,article,pieces,cents",
        "1001,Desk lamp,2,7800",
        "1001,total,,7800",
    ]
    pdf = visitor.get("/orders/1001/invoice.pdf").content
    start = int(pdf.rsplit(b"startxref\n", 1)[1].split()[0])
    assert pdf.startswith(b"%PDF-1.4")
    assert pdf[start : start + 4] == b"xref"


def test_two_articles_are_there_to_fail(visitor: httpx.Client) -> None:
    assert _order(visitor, "vase").headers["location"] == "/sorry"
    visitor.post("/cart/remove", data={"product": "vase"})
    assert _order(visitor, "clock").status_code == 500


def test_visitors_do_not_share_a_cart(visitor: httpx.Client) -> None:
    visitor.post("/cart", data={"product": "lamp"})
    assert "Desk lamp" in visitor.get("/cart").text
    assert "empty" in httpx.get(f"{visitor.base_url}cart").text


def test_the_access_log_says_who_asked_for_what_and_no_times(
    visitor: httpx.Client, tmp_path: Path
) -> None:
    visitor.get("/search", params={"q": "lamp"})
    lines = (tmp_path / "shop" / "access.jsonl").read_text().splitlines()
    assert json.loads(lines[-1]) == {
        "method": "GET",
        "host": "127.0.0.1",
        "path": "/search?q=lamp",
        "status": 200,
    }
