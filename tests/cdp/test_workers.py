"""Requests of workers: each told once, with who sent or answered it."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page

from tests.cdp.site import Answer, Site
from tests.cdp.watching import PATIENCE_S, Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

SCRIPT = (("content-type", "text/javascript"),)
WORKER = """fetch('/early'); onmessage = async (event) => {
    await (await fetch('/late', {method: 'POST', body: JSON.stringify({to: event.data})})).text(); postMessage(1) }"""
SHARED = """onconnect = (event) => { const port = event.ports[0]; port.onmessage = async (message) => {
    await (await fetch('/shared', {method: 'POST', body: message.data})).text(); port.postMessage(1) } }"""
SERVICE = """
addEventListener('install', (event) => { skipWaiting(); event.waitUntil(
    fetch('/list').then((answer) => caches.open('c').then((cache) => cache.put('/kept', answer)))) });
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => { const to = new URL(event.request.url).pathname;
    if (to === '/made') event.respondWith(new Response('made'));
    if (to === '/kept') event.respondWith(caches.match('/kept'));
    if (to === '/order') event.respondWith(fetch(event.request));
    if (to === '/other') event.respondWith(fetch('/for-other', {method: 'POST', body: 'q'}));
    if (to === '/queued') { event.respondWith(new Response('queued', {status: 202}));
        event.waitUntil(fetch(event.request.clone())) } });
"""


def posts(watch: Watch, url: str) -> list[tuple[str, int, str | None, str | None]]:
    return [
        (d["method"], d["status"], d.get("via"), d.get("served_from"))
        for d in watch.all("request.finished", url=url)
    ]


def workers_of(watch: Watch) -> list[str]:
    """The sessions of the dedicated and shared workers that the source was told of."""
    assert watch.source._live is not None
    sessions = watch.source._live.normaliser.browser.sessions
    return [name for name, state in sessions.items() if state.via in ("worker", "shared_worker")]


def began_unheard(watch: Watch) -> bool:
    """Whether the source said that a worker began before it was listened to: Chromium tells the end
    of its script's loading to the worker's session alone, so that it may be lost with it."""
    return any("before it could be listened to" in gap["reason"] for gap in watch.all("gap.began"))


async def told_of(watch: Watch) -> str:
    """The session of a worker, once Chromium told of it: the page's own word may come first."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := workers_of(watch)):  # noqa: ASYNC110 - it says nothing of it
            await asyncio.sleep(0.01)
    return found[0]


async def test_a_dedicated_workers_requests(browser: Chromium, page: Page, site: Site) -> None:
    for path in ("/early", "/late"):
        site.page(path, "ok")
    site.page("/w.js", Answer(WORKER, headers=SCRIPT))
    async with watching(browser, {"request_bodies": ["/late"], "origin": site.url}) as watch:
        await page.goto(site.url)
        await page.evaluate("() => { window.w = new Worker('/w.js') }")
        await told_of(watch)
        await watch.fence()  # from here on its requests are heard
        await page.evaluate(
            "new Promise((done) => { w.onmessage = done; w.postMessage(7) }).then(() => 0)"
        )
        late = await watch.one("request.finished", url=site.url + "/late")
        await watch.fence()
        if watch.all("request.sent", url=site.url + "/early"):
            await watch.one("request.finished", url=site.url + "/early")
        early = watch.all("request.finished", url=site.url + "/early")
        gap = any(kind == "gap.began" and data["part"] == "request" for kind, data in watch.seen)
        if not began_unheard(watch):
            await watch.one("request.finished", url=site.url + "/w.js")
        scripts = watch.all("request.finished", url=site.url + "/w.js")
        tab = watch.all("page.navigated")[0]["tab"]
    assert (late["via"], late["tab"], late["frame"], late["body"]["text"]) == (
        "worker",
        tab,
        tab,
        '{"to":7}',
    )
    assert early or gap, "what could not be heard is said"
    assert [(one["via"], one["status"]) for one in early] == [("worker", 200)] * len(early)
    assert [(script["status"], script.get("via")) for script in scripts] == [(200, None)] * len(
        scripts
    ), "the page asked for the worker's script"
    assert len(watch.all("request.sent", url=site.url + "/late")) == 1


