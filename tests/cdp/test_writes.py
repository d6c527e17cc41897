"""Every form in which a page writes to a server, one after the other: a guard that forbids it is paid
its penalty, or the step is null. It is never 0.

Each row is what a button of a page does when the agent presses it. What is true is what the server
took.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Answer, Asked, Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]
PATIENCE_S = 20.0
TRIES = 3
PENALTY = 0.5
READS = ("GET", "HEAD", "OPTIONS")
SCRIPT = (("content-type", "text/javascript"),)
SHEET = (("content-type", "text/csv"), ("content-disposition", "attachment; filename=sheet.csv"))
OPEN = (("access-control-allow-origin", "*"), ("access-control-allow-methods", "PUT"))
ANSWERS: dict[str, Answer] = {
    "/write": Answer("done"),
    "/late": Answer("late"),
    "/nothing": Answer(status=204),
    "/sheet": Answer("a,b", headers=SHEET),
    "/endless": Answer("x" * 99, lacks=99),
    "/without-an-answer": Answer("", lacks=1_000),
    "/seen-other": Answer(status=303, headers=(("location", "/next"),)),
    "/same-again": Answer(status=307, headers=(("location", "/write"),)),
    "/open": Answer("done", headers=OPEN),
}
"""Where the server takes a write, and what it answers; at /late only when the test is over."""

HELPERS = """
const POST = {method: 'POST', body: 'a'}, KEPT = {...POST, keepalive: true};
const taken = () => fetch('/is-taken').then((answer) => answer.text())
    .then((is) => is === 'yes' || new Promise((then) => setTimeout(then, 20)).then(taken));
const form = (to, where = document, more = {}) => { const made = where.createElement('form');
    Object.assign(made, {method: 'post', action: to, ...more}); where.body.append(made); return made };
const frame = (more = {}) => { const made = document.createElement('iframe');
    Object.assign(made, more); document.body.append(made); return made };
const xhr = (to, wait = true) => { const made = new XMLHttpRequest(); made.open('POST', to, wait);
    made.send('a'); return made };
