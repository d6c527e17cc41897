"""A service worker is page script: a document that it makes up is not one of the site's server."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Answer, Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]
HTML = "{headers: {'content-type': 'text/html'}}"
MADE = f"new Response('<title>order 1</title>', {HTML})"
ANSWERS: dict[str, tuple[str, str]] = {
    "it makes one up": (MADE, "worker's"),
    "it has one from elsewhere": ("fetch('/ok')", "unknown"),
    "it asks for the server's and has one from elsewhere": (
        "fetch(event.request).then(() => fetch('/ok'))",
        "unknown",
    ),
    "it asks for the server's and makes one up": (
        f"fetch(event.request).then(() => {MADE})",
        "worker's",
    ),
    "it has put one into a cache": (
        f"caches.open('c').then(c => c.put('/orders/1', {MADE}).then(() => c.match('/orders/1')))",
        "worker's",
    ),
    "it passes the server's on": ("fetch(event.request)", "server's"),
    "it leaves it to the server": ("undefined", "server's"),
}
"""What the worker answers with, and whose the document is."""
HEARS = {"request_answered": {"url": {"any": [{"address": "http://x.test/"}]}, "method": "POST"}}
"""A rule that hears requests: beside it, and without it, the document's own request shows."""


@pytest.mark.parametrize("hears_requests", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize(("answer", "whose"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_document_of_a_worker_is_the_worker_s(
    browser: Chromium,
    page: Page,
    site: Site,
    answer: str,
    hears_requests: bool,
    stopped: bool,
    whose: str,
) -> None:
    """It pays only where the task says that what script made counts; a guard counts it anyway. So
    too where the worker was stopped, and is started by the navigation: the browser then lets the
    worker's request race with one of its own, and says of both that the worker made the answer up.
    """
    mime = (("content-type", "text/javascript"),)
    code = f"const answer = {answer}; if (answer) event.respondWith(answer)"
    code = f"if (new URL(event.request.url).pathname === '/orders/1') {{ {code} }}"
    script = (
        "addEventListener('install', () => skipWaiting());"
        "addEventListener('activate', event => event.waitUntil(clients.claim()));"
        f"addEventListener('fetch', event => {{ {code} }})"
    )
    site.page("/sw.js", Answer(script, headers=mime))
    site.page("/ok", "<title>fine</title>")
    site.page("/orders/1", "<title>order 1</title>")
    url = site.page("/", "<title>shop</title>")
    rules = ruleset(
        *(
            {"id": name, "component": "ui", "when": {"url_reached": {"url": "/orders/1", **more}}}
            for name, more in (("strict", {}), ("lax", {"loaded": False}))
        ),
        *([{"id": "other", "component": "ui", "when": HEARS}] if hears_requests else ()),
        {"id": "fined", "when": {"url_reached": {"url": "/orders/1"}}, "penalty": 0.5},
        weights={"ui": 1.0},
        origin=site.url,
    )
    await page.goto(url)
    await page.evaluate(
        "navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready)"
    )
    async with watching(browser, rules.plan("e")) as watch:
        if stopped:
            client = await page.context.new_cdp_session(page)
            await client.send("ServiceWorker.enable")
            await client.send("ServiceWorker.stopAllWorkers")
        await page.goto(f"{site.url}/orders/1")
        await watch.one("page.navigated", url=f"{site.url}/orders/1")
        await watch.fence()
        reward = paid(rules, watch)
    if whose == "unknown":
        assert reward.reward == -0.5, "the penalty, which does not hang on it"
        assert "from which address the document was loaded" in str(reward.reason)
        return
    assert reward.reason is None
    worths = {one.id for one in reward.milestones if one.worth}
    assert worths == {"lax", "fined"} | ({"strict"} if whose == "server's" else set())
