"""A service worker is page script: a document that it makes up is not one of the site's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page

from agentd.sources.cdp import CdpSource
from agentd.sources.cdp.network.worker_documents import BY_WORKER
from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.cdp.transport.connection import Connection
from agentd.sources.cdp.transport.explicit_attach import ByHand
from agentd.sources.cdp.transport.websocket import WebSocketWire
from agentd.sources.cdp.transport.wire import DevToolsWire
from common.devtools_messages import Message
from detectors.task.ruleset import Ruleset
from tests.cdp.site import Answer, Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import Watch, watching
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
REGISTER = "navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready)"


def serve(site: Site, answer: str) -> None:
    """A page, and a service worker that answers for it with the expression ``answer``."""
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
    serve(site, answer)
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
    await page.evaluate(REGISTER)
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


class LateWorkers:
    """A `DevToolsWire` on which the events of service workers come late: once ``is_late``, together
    with the next answer of that worker. As long as ``is_mute`` no worker answers."""

    def __init__(self, wire: DevToolsWire) -> None:
        self._wire = wire
        self.send, self.close = wire.send, wire.close
        self._held: dict[str, list[Message]] = {}  # session of a worker → its events
        self._unanswered: list[Message] = []
        self.is_late = self.is_mute = False
        self.muted = asyncio.Event()

    async def messages(self) -> AsyncIterator[Message]:
        async for message in self._wire.messages():
            about = message.get("params", {})
            if about.get("targetInfo", {}).get("type") == "service_worker" and "sessionId" in about:
                self._held[about["sessionId"]] = []
            held = self._held.get(message.get("sessionId", ""))
            if held is not None and self.is_late and "id" not in message:
                held.append(message)
                continue
            if held is not None and self.is_mute and "id" in message:
                self._unanswered.append(message)
                self.muted.set()
                continue
            for one in (*self._take_unanswered(), message):
                events = self._held.get(one.get("sessionId", ""))
                while events:
                    yield events.pop(0)
                yield one

    def _take_unanswered(self) -> list[Message]:
        """The answers of workers that are not mute any more."""
        unanswered = [] if self.is_mute else self._unanswered
        self._unanswered = self._unanswered[len(unanswered) :]
        return unanswered


@asynccontextmanager
async def late_workers(
    browser: Chromium, rules: Ruleset
) -> AsyncIterator[tuple[Watch, LateWorkers]]:
    """A source over such a wire, watching."""
    wires: list[LateWorkers] = []

    async def connect() -> Connection:
        address = await websocket_address(browser.endpoint, None)
        wires.append(LateWorkers(ByHand(await WebSocketWire.open(address))))
        return Connection(wires[0])

    source = CdpSource(browser.endpoint, None, rules.plan("e"), connect)
    async with watching(browser, source=source) as watch:
        yield watch, wires[0]


def order_reached(site: Site) -> Ruleset:
    """The page of the order is reached, as the server gave it."""
    return ruleset({"id": "strict", "when": {"url_reached": {"url": "/orders/1"}}}, origin=site.url)


@pytest.mark.parametrize(
    ("answer", "milestones"),
    [("fetch(event.request)", {"strict"}), (MADE, set())],
    ids=["it passes the server's on", "it makes one up"],
)
async def test_a_document_waits_for_what_its_worker_says(
    browser: Chromium, page: Page, site: Site, answer: str, milestones: set[str]
) -> None:
    """A worker speaks through a process of its own: on a busy machine the document came first, and
    the step was null."""
    serve(site, answer)
    rules = order_reached(site)
    await page.goto(site.page("/", "<title>shop</title>"))
    await page.evaluate(REGISTER)
    async with late_workers(browser, rules) as (watch, wire):
        wire.is_late = True
        await page.goto(f"{site.url}/orders/1")
        await watch.one("page.navigated", url=f"{site.url}/orders/1")
        await watch.fence()
        reward = paid(rules, watch)
    assert reward.reason is None
    assert {one.id for one in reward.milestones} == milestones


@pytest.mark.parametrize(
    ("answer", "answers", "worth"),
    [
        ("fetch(event.request)", True, 0.1),
        ("fetch(event.request)", False, None),
        (MADE, True, 0.0),
        (MADE, False, None),
    ],
    ids=["the server's, late", "the server's, never", "one made up, late", "one made up, never"],
)
async def test_a_step_waits_for_a_worker_longer_than_its_fence(
    browser: Chromium, page: Page, site: Site, answer: str, answers: bool, worth: float | None
) -> None:
    """A fence takes a tenth of a second: a busy worker that answers after it is waited for at the
    seal, and the step is null, not 0, where it does not."""
    serve(site, answer)
    rules = order_reached(site)
    await page.goto(site.page("/", "<title>shop</title>"))
    await page.evaluate(REGISTER)
    async with late_workers(browser, rules) as (watch, wire):
        wire.is_late = wire.is_mute = True
        await page.goto(f"{site.url}/orders/1")
        await wire.muted.wait()
        await watch.source.fence(0.1)
        wire.is_mute = not answers
        await watch.source.before_seal(0, closing=False)
        wire.is_mute = wire.is_late = False
        reward = paid(rules, watch)
    assert reward.reward == worth


async def test_a_document_waits_no_longer_for_a_worker_that_is_stopped(
    browser: Chromium, page: Page, site: Site
) -> None:
    serve(site, MADE)
    await page.goto(site.page("/", "<title>shop</title>"))
    await page.evaluate(REGISTER)
    async with late_workers(browser, order_reached(site)) as (watch, wire):
        wire.is_mute = True
        await page.goto(f"{site.url}/orders/1")
        await wire.muted.wait()
        assert not watch.all("page.navigated", url=f"{site.url}/orders/1")
        client = await page.context.new_cdp_session(page)
        await client.send("ServiceWorker.enable")
        await client.send("ServiceWorker.stopAllWorkers")
        told = await watch.one("page.navigated", url=f"{site.url}/orders/1")
    assert told["document"] == BY_WORKER
