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
ANSWERS: dict[str, tuple[str, str, str]] = {
    "it makes one up": (MADE, "worker's", "worker's"),
    "it has one from elsewhere": ("fetch('/ok')", "unknown", "server's"),
    "it has put one into a cache": (
        f"caches.open('c').then(c => c.put('/orders/1', {MADE}).then(() => c.match('/orders/1')))",
        "worker's",
        "worker's",
    ),
    "it passes the server's on": ("fetch(event.request)", "server's", "server's"),
    "it leaves it to the server": ("undefined", "server's", "server's"),
}
"""What the worker answers with, and whose the document is: where a rule hears requests, so that the
worker is listened to, and where none does. Then its word is taken that it has the network's."""
HEARS = {"request_answered": {"url": {"any": [{"address": "http://x.test/"}]}, "method": "POST"}}


@pytest.mark.parametrize(
    ("answer", "listened_to", "whose"),
    [
        pytest.param(
            answer, listened_to, whose, id=f"{name}-{'heard' if listened_to else 'unheard'}"
        )
        for name, (answer, heard, unheard) in ANSWERS.items()
        for listened_to, whose in ((True, heard), (False, unheard))
    ],
)
async def test_a_document_of_a_worker_is_the_worker_s(
    browser: Chromium, page: Page, site: Site, answer: str, listened_to: bool, whose: str
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
        *([{"id": "other", "component": "ui", "when": HEARS}] if listened_to else ()),
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
    if whose == "unknown":
        assert reward.reward == -0.5, "the penalty, which does not hang on it"
        assert "from which address the document was loaded" in str(reward.reason)
        return
    assert reward.reason is None
    worths = {one.id for one in reward.milestones if one.worth}
    assert worths == {"lax", "fined"} | ({"strict"} if whose == "server's" else set())