async def test_a_shared_workers_requests_belong_to_no_tab(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/shared", "ok")
    site.page("/s.js", Answer(SHARED, headers=SCRIPT))
    async with watching(browser) as watch:
        await page.goto(site.url)
        await page.evaluate(
            """new Promise((done) => { window.s = new SharedWorker('/s.js'); s.port.onmessage = done;
            s.port.postMessage('b') }).then(() => 0)"""
        )
        await watch.fence()
        gap = any(kind == "gap.began" and data["part"] == "request" for kind, data in watch.seen)
    told = watch.all("request.finished", url=site.url + "/shared")
    assert told or gap, "what could not be heard is said"
    for finished in told:
        assert finished["via"] == "shared_worker"
        assert not {"tab", "frame"} & set(finished)


async def test_a_service_worker_in_between_makes_no_second_request(
    browser: Chromium, page: Page, site: Site
) -> None:
    for path in ("/list", "/order", "/for-other", "/queued", "/plain"):
        site.page(path, "ok")
    site.page("/sw.js", Answer(SERVICE, headers=SCRIPT))
    post = "(to) => fetch(to, {method: 'POST', body: 'b'}).then((r) => r.text())"
    plan = {"request_bodies": ["/order"], "origin": site.url, "request_headers": ["content-type"]}
    async with watching(browser, plan) as watch:
        await page.goto(site.url)
        await page.evaluate(
            """new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done;
            navigator.serviceWorker.register('/sw.js') }).then(() => 0)"""
        )
        for path in ("/made", "/kept"):
            await page.evaluate("(to) => fetch(to).then((r) => r.text())", path)
        for path in ("/order", "/other", "/queued", "/plain"):
            await page.evaluate(post, path)
        await watch.until(lambda: len(posts(watch, site.url + "/queued")) == 2)
        await watch.one("request.finished", url=site.url + "/plain")
        await watch.fence()
    assert posts(watch, site.url + "/made") == [("GET", 200, "service_worker", "worker")]
    assert posts(watch, site.url + "/kept") == [("GET", 200, "service_worker", "cache_storage")]
    assert watch.all("request.finished", url=site.url + "/kept")[0]["cached"] is True
    assert posts(watch, site.url + "/order") == [("POST", 200, "service_worker", None)]
    assert posts(watch, site.url + "/other") == [("POST", 200, "service_worker", "worker")], (
        "from elsewhere"
    )
    assert posts(watch, site.url + "/for-other") == [("POST", 200, "service_worker", None)]
    assert posts(watch, site.url + "/plain") == [("POST", 200, None, None)]
    listed = posts(watch, site.url + "/list")  # as the worker began
    assert listed == [("GET", 200, "service_worker", None)] or (not listed and began_unheard(watch))
    # What the worker made up is no acceptance; what it sent on its own is a request of its own.
    assert sorted(posts(watch, site.url + "/queued"), key=lambda one: one[1]) == [
        ("POST", 200, "service_worker", None),
        ("POST", 202, "service_worker", "worker"),
    ]
    order = watch.all("request.finished", url=site.url + "/order")[0]
    assert order["tab"] == watch.all("page.navigated")[0]["tab"]
    assert order["body"] == {"text": "b", "mime": "text/plain;charset=UTF-8"}
    assert order["headers"] == {"content-type": "text/plain;charset=UTF-8"}
    assert [a.path for a in site.asked].count("/order") == 1
    assert len(watch.all("request.sent", url=site.url + "/order")) == 1


async def test_workers_are_left_alone_where_nobody_hears_requests(
    browser: Chromium, page: Page, site: Site
) -> None:
    """But service workers, which make documents (test_worker_documents.py)."""
    site.page("/early", "ok")
    site.page("/w.js", Answer("fetch('/early').then(() => postMessage(1))", headers=SCRIPT))
    async with watching(browser, {"hears": ["element.clicked"]}) as watch:
        await page.goto(site.url)
        await page.evaluate(
            "new Promise((done) => { new Worker('/w.js').onmessage = done }).then(() => 0)"
        )
        await watch.fence()
        assert not workers_of(watch)
    assert not watch.all("request.sent", url=site.url + "/early")


async def test_a_worker_that_is_too_busy_to_answer_is_waited_for_once(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/w.js", Answer("postMessage(1); for (;;);", headers=SCRIPT))
    async with watching(browser) as watch:
        await page.goto(site.url)
        await page.evaluate(
            "new Promise((done) => { window.w = new Worker('/w.js'); w.onmessage = done }).then(()"
            " => 0)"
        )
        assert watch.source._live is not None
        live = watch.source._live
        worker = await told_of(watch)
        assert live.attachment.knock(worker)
        assert live.attachment.knock(worker) == [], "its answer to the first is still to come"
        await page.evaluate("w.terminate()")
