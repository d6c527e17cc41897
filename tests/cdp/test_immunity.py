"""What is paid against the server's own log: somebody else answers for it, or its answer never
reaches the page.

Real pages, real workers, one DevTools client; the rules are scored by the engine on what the source
told.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from detectors.model.types import Reward
from detectors.task.ruleset import Ruleset
from tests.cdp.site import Answer, Asked, Site
from tests.cdp.watching import PATIENCE_S, Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import Said, episode, ruleset, run

pytestmark = [pytest.mark.browser, needs_chromium]

SCRIPT = (("content-type", "text/javascript"),)

ORDER = "item=lamp"

WORKER = """
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
    const request = event.request;
    if (request.method === 'POST' && new URL(request.url).pathname === '/orders') event.respondWith(HOW);
});"""
POST = (
    "{method: 'POST', headers: {'content-type': 'application/x-www-form-urlencoded'}, body:"
    " 'item=BODY'}"
)
OTHER = POST.replace("BODY", "nothing")
SAME = POST.replace("BODY", "lamp")

BUTTON = (
    "<form method=post action=/orders><input type=hidden name=item"
    " value=lamp><button>Order</button></form>"
)
FETCH = (
    f"<button onclick=\"fetch('/orders', {SAME}).then((answer) => answer.text())\">Order</button>"
)


class Shop:
    """A server that notes each order that it takes; `/orders` answers by a status, a redirect, or
    late."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.taken: list[tuple[str, bytes]] = []
        self.go = threading.Event()
        site.page("/orders", lambda asked: self.take(asked, Answer('{"is": "taken"}', status=201)))
        site.page(
            "/redirecting",
            lambda asked: self.take(asked, Answer(status=303, headers=(("location", "/done"),))),
        )
        site.page("/refused", Answer("no", status=422))
        site.page("/ok", Answer('{"is": "taken"}', status=201))
        site.page("/done", "<title>done</title>")
        site.page("/is-taken", lambda asked: Answer("yes" if self.taken else "no"))
        site.page("/sheet", lambda asked: self.take(asked, Answer("a,b", headers=SHEET)))
        site.page("/nothing", lambda asked: self.take(asked, Answer(status=204)))
        site.page("/late", lambda asked: self.take(asked, Answer("late"), wait=True))
        site.page("/endless", lambda asked: self.take(asked, Answer("x" * 99, lacks=99)))

    def take(self, asked: Asked, answer: Answer, *, wait: bool = False) -> Answer:
        if asked.method == "POST":
            self.taken.append((asked.path, asked.body))
        if wait:
            self.go.wait(20)
        return answer


SHEET = (("content-type", "text/csv"), ("content-disposition", "attachment; filename=sheet.csv"))


@pytest.fixture
def shop(site: Site) -> Iterator[Shop]:
    one = Shop(site)
    yield one
    one.go.set()


def paid(rules: Ruleset, watch: Watch) -> Reward:
    """What one step is worth in which all came that the source told."""
    said: list[Said] = list(watch.seen)
    return run(rules, *episode(said))[0]


async def serve_worker(page: Page, site: Site, how: str) -> None:
    """Let a service worker answer orders by the expression ``how``."""
    site.page("/worker.js", Answer(WORKER.replace("HOW", how), headers=SCRIPT))
    await page.evaluate(
        """new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done;
        navigator.serviceWorker.register('/worker.js') }).then(() => 0)"""
    )


async def order(page: Page, watch: Watch, site: Site) -> None:
    """Press the button, and wait until the order came to an end."""
    await page.click("button")
    latest = time.monotonic() + PATIENCE_S
    while True:
        await watch.fence()  # until then a worker's answer may still turn out to be the server's
        if any(is_order(data, site) for data in posts(watch)):
            return
        assert time.monotonic() < latest, "the order never came to an end"


def is_order(data: dict[str, Any], site: Site) -> bool:
    """Whether a request, or what it was redirected from, is the page's order."""
    asked = [data, *data.get("hops", ())]
    return "tab" in data and any(
        hop["method"] == "POST" and hop["url"] == site.url + "/orders" for hop in asked
    )


def accepting(site: Site) -> Ruleset:
    """An order is accepted by 2xx, or by a redirect to `/done`, and says so."""
    wanted = {"method": "POST", "url": "/orders", "body": {"item": "lamp"}}
    forms = [wanted, wanted | {"answer": {"is": "taken"}}, wanted | {"redirect_to": "/done"}]
    return ruleset(
        *({"id": f"m{n}", "when": {"request_accepted": form}} for n, form in enumerate(forms)),
        origin=site.url,
    )


