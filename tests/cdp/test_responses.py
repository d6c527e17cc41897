"""Answers: who gave them, their headers and bodies where the plan asks, challenges, what the
browser blocks."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, Playwright

from agentd.sources.cdp.state.capture_plan import MAX_BODY_LENGTH
from tests.cdp.site import Answer, Asked, Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

JSON = (("content-type", "application/json"),)
READ = "(to) => fetch(to).then((r) => r.text())"


async def test_only_named_headers_are_told_the_real_ones_and_masked(
    browser: Chromium, page: Page, site: Site
) -> None:
    cookie = (("set-cookie", "sid=geheim1; Path=/; HttpOnly"), ("x-order", "7"), ("x-other", "1"))
    site.page("/in", Answer("<title>in</title>", headers=(("content-type", "text/html"), *cookie)))
    site.page("/to", Answer(status=302, headers=(("location", "/in"), ("x-order", "6"))))
    plan = {
        "request_headers": ["Cookie", "x-mine", "authorization"],
        "response_headers": ["set-cookie", "x-order"],
    }
    await (
        page.context.clear_cookies()
    )  # cookies know no ports: another test's site is this one's too
    async with watching(browser, plan) as watch:
        await page.goto(site.url + "/to")
        await page.evaluate(
            "fetch('/to', {headers: {'X-Mine': 'yes', Authorization: 'Bearer geheim2'}}).then((r)"
            " => r.text())"
        )
        await watch.fence()
        first, second = watch.all("request.finished", url=site.url + "/in")
    assert "headers" not in first, "there was no cookie yet"
    assert first["response"] == {
        "headers": {"set-cookie": "sid=***; Path=/; HttpOnly", "x-order": "7"}
    }
    assert second["headers"] == {
        "cookie": "sid=***",
        "x-mine": "yes",
        "authorization": "Bearer ***",
    }
    assert second["hops"][0]["headers"] == second["headers"]
    assert second["hops"][0]["response"] == {"headers": {"x-order": "6"}}
    redirected = watch.all("request.redirected", url=site.url + "/to")[1]
    assert redirected["headers"]["cookie"] == "sid=***"
    assert "geheim" not in str(watch.seen)


async def test_a_body_is_told_where_the_plan_asks(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/api/a", Answer('{"order": 7, "token": "geheim"}', headers=JSON))
    site.page(
        "/api/b", Answer("x" * 300_000, status=422, headers=(("content-type", "text/plain"),))
    )
    site.page("/api/c", Answer(bytes([137, 80, 0, 255]), headers=(("content-type", "image/png"),)))
    site.page("/other", Answer("unasked"))
    async with watching(browser, {"response_bodies": ["/api/*"], "origin": site.url}) as watch:
        await page.goto(site.url)
        for path in ("/api/a", "/api/b", "/api/c", "/other"):
            await page.evaluate(READ, path)
        await watch.one("request.finished", url=site.url + "/other")
        await watch.fence()
        a, b, c = (watch.all("request.finished", url=f"{site.url}/api/{name}")[0] for name in "abc")
    assert a["response"] == {
        "body": {"text": '{"order":7,"token":"***"}', "mime": "application/json"}
    }
    assert (b["status"], b["response"]["body"]["cut"], len(b["response"]["body"]["text"])) == (
        422,
        True,
        MAX_BODY_LENGTH,
    )
    assert c["response"]["body"] == {
        "base64": base64.b64encode(bytes([137, 80, 0, 255])).decode(),
        "mime": "image/png",
    }
    assert "answer" not in watch.all("request.finished", url=site.url + "/other")[0]


async def test_a_body_that_is_too_long_to_keep_is_said_to_be_lost(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/big", Answer("x" * (5 << 20)))
    async with watching(browser, {"response_bodies": ["/big"], "origin": site.url}) as watch:
        await page.goto(site.url)
        await page.evaluate(READ, "/big")
        finished = await watch.one("request.finished", url=site.url + "/big")
        await watch.one("gap.began", part="request")
    assert finished["response"] == {"body": {"lost": True}}


async def test_of_requests_that_no_rule_can_mean_nothing_is_missed(
    browser: Chromium, page: Page, site: Site
) -> None:
    """The list at the address that is posted to, longer than is kept, and a post that the server
    refused."""

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer("x" * 300_000)
        return (
            Answer("y" * (5 << 20), status=500)
            if asked.body == b"bad"
            else Answer("yes", status=201)
        )

    site.page("/api", answer)
    entry = {"url": "/api", "methods": ["post"], "refused": False}
    async with watching(browser, {"response_bodies": [entry], "origin": site.url}) as watch:
        await page.goto(site.url)
        await page.evaluate(READ, "/api")
        for body in ("bad", "good"):
            await page.evaluate(
                f"fetch('/api', {{method: 'POST', body: '{body}'}}).then((r) => r.text())"
            )
        taken = await watch.one("request.finished", url=site.url + "/api", status=201)
        refused = await watch.one("request.finished", url=site.url + "/api", status=500)
        listed = await watch.one("request.finished", url=site.url + "/api", method="GET")
        await watch.fence()
        assert not watch.all("gap.began", part="request")
    assert taken["response"]["body"]["text"] == "yes"
    assert "cut" in refused["response"]["body"] or "lost" in refused["response"]["body"]
    assert "answer" not in listed


@pytest.mark.parametrize("status", [200, 204, 304])
async def test_an_answer_without_a_body_is_no_gap(
    browser: Chromium, page: Page, site: Site, status: int
) -> None:
    site.page("/empty", Answer(status=status, headers=JSON))
    async with watching(browser, {"response_bodies": ["/empty"], "origin": site.url}) as watch:
        await page.goto(site.url)
        await page.evaluate("fetch('/empty', {method: 'POST'}).then((r) => r.text())")
        await page.evaluate("fetch('/empty', {method: 'PUT'}).then((r) => r.text())")
        await watch.until(lambda: len(watch.all("request.finished", url=site.url + "/empty")) == 2)
        await watch.fence()
        assert not watch.all("gap.began", part="request")


async def test_what_a_cache_answered_is_told_from_what_the_server_did(
    browser: Chromium, page: Page, site: Site
) -> None:
    def confirmed(asked: Asked) -> Answer:
        if asked.headers.get("if-none-match"):
            return Answer("", status=304)
        return Answer("hello", headers=(("etag", '"1"'), ("cache-control", "no-cache")))

    site.page(
        "/kept",
        Answer(
            "var a",
            headers=(("cache-control", "max-age=1000"), ("content-type", "text/javascript")),
        ),
    )
    site.page("/asked", confirmed)
    async with watching(browser) as watch:
        await page.goto(site.url)
        for path in ("/kept", "/kept", "/asked", "/asked"):
            await page.evaluate(READ, path)
        script = """new Promise((done) => document.head.append(
            Object.assign(document.createElement("script"), {src: "/kept", onload: done})))"""
        await page.evaluate(f"{script}.then(() => 0)")
        await watch.until(lambda: len(watch.all("request.finished", url=site.url + "/kept")) == 3)
        await watch.until(lambda: len(watch.all("request.finished", url=site.url + "/asked")) == 2)
    kept = [
        (d.get("cached"), d.get("served_from"))
        for d in watch.all("request.finished", url=site.url + "/kept")
    ]
    assert kept[:2] == [(None, None), (True, "disk")]
    assert kept[2] in ((True, "disk"), (True, "memory"))
    asked = watch.all("request.finished", url=site.url + "/asked")
    assert [(d["status"], d.get("served_from")) for d in asked] == [
        (200, None),
        (200, "revalidated"),
    ]
    assert not any("cached" in d for d in asked), "the server was asked both times"


def guarded(asked: Asked) -> Answer:
    if asked.headers.get("authorization") == "Basic " + base64.b64encode(b"ada:geheim3").decode():
        return Answer("<title>in</title>")
    return Answer("no", status=401, headers=(("www-authenticate", 'Basic realm="The \\"shop\\""'),))


@pytest_asyncio.fixture(loop_scope="session")
async def given(browser: Chromium, one_playwright: Playwright) -> AsyncIterator[Page]:
    """A page whose agent answers challenges by itself, wrongly at /wrong."""
    agent = await one_playwright.chromium.connect_over_cdp(browser.endpoint)
    context = await agent.new_context(http_credentials={"username": "ada", "password": "geheim3"})
    yield await context.new_page()
    await context.close()
    await agent.close()


async def test_a_challenge_that_got_no_password_is_told(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/api", guarded)
    async with watching(browser) as watch:
        await page.goto(site.url)
        # Without credentials to send, the browser asks nobody.
        await page.evaluate("fetch('/api', {credentials: 'omit'}).then((r) => r.text())")
        challenged = await watch.one("auth.challenged")
        finished = await watch.one("request.finished", url=site.url + "/api")
    assert (challenged["url"], challenged["scheme"], challenged["realm"]) == (
        site.url + "/api",
        "basic",
        'The "shop"',
    )
    assert challenged["request"] == finished["request"]
    assert finished["status"] == 401


async def test_the_agents_own_answer_to_a_challenge_is_left_alone(
    browser: Chromium, given: Page, site: Site
) -> None:
    site.page("/in", guarded)
    site.page(
        "/wrong", Answer("no", status=401, headers=(("www-authenticate", "Basic realm=other"),))
    )
    async with watching(browser, {"request_headers": ["authorization"]}) as watch:
        answer = await given.goto(site.url + "/in")
        assert answer is not None
        assert (answer.status, await given.title()) == (200, "in")
        answer = await given.goto(site.url + "/wrong")
        assert answer is not None
        assert answer.status == 401
        challenged = await watch.one("auth.challenged")
        finished = await watch.one("request.finished", url=site.url + "/in")
    assert (challenged["url"], challenged["realm"]) == (site.url + "/wrong", "other")
    assert finished["status"] == 200
    assert "geheim3" not in str(watch.seen)
    assert base64.b64encode(b"ada:geheim3").decode() not in str(watch.seen)


async def test_what_the_browser_itself_blocks_says_why(
    browser: Chromium, page: Page, site: Site
) -> None:
    allow = (("access-control-allow-origin", "*"), ("access-control-allow-methods", "PUT"))
    site.page("/closed", Answer("x"))
    site.page("/open", Answer("x", headers=allow))
    async with watching(browser) as watch:
        await page.goto(site.url)
        put = "(to) => fetch(to, {method: 'PUT', body: 'b'}).then((r) => r.text()).catch(() => 0)"
        await page.evaluate(
            READ.replace("r.text())", "r.text()).catch(() => 0)"), site.other + "/closed"
        )
        await page.evaluate(put, site.other + "/closed")
        await page.evaluate(put, site.other + "/open")
        simple = await watch.one("request.failed", url=site.other + "/closed", method="GET")
        asked = await watch.one("request.failed", url=site.other + "/closed", method="PUT")
        fine = await watch.one("request.finished", url=site.other + "/open", method="PUT")
    assert simple["blocked"] == "MissingAllowOriginHeader"
    assert asked["blocked"] == "PreflightMissingAllowOriginHeader"
    assert fine["status"] == 200
    preflights = watch.all("request.sent", method="OPTIONS")
    assert {d["type"] for d in preflights} == {"Preflight"}
    assert [a.method for a in site.asked if a.path == "/closed"] == [
        "GET",
        "OPTIONS",
    ], "the PUT never left"