const blob = (text, type) => URL.createObjectURL(new Blob([text], {type}));
addEventListener('unhandledrejection', (event) => event.preventDefault());
"""

WRITES: dict[str, str] = {
    # fetch
    "fetch": "fetch('/write', POST)",
    "fetch, PUT": "fetch('/write', {...POST, method: 'PUT'})",
    "fetch, PATCH": "fetch('/write', {...POST, method: 'PATCH'})",
    "fetch, DELETE": "fetch('/write', {method: 'DELETE'})",
    "fetch, aborted before its answer": (
        "const c = new AbortController(); fetch('/late', {...POST, signal: c.signal});"
        " taken().then(() => c.abort())"
    ),
    "fetch, aborted after the head": (
        "const c = new AbortController();"
        " fetch('/endless', {...POST, signal: c.signal}).then(() => c.abort())"
    ),
    "fetch, never answered": "fetch('/late', POST)",
    "fetch, an answer that is cut off": "fetch('/without-an-answer', POST)",
    "fetch, nothing to say": "fetch('/nothing', POST)",
    "fetch, redirected": "fetch('/seen-other', POST)",
    "fetch, redirected with its body": "fetch('/same-again', POST)",
    "fetch, a redirect not followed": "fetch('/seen-other', {...POST, redirect: 'manual'})",
    "fetch, a redirect is an error": "fetch('/seen-other', {...POST, redirect: 'error'})",
    "fetch, then the page is left": "fetch('/late', POST); taken().then(() => location = '/next')",
    "fetch, then the page is reloaded": "fetch('/late', POST); taken().then(() => location.reload())",
    "fetch, of another site": "fetch('OTHER/write', {...POST, mode: 'no-cors'})",
    "fetch, of another site after a preflight": "fetch('OTHER/open', {...POST, method: 'PUT'})",
    "fetch, kept alive": "fetch('/write', KEPT)",
    "fetch, kept alive, the page left at once": "fetch('/write', KEPT); location = '/next'",
    "fetch, of low priority": "fetch('/write', {...POST, priority: 'low'})",
    "fetchLater, at once": "fetchLater('/write', {...POST, activateAfter: 0})",
    "fetchLater, when the page is left": "fetchLater('/write', POST); location = '/next'",
    "fetchLater, as a tab is closed": (
        "const w = open('/later'); w.onload = () => setTimeout(() => w.close(), 300)"
    ),
    # XMLHttpRequest
    "XHR": "xhr('/write')",
    "XHR, synchronous": "xhr('/write', false)",
    "XHR, synchronous, then the page is left": "xhr('/write', false); location = '/next'",
    "XHR, aborted": "const x = xhr('/late'); taken().then(() => x.abort())",
    # beacons and pings
    "beacon": "navigator.sendBeacon('/write', 'a')",
    "beacon, then the page is left at once": "navigator.sendBeacon('/write', 'a'); location = '/next'",
    "beacon, to another site": "navigator.sendBeacon('OTHER/write', 'a')",
    "beacon, before the page is left": (
        "addEventListener('beforeunload', () => navigator.sendBeacon('/write')); location = '/next'"
    ),
    "beacon, as a frame is removed": (
        "const f = frame({src: '/leaving'}); f.onload = () => f.remove()"
    ),
    "beacon, as a frame is left": (
        "const f = frame({src: '/leaving'}); f.onload = () => { f.onload = null; f.src = '/next' }"
    ),
    "beacon, as the page is left": (
        "addEventListener('pagehide', () => navigator.sendBeacon('/write')); location = '/next'"
    ),
    "beacon, as the page is hidden by leaving it": (
        "addEventListener('visibilitychange', () => navigator.sendBeacon('/write'));"
        " location = '/next'"
    ),
    "beacon, as the page is reloaded": (
        "addEventListener('pagehide', () => navigator.sendBeacon('/write')); location.reload()"
    ),
    "beacon, as a tab is closed": (
        "const w = open('/leaving'); w.onload = () => setTimeout(() => w.close(), 300)"
    ),
    "beacon, as the page is left for one that sends beacons": (
        "addEventListener('pagehide', () => navigator.sendBeacon('/write')); location = '/busy'"
    ),
    "beacon, as the page is left for another site": (
        "addEventListener('pagehide', () => navigator.sendBeacon('/write')); location = 'OTHER/next'"
    ),
    "beacon, as a page under a service worker is left": (
        "navigator.serviceWorker.register('/quiet.js').then(() => navigator.serviceWorker.ready)"
        ".then(() => { addEventListener('pagehide', () => navigator.sendBeacon('/write'));"
        " location = '/next' })"
    ),
    "fetch, kept alive, as the page is left": (
        "addEventListener('pagehide', () => fetch('/write', KEPT)); location = '/next'"
    ),
    "fetch, as the page is left": (
        "addEventListener('pagehide', () => fetch('/write', POST)); location = '/next'"
    ),
    "fetch, as the page is hidden by leaving it": (
        "addEventListener('visibilitychange', () => fetch('/write', POST)); location = '/next'"
    ),
    "fetch, as the page is reloaded": (
        "addEventListener('pagehide', () => fetch('/write', POST)); location.reload()"
    ),
    "fetch, as the page is left for another site": (
        "addEventListener('pagehide', () => fetch('/write', POST)); location = 'OTHER/next'"
    ),
    "fetch, as a frame is removed": (
        "const f = frame({src: '/leaving?fetch'}); f.onload = () => f.remove()"
    ),
    "fetch, as a frame is left": (
        "const f = frame({src: '/leaving?fetch'});"
        " f.onload = () => { f.onload = null; f.src = '/next' }"
    ),
    "fetch, as a frame of a text is removed": (
        "const f = frame({srcdoc: \"<script>onpagehide = () => fetch('/write', {method: 'POST'})</\""
        " + 'script>'}); f.onload = () => f.remove()"
    ),
    "fetch, as a tab is closed": (
        "const w = open('/leaving?fetch'); w.onload = () => setTimeout(() => w.close(), 300)"
    ),
    "fetch, as a page that fetched before is left": (
        "addEventListener('pagehide', () => fetch('/write', POST));"
        " fetch('/is-taken').then(() => setTimeout(() => location = '/next', 300))"
    ),
    "fetch, as a page that fetched before is hidden by leaving it": (
        "document.onvisibilitychange = () => fetch('/write', POST);"
        " fetch('/is-taken').then(() => setTimeout(() => location = '/next', 300))"
    ),
    "fetch, as a page that fetched before is left, the listener new": (
        "fetch('/is-taken').then(() => setTimeout(() => {"
        " addEventListener('pagehide', () => fetch('/write', POST)); location = '/next' }, 300))"
    ),
    "fetch, as a page that fetched before is left for another site, the listener new": (
        "fetch('/is-taken').then(() => setTimeout(() => {"
        " addEventListener('pagehide', () => fetch('/write', POST)); location = 'OTHER/next' }, 300))"
    ),
    "fetch, as a page that fetched before is hidden, the listener new": (
        "fetch('/is-taken').then(() => setTimeout(() => {"
        " document.onvisibilitychange = () => fetch('/write', POST); location = '/next' }, 300))"
    ),
    "fetch, as a page that fetched before is swapped, the listener new": (
        "fetch('/is-taken').then(() => setTimeout(() => {"
        " onpageswap = () => fetch('/write', POST); location = '/next' }, 300))"
    ),
    "XHR, as a page that fetched before is left, the listener new": (
        "fetch('/is-taken').then(() => setTimeout(() => {"
        " addEventListener('pagehide', () => xhr('/write')); location = '/next' }, 300))"
    ),
    "fetch, as a page that fetched before is left for one that reads, the listener new": (
        "fetch('/is-taken').then(() => setTimeout(() => {"
        " addEventListener('pagehide', () => fetch('/write', POST)); location = '/ahead' }, 300))"
    ),
    "fetch, as a page is left, among requests that nobody counts": (
        "setInterval(() => { fetch(blob('a', 'text/plain')); fetch('data:,a');"
        " document.body.insertAdjacentHTML('beforeend', `<link rel=icon href=/i?${Math.random()}>`"
        " + `<svg><use href='/u?${Math.random()}#a'/></svg>`) }, 20);"
        " fetch('/is-taken').then(() => setTimeout(() => {"
        " addEventListener('pagehide', () => fetch('/write', POST)); location = '/next' }, 300))"
    ),
    "XHR, synchronous, as a page that did so before is left, the listener new": (
        "xhr('/allowed', false); setTimeout(() => {"
        " addEventListener('pagehide', () => xhr('/write', false)); location = '/next' }, 300)"
    ),
    "fetch, as a frame that fetched before is removed": (
        "const f = frame({src: '/leaving?fetched'});"
        " f.onload = () => setTimeout(() => f.remove(), 300)"
    ),
    "XHR, as the page is left": (
        "addEventListener('pagehide', () => xhr('/write')); location = '/next'"
    ),
    "XHR, synchronous, as the page is left": (
        "addEventListener('pagehide', () => xhr('/write', false)); location = '/next'"
    ),
    "fetch, in the background": (
        "navigator.serviceWorker.register('/quiet.js').then(() => navigator.serviceWorker.ready)"
        ".then((r) => r.backgroundFetch.fetch('a', [new Request('/write', POST)]))"
    ),
    "ping of a link": (
        "const a = document.createElement('a'); Object.assign(a, {href: '#here', ping: '/write'});"
        " document.body.append(a); a.click()"
    ),
    "ping of a link that is left by": (
        "const a = document.createElement('a'); Object.assign(a, {href: '/next', ping: '/write'});"
        " document.body.append(a); a.click()"
    ),
    "report of the page's own policy": (
        "const m = document.createElement('img'); m.src = 'OTHER/blocked.png'; document.body.append(m)"
    ),
    # forms
    "form": "form('/write').submit()",
    "form, asked to submit": "form('/write').requestSubmit()",
    "form, of many parts": (
        "form('/write', document, {enctype: 'multipart/form-data'}).submit()"
    ),
    "form, its button says where": (
        "const f = form('/next', document, {method: 'get'}); const b = document.createElement('button');"
        " Object.assign(b, {formAction: '/write', formMethod: 'post'}); f.append(b); b.click()"
    ),
    "form, redirected": "form('/seen-other').submit()",
    "form, redirected with its body": "form('/same-again').submit()",
    "form, an attachment": "form('/sheet').submit()",
    "form, nothing to say": "form('/nothing').submit()",
    "form, stopped": "form('/late').submit(); taken().then(() => stop())",
    "form, overtaken by another address": (
        "form('/late').submit(); taken().then(() => location = '/next')"
    ),
    "form, an answer that is cut off": "form('/without-an-answer').submit()",
    "form, in a new tab": "form('/write', document, {target: '_blank'}).submit()",
    "form, in a frame": "frame({name: 'in'}); form('/write', document, {target: 'in'}).submit()",
    "form, to another site": "form('OTHER/write').submit()",
    # frames
    "frame's fetch, the frame removed": (
        "const f = frame(); f.contentWindow.fetch('/late', POST); taken().then(() => f.remove())"
    ),
    "frame's fetch, the frame removed at once": (
        "const f = frame(); f.contentWindow.fetch('/write', KEPT); f.remove()"
    ),
    "frame's beacon, the frame removed at once": (
        "const f = frame(); f.contentWindow.navigator.sendBeacon('/write', 'a'); f.remove()"
    ),
    "frame's form, the frame removed": (
        "const f = frame(); form('/late', f.contentDocument).submit(); taken().then(() => f.remove())"
    ),
    "frame of a text": "frame({srcdoc: \"<script>fetch('/write', {method: 'POST'})</\" + 'script>'})",
    "frame without an origin": (
        "frame({sandbox: 'allow-scripts', srcdoc: \"<script>fetch('SITE/write', {method: 'POST',"
        " mode: 'no-cors'})</\" + 'script>'})"
    ),
    "frame of another site": "frame({src: 'OTHER/writes'})",
    # other tabs
    "popup's fetch": "open('/writes')",
    "popup's fetch, the popup closed": "const w = open('/writes'); taken().then(() => w.close())",
    "popup without an address": "open('').fetch('SITE/write', POST)",
    # workers
    "worker": (
        "new Worker(blob(\"setTimeout(() => fetch('SITE/write', {method: 'POST'}), 500)\","
        " 'text/javascript'))"
    ),
    "worker that ends at once": (
        "new Worker(blob(\"fetch('SITE/write', {method: 'POST', keepalive: true}); close()\","
        " 'text/javascript'))"
    ),
    "worker that answers nobody from then on": (
        "new Worker(blob(\"fetch('SITE/write', {method: 'POST', body: 'a'}); for (;;);\","
        " 'text/javascript'))"
    ),
    "worker that answered nobody before": (
        "new Worker(blob(\"const end = Date.now() + 3000; while (Date.now() < end);"
        " fetch('SITE/write', {method: 'POST', body: 'a'}); for (;;);\", 'text/javascript'))"
    ),
    "shared worker": "new SharedWorker('/shared.js')",
    "service worker": (
        "navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready)"
        ".then((registered) => registered.active.postMessage('write'))"
    ),
    # documents
    "a written document": (
        "document.open(); document.write(\"<script>fetch('/write', {method: 'POST'})</\" +"
        " 'script>'); document.close()"
    ),
    "an address of script": "location = \"javascript:void fetch('/write', {method: 'POST'})\"",
}  # fmt: skip


QUIET: dict[str, str] = {
    "the page is left": "location = '/next'",
    "the page is left, and listens to that": (
        "onpagehide = onunload = () => 0; document.onvisibilitychange = () => 0; location = '/next'"
    ),
    "the page is left after it read": "fetch('/is-taken').then(() => location = '/next')",
    "the page is left as it reads": "fetch('/is-taken'); xhr('/allowed'); location = '/next'",
    "the page is left for one that reads": "location = '/next?reads'",
    "the page is left for one that reads and loads ahead": "location = '/ahead'",
    "the page is left, which reads, loads ahead and listens to that": (
        "onpagehide = onunload = () => 0; document.onvisibilitychange = () => 0;"
        " fetch('/is-taken').then(() => fetch('/is-taken')).then(() => { xhr('/allowed');"
        " document.head.insertAdjacentHTML('beforeend', '<link rel=prefetch href=/p>'"
        " + '<link rel=preload as=fetch crossorigin href=/is-taken?p><link rel=icon href=/i>'"
        " + '<link rel=preload as=image href=/m><link rel=manifest href=/m>');"
        " setTimeout(() => location = '/next', 300) })"
    ),
    "the page is left after a call of an address that is none": (
        "fetch('http://').catch(() => 0); location = '/next'"
    ),
    "the page is left, which read before, after a call of an address that is none": (
        "fetch('/is-taken').then(() => { fetch('http://').catch(() => 0); location = '/next' })"
    ),
    "the page is left after a frame of it": (
        "const f = frame({src: '/next?reads'}); f.onload = () => { f.remove(); location = '/next' }"
    ),
    "the page is left for one under a service worker that reads": (
        "navigator.serviceWorker.register('/reads.js').then(() => navigator.serviceWorker.ready)"
        ".then(() => setTimeout(() => location = '/next', 300))"
    ),
    "the page is left, what is kept alive reads": (
        "fetch('/is-taken', {keepalive: true}); location = '/next'"
    ),
    "the page is left, what is sent may be sent": (
        "navigator.sendBeacon('/allowed', 'a'); fetch('/allowed', KEPT); location = '/next'"
    ),
}
"""Nothing is written that may not be."""

LEFT_FOR = re.compile("/(next|ahead)")

RARER = {
    "fetch, in the background",
    "fetch, as the page is reloaded",
    "fetch, as the page is left for another site",
    "fetch, as a frame is removed",
    "fetch, as a frame is left",
    "fetch, as a frame of a text is removed",
    "fetch, as the page is hidden by leaving it",
    "fetch, as a page that fetched before is hidden by leaving it",
    "fetch, as a frame that fetched before is removed",
    "the page is left as it reads",
    "XHR, as the page is left",
    "the page is left after it read",
    "the page is left for one that reads",
    "the page is left after a frame of it",
    "the page is left for one under a service worker that reads",
}
"""Rows that differ from another one in what is around them."""


def rows(of: dict[str, str]) -> list[Any]:
    """The rows of a table as parameters of a test, by their names. The rarer ones, and of the
    others every third, are of `make test-all` alone: each takes a browser some seconds."""
    marks = {True: (pytest.mark.slow,), False: ()}
    return [
        pytest.param(how, id=name, marks=marks[name in RARER or n % 3 == 2])
        for n, (name, how) in enumerate(of.items())
    ]


class Books:
    """A server that notes each write that it takes."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.taken: list[str] = []
        self.go = threading.Event()
        for path, answer in ANSWERS.items():
            site.page(path, self._taking(answer, wait=path == "/late"))
        site.page("/is-taken", lambda asked: Answer("yes" if self.taken else "no"))
        site.page("/next", _next)
        site.page("/allowed", "taken")
        later = "fetchLater('/write', {method: 'POST', body: 'a'})"
        ahead = (
            "<link rel=prefetch href=/p><link rel=preload as=fetch crossorigin href=/is-taken?p>"
        )
        site.page("/ahead", f"<title>next</title>{ahead}<script>fetch('/is-taken')</script>")
        site.page("/later", f"<title>later</title><script>{later}</script>")
        busy = "fetch('/is-taken'); navigator.sendBeacon('/allowed', 'a'); fetch('/is-taken')"
        busy = f"onload = () => setTimeout(() => {{ {busy} }}, 300)"
        site.page("/busy", f"<title>busy</title><script>{busy}</script>")
        site.page("/writes", "<script>fetch('/write', {method: 'POST', body: 'a'})</script>")
        site.page("/leaving", _leaving)
        write = f"fetch('{site.url}/write', {{method: 'POST', body: 'a'}})"
        site.page("/quiet.js", Answer("addEventListener('fetch', () => 0)", headers=SCRIPT))
        reads = "onactivate = () => fetch('/is-taken'); onfetch = () => 0"
        site.page("/reads.js", Answer(reads, headers=SCRIPT))
        site.page("/shared.js", Answer(write, headers=SCRIPT))
        service = f"addEventListener('message', (event) => event.waitUntil({write}))"
        site.page("/service.js", Answer(service, headers=SCRIPT))

    def _taking(self, answer: Answer, *, wait: bool) -> Any:
        def take(asked: Asked) -> Answer:
            if asked.method not in READS:
                self.taken.append(f"{asked.method} {asked.path}")
            if wait:
                self.go.wait(PATIENCE_S)
            return answer

        return take