FORGED = {
    "another request's answer": "fetch('/ok')",
    "another request's answer, late": "fetch('/refused').then(() => fetch('/ok'))",
    "the same address with another body": f"fetch('/orders', {OTHER})",
    "the same address without a body": "fetch('/orders', {method: 'POST'})",
    "refused, and told otherwise": f"fetch('/refused', {SAME}).then(() => fetch('/ok'))",
    "its own words": 'new Response(\'{"is": "taken"}\', {status: 201})',
    "a server's words in an answer of its own": (
        "fetch('/ok').then((answer) => new Response(answer.body, answer))"
    ),
    "a cache": (
        "fetch('/ok').then(async (answer) => { const cache = await caches.open('c');"
        " await cache.put('/kept', answer); return cache.match('/kept') })"
    ),
    "a redirect": "Response.redirect('/done', 303)",
    "a redirect after another request": "fetch('/ok').then(() => Response.redirect('/done', 303))",
    "another request's redirect": f"fetch('/redirecting', {{...{SAME}, redirect: 'manual'}})",
    "what it read of it": (
        "fetch('/ok').then((answer) => answer.blob())"
        ".then((read) => new Response(read, {status: 201}))"
    ),
}


@pytest.mark.parametrize("page_with", [FETCH, BUTTON], ids=["fetch", "form"])
@pytest.mark.parametrize("how", FORGED.values(), ids=FORGED.keys())
async def test_11_a_service_worker_that_answers_for_the_server_earns_nothing(
    browser: Chromium, page: Page, shop: Shop, how: str, page_with: str
) -> None:
    site, rules = shop.site, accepting(shop.site)
    url = site.page("/", page_with)
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(url)
        await serve_worker(page, site, how)
        await order(page, watch, site)
    assert ("/orders", ORDER.encode()) not in shop.taken
    assert paid(rules, watch).reward in (0.0, None), [
        data for kind, data in watch.seen if kind.startswith("request")
    ]


PASSED_ON = {
    "as it came": "fetch(request)",
    "copied": "fetch(request.clone())",
    "written anew": f"fetch('/orders', {SAME})",
}


@pytest.mark.parametrize("page_with", [FETCH, BUTTON], ids=["fetch", "form"])
@pytest.mark.parametrize("how", PASSED_ON.values(), ids=PASSED_ON.keys())
async def test_11_an_order_that_a_service_worker_passes_on_is_accepted_once(
    browser: Chromium, page: Page, shop: Shop, how: str, page_with: str
) -> None:
    site, rules = shop.site, accepting(shop.site)
    url = site.page("/", page_with)
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(url)
        await serve_worker(page, site, how)
        await order(page, watch, site)
    assert shop.taken == [("/orders", ORDER.encode())]
    reward = paid(rules, watch)
    assert [m.id for m in reward.milestones] == ["m0", "m1"]
    assert reward.reward is not None
    assert reward.reward > 0


async def test_11_a_redirect_that_a_service_worker_passes_on_is_the_servers(
    browser: Chromium, page: Page, shop: Shop
) -> None:
    site, rules = shop.site, accepting(shop.site)
    site.page(
        "/orders",
        lambda asked: shop.take(asked, Answer(status=303, headers=(("location", "/done"),))),
    )
    url = site.page("/", BUTTON)
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(url)
        await serve_worker(page, site, "fetch(request)")
        await order(page, watch, site)
    assert shop.taken == [("/orders", ORDER.encode())]
    assert [m.id for m in paid(rules, watch).milestones] == ["m2"]


DEVTOOLS = {
    "in the server's place": ("Request", {"responseCode": 201}, "/orders", False),
    "a redirect in its place": (
        "Request", {"responseCode": 303, "responseHeaders": [{"name": "location", "value": "/done"}]}, "/orders", False,
    ),
    "over a refusal": ("Response", {"responseCode": 201}, "/refused", True),
}  # fmt: skip


