"""Requests that outlive their document, and those whose page is gone: none is left open for
ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Answer, Asked, Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

SEND = """fetch('/slow?keep', {method: 'POST', body: 'k', keepalive: true}).catch(() => 0);
    navigator.sendBeacon('/slow?beacon', 'b'); 0"""


@pytest.fixture
def slow(site: Site) -> Iterator[Any]:
    """Answers at /slow wait until this is set."""
    go = threading.Event()

    def answer(asked: Asked) -> Answer:
        go.wait(20)
        return Answer("late", status=201)

    site.page("/slow", answer)
    yield go
    go.set()


@pytest.mark.parametrize("other", [False, True], ids=["same site", "another site"])
async def test_a_beacon_is_answered_after_its_page_was_left(
    browser: Chromium, page: Page, site: Site, slow: threading.Event, other: bool
) -> None:
    site.page("/next", "<title>next</title>")
    async with watching(browser, {"request_bodies": ["/slow"], "origin": site.url}) as watch:
        await page.goto(site.url)
        await page.evaluate(SEND)
        await watch.one("request.sent", url=site.url + "/slow?beacon")
        await watch.one("request.sent", url=site.url + "/slow?keep")
        await page.goto((site.other if other else site.url) + "/next")
        await watch.one("page.navigated", url=(site.other if other else site.url) + "/next")
        slow.set()
        beacon = await watch.one("request.finished", url=site.url + "/slow?beacon")
        keep = await watch.one("request.finished", url=site.url + "/slow?keep")
    assert (beacon["status"], beacon["document_gone"], beacon["type"], beacon["body"]["text"]) == (
        201,
        True,
        "Ping",
        "b",
    )
    assert (keep["status"], keep["document_gone"], keep["method"], keep["body"]["text"]) == (
        201,
        True,
        "POST",
        "k",
    )


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        (Answer('{"status":"accepted"}'), "location = '/done'"),
        (Answer("x" * 300_000), "location = '/done'"),
        (Answer("", status=204), "location = '/done'"),
        (Answer("", status=201), "location.reload()"),
    ],
    ids=["text", "long", "nothing", "reload"],
)
async def test_what_the_server_took_is_finished_though_its_page_leaves_at_once(
    browser: Chromium, page: Page, site: Site, answer: Answer, then: str
) -> None:
    site.page("/done", "<title>done</title>")
    site.page("/api", answer)
    url = site.page("/form", f"""<button onclick="fetch('/api', {{method: 'POST', body: 'a=1'}}).then((r) => {{
        if (r.ok) {then} }})">Save</button>""")  # fmt: skip
    async with watching(browser, {"request_bodies": ["/api"], "origin": site.url}) as watch:
        await page.goto(url)
        await page.click("button")
        finished = await watch.one("request.finished", url=site.url + "/api")
        assert not watch.all("request.failed", url=site.url + "/api")
    assert (finished["status"], finished["body"]["text"]) == (answer.status, "a=1")
    assert finished.get("document_gone", True) is True


@pytest.mark.parametrize("read", ["r.ok", "await r.json()"])
async def test_a_wanted_body_is_told_or_a_gap_though_its_page_leaves_at_once(
    browser: Chromium, page: Page, site: Site, read: str
) -> None:
    """It is lost where the page is left before it has read the answer, as on a busy machine: from
    then on the browser has it nowhere. It is never told in part, nor lost without a word."""

    def answer(asked: Asked) -> Answer:
        time.sleep(0.2)  # fixed: a server that takes its time
        return Answer('{"status":"accepted"}', headers=(("content-type", "application/json"),))

    site.page("/done", "<title>done</title>")
    site.page("/api", answer)
    url = site.page("/form", f"""<button onclick="fetch('/api', {{method: 'POST'}}).then(async (r) => {{
        if ({read}) location = '/done' }})">Save</button>""")  # fmt: skip
    async with watching(browser, {"response_bodies": ["/api"], "origin": site.url}) as watch:
        await page.goto(url)
        await page.click("button")
        finished = await watch.one("request.finished", url=site.url + "/api")
        await watch.one("page.navigated", url=site.url + "/done")
        is_gap = bool(watch.all("gap.began", part="request"))
    body = finished["response"]["body"]
    whole = {"text": '{"status":"accepted"}', "mime": "application/json"}
    assert (body, is_gap) in ((whole, False), ({"lost": True}, True))
    assert (finished["status"], finished.get("document_gone", True)) == (200, True)


async def test_a_closed_tab_leaves_no_request_open(
    browser: Chromium, page: Page, site: Site, slow: threading.Event
) -> None:
    async with watching(browser) as watch:
        popup = await page.context.new_page()
        await popup.goto(site.url)
        await popup.evaluate("fetch('/slow?plain').catch(() => 0); 0")
        await watch.one("request.sent", url=site.url + "/slow?plain")
        await popup.close()
        failed = await watch.one("request.failed", url=site.url + "/slow?plain")
        assert failed["error"]
        assert watch.source._live is not None
        assert failed["request"] not in watch.source._live.normaliser.network.table.requests


async def test_a_removed_frames_requests_are_told_to_the_end(
    browser: Chromium, page: Page, site: Site, slow: threading.Event
) -> None:
    site.page("/inner", "<title>inner</title>")
    url = site.page("/", f"<iframe src='{site.other}/inner'></iframe>")
    async with watching(browser) as watch:
        await page.goto(url)
        frame = await watch.one("page.navigated", url=site.other + "/inner")
        inner = next(one for one in page.frames if one.url.endswith("/inner"))
        await inner.evaluate("fetch('/slow?inner').catch(() => 0); 0")
        sent = await watch.one("request.sent", url=site.other + "/slow?inner")
        await page.evaluate("document.querySelector('iframe').remove()")
        failed = await watch.one("request.failed", url=site.other + "/slow?inner")
    assert sent["frame"] == failed["frame"] == frame["frame"]
    assert sent["tab"] == frame["tab"]
