"""Requests: a sent one is not an accepted one, and a body is only kept where the plan asks."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from agentd.sources.cdp.state.capture_plan import MAX_BODY_LENGTH
from tests.cdp.site import Answer, Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


def redirect(to: str, status: int = 302) -> Answer:
    return Answer(status=status, headers=(("location", to),))


async def test_a_redirected_post_tells_each_hop(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/order", redirect("/thanks"))
    site.page("/thanks", "<title>thanks</title>")
    url = site.page(
        "/", "<form method=post action=/order><input name=qty value=2><button>Go</button></form>"
    )
    plan = {"request_bodies": ["/order"], "origin": site.url}
    async with watching(browser, plan) as watch:
        await page.goto(url)
        await page.click("button")
        finished = await watch.one("request.finished", url=site.url + "/thanks")
        hop = await watch.one("request.redirected", url=site.url + "/order")
    assert (hop["method"], hop["status"], hop["location"]) == ("POST", 302, "/thanks")
    assert hop["body"] == {"text": "qty=2", "mime": "application/x-www-form-urlencoded"}
    assert finished["status"] == 200
    assert finished["hops"] == [
        {k: hop[k] for k in ("method", "url", "status", "location", "body")}
    ]
    assert "body" not in finished, "the page after the redirect was fetched without one"


async def test_an_answer_keeps_its_status_and_its_body_only_where_asked(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/api/cart", Answer('{"ok": true}', headers=(("content-type", "application/json"),)))
    site.page("/api/other", Answer("no", status=500))
    url = site.page("/", "<title>x</title>")
    post = "async (to) => { await fetch(to, {method: 'POST', body: JSON.stringify({sku: 7}), headers: " \
        "{'content-type': 'application/json'}}) }"  # fmt: skip
    async with watching(browser, {"request_bodies": ["/api/cart"], "origin": site.url}) as watch:
        await page.goto(url)
        await page.evaluate(post, "/api/cart")
        await page.evaluate(post, "/api/other")
        kept = await watch.one("request.finished", url=site.url + "/api/cart")
        other = await watch.one("request.finished", url=site.url + "/api/other")
    assert kept["body"] == {"text": '{"sku":7}', "mime": "application/json"}
    assert (kept["status"], kept["type"], kept["mime"]) == (200, "Fetch", "application/json")
    assert other["status"] == 500
    assert "body" not in other


@pytest.mark.parametrize(
    "size", [pytest.param(10, id="small"), pytest.param(500_000, id="larger than is kept")]
)
async def test_a_multipart_body_is_fetched_whole_and_cut(
    browser: Chromium, page: Page, site: Site, size: int
) -> None:
    site.page("/up", "<title>up</title>")
    url = site.page("/", f"""<form method=post action=/up enctype=multipart/form-data><input name=a value=1>
        <textarea name=b>{'x' * size}</textarea>
        <input type=password name=p value=geheim1><button>Go</button></form>""")  # fmt: skip
    async with watching(browser, {"request_bodies": ["/up"], "origin": site.url}) as watch:
        await page.goto(url)
        await page.click("button")
        finished = await watch.one("request.finished", url=site.url + "/up")
    body = finished["body"]
    assert 'name="a"\r\n\r\n1\r\n' in body["text"]
    assert "geheim1" not in body["text"]
    assert body.get("cut", False) is (size > MAX_BODY_LENGTH)
    assert len(body["text"]) <= MAX_BODY_LENGTH


async def test_a_failed_and_a_blocked_request_are_not_accepted(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<meta http-equiv=content-security-policy content=\"img-src 'self'\">")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.evaluate("fetch('http://127.0.0.1:9/closed').catch(() => 0)")
        await page.evaluate("new Image().src = 'http://127.0.0.1:9/forbidden'")
        failed = await watch.one("request.failed", url="http://127.0.0.1:9/closed")
        assert failed["error"].startswith("net::ERR_")
        blocked = await watch.one("request.failed", url="http://127.0.0.1:9/forbidden")
        assert blocked["blocked"] == "csp"
        assert not watch.all("request.finished", url=failed["url"])


async def test_a_canceled_request_says_so(browser: Chromium, page: Page, site: Site) -> None:
    import threading

    answer = threading.Event()
    site.page("/slow", lambda _: Answer("late") if answer.wait(20) else Answer("later"))
    url = site.page("/", "<title>x</title>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.evaluate(
            "window.stop_it = new AbortController(); fetch('/slow', {signal:"
            " stop_it.signal}).catch(() => 0); 0"
        )
        await watch.one("request.sent", url=site.url + "/slow")
        await page.evaluate("stop_it.abort()")
        failed = await watch.one("request.failed", url=site.url + "/slow")
        answer.set()
    assert failed["canceled"] is True


async def test_data_addresses_are_no_requests(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page(
        "/",
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='><script>"
        "fetch(URL.createObjectURL(new Blob(['x']))).then(() => document.title = 'done')</script>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await watch.one("page.title_changed", title="done")
        await watch.fence()
        assert {data["url"] for data in watch.all("request.sent")} <= {
            url,
            site.url + "/favicon.ico",
        }