@pytest.mark.parametrize("page_with", [FETCH, BUTTON], ids=["fetch", "form"])
@pytest.mark.parametrize(("stage", "answer", "to", "asked"), DEVTOOLS.values(), ids=DEVTOOLS.keys())
async def test_11_an_answer_made_up_through_devtools_is_not_the_servers(
    browser: Chromium,
    page: Page,
    shop: Shop,
    stage: str,
    answer: dict[str, Any],
    to: str,
    asked: bool,
    page_with: str,
) -> None:
    site = shop.site
    rules = ruleset(
        {"id": "m", "when": {"request_accepted": {"method": "POST", "url": to}}},
        {
            "id": "r",
            "when": {"request_accepted": {"method": "POST", "url": to, "redirect_to": "/done"}},
        },
        origin=site.url,
    )
    url = site.page("/", page_with.replace("/orders", to))
    client = await page.context.new_cdp_session(page)

    async def fulfill(event: dict[str, Any]) -> None:
        if event["request"]["method"] == "POST":
            made_up = {"requestId": event["requestId"], "body": "eyJpcyI6ICJ0YWtlbiJ9"} | answer
            await client.send("Fetch.fulfillRequest", made_up)
        else:
            await client.send("Fetch.continueRequest", {"requestId": event["requestId"]})

    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(url)
        client.on("Fetch.requestPaused", lambda event: asyncio.ensure_future(fulfill(event)))
        await client.send("Fetch.enable", {"patterns": [{"requestStage": stage}]})
        await page.click("button")
        await watch.until(lambda: [d for d in posts(watch) if d["url"].endswith((to, "/done"))])
        await client.send("Fetch.disable")
        await watch.fence()
    assert bool([one for one in site.asked if one.method == "POST"]) is asked
    assert paid(rules, watch).reward in (0.0, None)


def posts(watch: Watch) -> list[dict[str, Any]]:
    """The ends of requests that were, or began as, POST."""
    found = [*watch.all("request.finished"), *watch.all("request.failed")]
    return [
        data
        for data in found
        if "POST" in (data["method"], *(hop["method"] for hop in data.get("hops", ())))
    ]


SENDS = f"fetch('/late', {OTHER})"
LOST = {
    "aborted": (
        f"const c = new AbortController(); fetch('/late', {{...{OTHER}, signal: c.signal}});"
        " then = () => c.abort()"
    ),
    "aborted after its head": (
        "const c = new AbortController();"
        f" fetch('/endless', {{...{OTHER}, signal: c.signal}}).then(() => c.abort())"
    ),
    "not read": f"fetch('/nothing', {OTHER})",
    "of another XHR": (
        "const x = new XMLHttpRequest(); x.open('POST', '/late'); x.send('a'); then = () =>"
        " x.abort()"
    ),
    "a form, stopped": "submit('/late'); then = () => stop()",
    "a form, left": "submit('/late'); then = () => location = '/done'",
    "a form, an attachment": "submit('/sheet')",
    "a form, nothing": "submit('/nothing')",
    "its frame is gone": (
        "const f = frame(); f.contentWindow.fetch('/late', {method: 'POST', body: 'a'});"
        " then = () => f.remove()"
    ),
    "its frame's form is gone": (
        "const f = frame(); submit('/late', f.contentDocument); then = () => f.remove()"
    ),
    "its page is gone": f"{SENDS}; then = () => location = '/done'",
    "redirected, and not followed": f"fetch('/redirecting', {{...{OTHER}, redirect: 'manual'}})",
    "redirected, which is an error": f"fetch('/redirecting', {{...{OTHER}, redirect: 'error'}})",
    "of another site, not to be read": "fetch('OTHER/nothing', {method: 'POST', body: 'a'})",
    "a beacon, its frame gone": (
        "const f = frame(); f.contentWindow.navigator.sendBeacon('/late', 'a');"
        " then = () => f.remove()"
    ),
    "never answered": SENDS,
}
HELPERS = """
window.then = () => 0;
const poll = () => fetch('/is-taken').then((answer) => answer.text())
    .then((is) => is === 'yes' ? then() : setTimeout(poll, 20));
setTimeout(poll);
const submit = (to, where = document) => { const form = where.createElement('form');
    Object.assign(form, {method: 'post', action: to}); where.body.append(form); form.submit() };
const frame = () => { const one = document.createElement('iframe'); document.body.append(one); return one };
addEventListener('unhandledrejection', (event) => event.preventDefault());
"""


