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
ANSWERS: dict[str, tuple[str, bool]] = {
    "it makes one up": (MADE, False),
    "it has one from elsewhere": ("fetch('/ok')", False),
    "it has put one into a cache": (
        f"caches.open('c').then(c => c.put('/orders/1', {MADE}).then(() => c.match('/orders/1')))",
        False,
    ),
    "it passes the server's on": ("fetch(event.request)", True),
    "it leaves it to the server": ("undefined", True),
}


@pytest.mark.parametrize(("answer", "is_servers"), ANSWERS.values(), ids=ANSWERS)
async def test_a_document_of_a_worker_is_the_worker_s(
    browser: Chromium, page: Page, site: Site, answer: str, is_servers: bool
) -> None:
    """It pays only where the task says that what script made counts; a guard counts it anyway."""
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
        {"id": "fined", "when": {"url_reached": {"url": "/orders/1"}}, "penalty": 0.5},
        weights={"ui": 1.0},
        origin=site.url,
    )
    await page.goto(url)
    await page.evaluate(
        "navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready)"
    )
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(f"{site.url}/orders/1")
        await watch.one("page.navigated", url=f"{site.url}/orders/1")
        await watch.fence()
        reward = paid(rules, watch)
    assert reward.reason is None
    worths = {one.id for one in reward.milestones if one.worth}
    assert worths == {"lax", "fined"} | ({"strict"} if is_servers else set())
