"""WebTransport: a page or a worker writes to a server over QUIC, and the browser reports no more than
that a session is there. A guard that hears requests does not know what was written: null, never 0.

Nothing listens at the address: the browser reports a session as it is asked for, and counts the
first one of each page. A server of HTTP/3, tried by hand, took what a page, a removed frame, a worker
and a popup wrote, and of a page that was left the address.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.test_immunity import paid
from tests.cdp.test_workers import told_of
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]
OPEN = "new WebTransport('TO')"
WORKER = f"onmessage = () => {{ const t = {OPEN}; t.ready.catch(() => postMessage(0)) }}"
READY = "document.title = 'done'"
WRITES = {
    "a page": f"{OPEN}.ready.catch(() => {{ {READY} }})",
    "a page that closes it at once": (
        f"const t = {OPEN}; t.ready.catch(() => 0); t.closed.catch(() => 0); t.close(); {READY}"
    ),
    "a frame that is removed": (
        "const f = document.createElement('iframe'); document.body.append(f);"
        " const t = new f.contentWindow.WebTransport('TO'); t.ready.catch(() => 0);"
        f" t.closed.catch(() => 0); f.remove(); {READY}"
    ),
    "a worker": f"worker.onmessage = () => {{ {READY} }}; worker.postMessage(0)",
    "a page as it is left": f"addEventListener('pagehide', () => {OPEN}); location = '/next'",
    "a page as it is left that had one before": (
        f"{OPEN}.ready.catch(() => {{ addEventListener('pagehide', () => {OPEN});"
        " location = '/next' })"
    ),
    "a page that script closes": (
        f"open('/popup').onload = (e) => {{ e.target.defaultView.addEventListener('pagehide',"
        f" () => new e.target.defaultView.WebTransport('TO')); e.target.defaultView.close();"
        f" {READY} }}"
    ),
}
READS = {
    "nothing": READY,
    "a worker that is only there": f"worker.onmessage = null; {READY}",
    "a class that is only looked at": f"WebTransport.prototype; {READY}",
    "what is no address": (f"try {{ new WebTransport('http://no') }} catch (e) {{ {READY} }}"),
}
GUARD = {"other_request_made": {"url": "/*"}}


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nothing answers; no other program can take it meanwhile."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", 0))
        yield f"https://127.0.0.1:{held.getsockname()[1]}/write"


async def press(watch: Watch, page: Page, site: Site, how: str, to: str) -> None:
    """Press a button that does ``how``, and wait until it is done or the page is left. The page has
    a worker where ``how`` speaks to one."""
    has_worker = "worker." in how
    worker = f"const worker = new Worker(URL.createObjectURL(new Blob([`{WORKER}`])));"
    code = f"{worker if has_worker else ''} b.onclick = () => {{ {how} }}".replace("TO", to)
    site.page("/popup", "<title>popup</title>")
    site.page("/next", "<title>done</title>")
    await page.goto(
        site.page("/", f"<title>shop</title><body><button id=b>Go</button><script>{code}</script>")
    )
    if has_worker:
        await told_of(watch)
    await watch.fence()
    watch.seen.clear()  # a worker that begins before it is listened to is a gap of its own
    await page.click("#b")
    await page.wait_for_function("document.title === 'done'")
    await watch.fence()
    await watch.source.before_seal(0, closing=True)


@pytest.mark.parametrize(
    ("how", "worth"),
    [pytest.param(how, ("unobserved", None), id=f"{name} writes") for name, how in WRITES.items()]
    + [pytest.param(how, ("sealed", 0.0), id=name) for name, how in READS.items()],
)
async def test_what_a_page_may_have_written_is_a_gap_for_a_guard(
    browser: Chromium,
    page: Page,
    site: Site,
    nobody: str,
    how: str,
    worth: tuple[str, float | None],
) -> None:
    """A page that opened no session is known."""
    fined = ruleset({"id": "fined", "penalty": 0.5, "when": GUARD}, origin=site.url)
    async with watching(browser, fined.plan("e")) as watch:
        await press(watch, page, site, how, nobody)
        reward = paid(fined, watch)
    assert (reward.status, reward.reward) == worth


async def test_the_gap_lasts_as_long_as_the_session(
    browser: Chromium, page: Page, site: Site, nobody: str
) -> None:
    fined = ruleset({"id": "fined", "penalty": 0.5, "when": GUARD}, origin=site.url)
    async with watching(browser, fined.plan("e")) as watch:
        opened = f"window.t = {OPEN}; t.ready.catch(() => 0); t.closed.catch(() => 0); {READY}"
        await press(watch, page, site, opened, nobody)
        await page.evaluate("t.close()")
        await watch.one("gap.ended", part="request")
        began, ended = (watch.all(f"gap.{how}", part="request") for how in ("began", "ended"))
        assert [gap["reason"].partition(" to ")[0] for gap in began] == [
            "a session of WebTransport"
        ]
        assert len(ended) == 1


async def test_nothing_that_no_guard_asks_for_is_a_gap(
    browser: Chromium, page: Page, site: Site, nobody: str
) -> None:
    """A step is not null for a connection of which no condition speaks."""
    clicked = ruleset({"id": "clicked", "when": {"element_clicked": {"name": "Go"}}})
    async with watching(browser, clicked.plan("e")) as watch:
        await press(watch, page, site, WRITES["a page"], nobody)
        assert watch.all("gap.began", part="request") == []