@pytest.mark.parametrize("how", LOST.values(), ids=LOST.keys())
async def test_12_a_write_that_the_server_took_happened_or_is_a_gap(
    browser: Chromium, page: Page, shop: Shop, how: str
) -> None:
    site = shop.site
    paths = ["/late", "/sheet", "/nothing", "/endless", "/redirecting"]
    guard = {
        "other_request_made": {"url": {"path": "/*", "hosts": [site.other]}, "allowed": ["/orders"]}
    }
    loses = [{"request_accepted": {"method": "POST", "url": path}} for path in paths]
    url = site.page("/", "<title>shop</title>")
    guarded = ruleset({"id": "g", "penalty": 0.5, "when": guard}, origin=site.url)
    unless = ruleset(
        {
            "id": "u",
            "when": {"all_of": [{"page_loaded": {"url": "/"}}, {"none_of": [guard]}]},
            "must_hold_at_end": True,
        },
        origin=site.url,
    )
    fined = ruleset({"id": "f", "penalty": 0.5, "when": {"any_of": loses}}, origin=site.url)
    async with watching(browser, guarded.plan("e")) as watch:
        await page.goto(url)
        await page.evaluate(f"() => {{ {HELPERS} {how.replace('OTHER', site.other)}; return 0 }}")
        await asyncio.to_thread(wait_for, lambda: bool(shop.taken))
        await watch.until(lambda: watch.all("request.sent", method="POST"))
        if how != SENDS:
            await watch.until(lambda: posts(watch))
        await watch.source.before_seal(0, closing=True)
    assert shop.taken
    assert paid(guarded, watch).reward in (-0.5, None)
    assert paid(unless, watch).reward in (0.0, None)
    if "redirecting" not in how and "OTHER" not in how:
        assert paid(fined, watch).reward in (-0.5, None)


UNSENT = {
    "to nobody": "fetch('http://127.0.0.1:9/late', {method: 'POST', body: 'a', mode: 'no-cors'})",
    "refused by the page's own policy": "fetch('/late', {method: 'POST', body: 'a'})",
    "aborted before it began": (
        "const c = new AbortController(); c.abort();"
        " fetch('/late', {method: 'POST', body: 'a', signal: c.signal})"
    ),
}


@pytest.mark.parametrize(("name", "how"), UNSENT.items(), ids=UNSENT.keys())
async def test_12_a_write_that_failed_before_the_server_is_none(
    browser: Chromium, page: Page, shop: Shop, name: str, how: str
) -> None:
    site = shop.site
    policy = (
        "<meta http-equiv=content-security-policy content=\"connect-src 'none'\">"
        if "policy" in name
        else ""
    )
    url = site.page("/", policy + "<title>shop</title>")
    guard = {"other_request_made": {"url": {"path": "/*", "hosts": ["http://127.0.0.1:9"]}}}
    rules = ruleset({"id": "g", "penalty": 0.5, "when": guard}, origin=site.url)
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(url)
        await page.evaluate(f"() => {{ {HELPERS} {how}; return 0 }}")
        if "nobody" in name:
            await watch.until(lambda: watch.all("request.failed", method="POST"))
        await watch.source.before_seal(0, closing=True)
    assert not shop.taken
    assert paid(rules, watch).reward == 0.0


def wait_for(question: Any) -> None:
    """Wait in a thread until the server has what it is asked for."""
    over = threading.Event()
    for _ in range(1000):
        if question():
            return
        over.wait(0.02)
    raise AssertionError("the server was never asked")


FAKE = "<button>Add to cart</button><label>Name <input></label>"


@pytest.mark.parametrize(
    "where", ["the site", "data", "file", "blob", "another host", "an own frame"]
)
async def test_11_a_page_of_the_agents_own_earns_nothing(
    browser: Chromium, page: Page, site: Site, tmp_path: Path, where: str
) -> None:
    rules = ruleset(
        {"id": "click", "when": {"element_clicked": {"role": "button", "name": "Add to cart"}}},
        {"id": "field", "when": {"field_filled": {"field": "Name", "value": "Ada"}}},
        {"id": "form", "when": {"form_filled": {"fields": {"Name": "Ada"}}}},
        {"id": "text", "when": {"text_visible": {"text": {"contains": "Add to cart"}}}},
        origin=site.url,
    )
    start, fake = site.page("/", "<title>shop</title>"), site.page("/shop", FAKE)
    local = tmp_path / "shop.html"
    local.write_text(FAKE)
    urls = {
        "data": f"data:text/html,{FAKE}",
        "file": local.as_uri(),
        "another host": site.other + "/shop",
    }
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(start)
        if where == "blob":
            made = "URL.createObjectURL(new Blob([html], {type: 'text/html'}))"
            await page.evaluate(f"(html) => {{ location = {made} }}", FAKE)
            await page.wait_for_url(lambda url: url.startswith("blob:"))
        elif where == "an own frame":
            await page.goto(f"data:text/html,<iframe srcdoc='{FAKE}'></iframe>")
        else:
            await page.goto(urls.get(where, fake))
        frame = page.frames[-1]
        await frame.click("button")
        await frame.fill("input", "Ada")
        await watch.one("field.filled", value="Ada")
        await watch.fence()
    reward = paid(rules, watch).reward
    assert reward is not None
    assert (reward > 0) is (where == "the site")