def _leaving(asked: Asked) -> Answer:
    """A page that writes as it is left: how says its query."""
    fetched = "fetch('/write', {method: 'POST', body: 'a'})"
    sent = fetched if "fetch" in asked.path else "navigator.sendBeacon('/write')"
    before = "fetch('/is-taken');" if asked.path.endswith("?fetched") else ""
    script = f"{before} addEventListener('pagehide', () => {sent})"
    return Answer(f"<title>leaving</title><script>{script}</script>")


def _next(asked: Asked) -> Answer:
    reads = "<script>fetch('/is-taken')</script>" if asked.path.endswith("?reads") else ""
    return Answer(f"<title>next</title>{reads}")


@pytest.fixture
def books(site: Site) -> Iterator[Books]:
    made = Books(site)
    yield made
    made.go.set()


async def do(
    browser: Chromium, page: Page, books: Books, how: str, *, writes: bool = True
) -> list[float | None]:
    """Press a button that does ``how``; return what the step is worth with a guard that fines each
    write, and with one by which nothing may be written for a milestone to count. ``writes``: the
    server takes one; else the page is left in the end.

    A browser that is busy may drop what a document sends as it is left: then it is done anew, from
    where the first try began.
    """
    for number in range(TRIES):
        if number:
            await _begin_anew(page, books)
        worth = await _do_once(browser, page, books, how, writes=writes)
        if books.taken or not writes:
            return worth
    raise AssertionError(f"the browser sent nothing in {TRIES} tries")


async def _begin_anew(page: Page, books: Books) -> None:
    """Leave nothing of a try: no page, worker, cookie or store, and no answer that waits."""
    books.go.set()
    books.go = threading.Event()
    await page.goto("about:blank")
    for other in page.context.pages:
        if other is not page:
            await other.close()
    session = await page.context.new_cdp_session(page)
    for origin in (books.site.url, books.site.other):
        asked = {"origin": origin, "storageTypes": "all"}
        await session.send("Storage.clearDataForOrigin", asked)
    await session.detach()
    books.taken.clear()  # what an earlier try sent late is not of the next


async def _do_once(
    browser: Chromium, page: Page, books: Books, how: str, *, writes: bool
) -> list[float | None]:
    site = books.site
    code = how.replace("OTHER", site.other).replace("SITE", site.url)
    policy = (("content-security-policy", "img-src 'self'; report-uri /write"),)
    headers = (("content-type", "text/html; charset=utf-8"), *policy)
    html = f"<title>shop</title><body><button id=b>Go</button><script>{HELPERS}"
    url = site.page("/", Answer(f"{html} b.onclick = () => {{ {code} }}</script>", headers=headers))
    urls = {"path": "/*", "hosts": [site.other]}
    guard = {"other_request_made": {"url": urls, "allowed": ["/allowed"]}}
    nothing_else = {"all_of": [{"page_loaded": {"url": "/"}}, {"none_of": [guard]}]}
    fined = ruleset({"id": "fined", "penalty": PENALTY, "when": guard}, origin=site.url)
    gated = ruleset(
        {"id": "gated", "when": nothing_else, "must_hold_at_end": True}, origin=site.url
    )
    await page.goto(url)
    await page.evaluate("fetch('/is-taken').then(() => 0)")  # the browser has counted a call
    await page.goto("about:blank")
    async with watching(browser, fined.plan("e")) as watch:
        await page.goto(url)
        await page.click("#b")
        if writes:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    while not books.taken:  # noqa: ASYNC110 - the server's thread knows no loop
                        await asyncio.sleep(0.02)
            await settle(watch, lambda: paid(fined, watch).reward)
        else:
            await page.wait_for_url(LEFT_FOR)
            await watch.fence()
        await watch.source.before_seal(0, closing=True)
        return [paid(fined, watch).reward, paid(gated, watch).reward]


async def settle(watch: Watch, worth: Any) -> None:
    """Let the step settle, as a step does: until it is worth something or for two seconds."""
    latest = time.monotonic() + 2
    while worth() == 0.0 and time.monotonic() < latest:
        await asyncio.sleep(0.05)
        await watch.fence()


@pytest.mark.parametrize("how", rows(WRITES))
async def test_a_write_that_the_server_took_is_fined_or_a_gap(
    browser: Chromium, page: Page, books: Books, how: str
) -> None:
    fined, gated = await do(browser, page, books, how)
    assert books.taken
    assert fined in (-PENALTY, None)
    assert gated in (0.0, None)


@pytest.mark.parametrize("how", rows(QUIET))
async def test_what_writes_nothing_is_neither_fined_nor_a_gap(
    browser: Chromium, page: Page, books: Books, how: str
) -> None:
    fined, _ = await do(browser, page, books, how, writes=False)
    assert not books.taken
    assert fined == 0.0
