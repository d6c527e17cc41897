"""What a page can do with rarer parts of Chromium: what is told agrees with the server's log, or a
gap says why not."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from playwright.async_api import Page
from websockets.asyncio.server import ServerConnection, serve

from agentd.sources.cdp.network.messages import MAX_PER_SECOND
from tests.cdp.hands import hand
from tests.cdp.site import Answer, Site
from tests.cdp.watching import Data, Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

FORM = """<title>form</title><input name=q>
<button type=button onclick="fetch('/order', {method: 'POST'})">Order</button>
<script>addEventListener('pageshow', (event) => { document.title = event.persisted ? 'restored' : 'new' })</script>"""


def values(watch: Watch) -> list[Any]:
    return [one["value"] for one in watch.all("field.filled")]


def orders(site: Site) -> int:
    return sum(one.path == "/order" for one in site.asked)


async def test_a_form_that_comes_out_of_the_back_forward_cache_is_told_on(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/form", FORM)
    site.page("/order", "ok")
    site.page("/away", "<title>away</title>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.locator("input").press_sequentially("ab")
        await page.goto(f"{site.url}/away")
        await watch.one("page.title_changed", title="away")
        await page.go_back(wait_until="commit")
        await watch.until(lambda: len(watch.all("page.navigated", url=url)) == 2)
        await page.wait_for_function("document.title === 'restored'")
        await page.locator("input").press_sequentially("cd")
        await page.click("button")
        clicked = await watch.one("element.clicked")
        finished = await watch.one("request.finished", url=f"{site.url}/order")
        await watch.fence()
        assert values(watch)[-1] == "abcd"
        assert clicked["trusted"] is True
        assert (finished["method"], finished["status"]) == ("POST", 200)
        assert len(watch.all("request.finished", url=f"{site.url}/order")) == orders(site) == 1
        assert len(watch.all("element.clicked")) == 1, (
            "an observer from before did not stay beside the new one"
        )


RETITLES = "document.title = event.persisted ? 'restored' : 'new'"
RESTORED = """<title>form</title><iframe src=/in></iframe><script>
addEventListener('pageshow', (event) => { DO })</script>"""


@pytest.mark.parametrize(
    "code",
    [
        RETITLES,
        f"setTimeout(() => {{ {RETITLES} }})",
        f"requestAnimationFrame(() => {{ {RETITLES} }})",
    ],
    ids=["at once", "in a task", "in a frame"],
)
async def test_what_a_restored_document_does_at_once_is_told(
    browser: Chromium, page: Page, site: Site, code: str
) -> None:
    """The binding that it had when it went into the cache speaks to nobody, and its new one comes
    some time later."""
    url = site.page("/form", RESTORED.replace("DO", code))
    site.page("/away", "<title>away</title>")
    site.page("/in", "<button>Inside</button>")
    async with watching(browser) as watch:
        for _ in range(3):
            await page.goto(url)
            await watch.one("page.title_changed", title="new")
            await page.goto(f"{site.url}/away")
            await watch.one("page.title_changed", title="away")
            before = len(watch.all("page.title_changed", title="restored"))
            await page.go_back(wait_until="commit")
            await page.wait_for_function("document.title === 'restored'")
            await watch.until(
                lambda before=before: (
                    len(watch.all("page.title_changed", title="restored")) == before + 1
                )
            )
        box = await page.locator("iframe").bounding_box()
        assert box is not None
        await page.mouse.click(
            box["x"] + 30, box["y"] + 20
        )  # the harness has lost the frame's own page by now
        await watch.until(lambda: watch.clicked("Inside"))
        assert len(watch.all("element.clicked")) == 1


RULES = """<title>a</title><a href=/next style="position: fixed; inset: 0">Next</a><script type=speculationrules>
{"prefetch": [{"source": "list", "urls": ["/next"], "eagerness": "immediate"}]}</script>"""


async def test_a_prefetched_page_is_no_page_until_it_is_gone_to(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/a", RULES)
    site.page("/next", "<title>next</title><button>Here</button>")
    async with watching(browser) as watch:
        await page.goto(url)
        async with asyncio.timeout(5):
            while not any(one.path == "/next" for one in site.asked):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await watch.fence()
        assert not watch.all("page.navigated", url=f"{site.url}/next")
        await page.click("a")
        await page.get_by_role("button").click()
        await watch.until(lambda: watch.clicked("Here"))
        assert len(watch.all("page.navigated", url=f"{site.url}/next")) == 1


def pdf() -> bytes:
    """One page that shows a line of text."""
    text = b"BT /F1 24 Tf 20 100 Td (Order 4711 placed) Tj ET"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(text), text), b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]  # fmt: skip
    body = b"".join(b"%d 0 obj%s endobj\n" % (number, part) for number, part in enumerate(parts, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R/Size 6>>\n%%EOF"


async def test_a_pdf_in_the_viewer_is_opaque_and_a_press_on_it_is_told(site: Site) -> None:
    url = site.page("/p.pdf", Answer(pdf(), headers=(("content-type", "application/pdf"),)))
    form = site.page("/form", FORM)
    site.page("/order", "ok")
    plan = {"also": ["text.appeared"]}
    async with Chromium() as chromium, watching(chromium, plan) as watch, hand(chromium) as user:
        tab = await user.open(url)
        session = await user.session(tab)
        opaque = await watch.one("element.unobservable", tab=tab)
        while not watch.all("element.pressed"):  # the viewer takes the first ones while it loads
            for kind in ("mousePressed", "mouseReleased"):
                await user.call(
                    session,
                    "Input.dispatchMouseEvent",
                    type=kind,
                    x=400,
                    y=200,
                    button="left",
                    clickCount=1,
                )
            await asyncio.sleep(0.5)
        pressed = watch.all("element.pressed")[0]
        await watch.fence()
        assert opaque["reason"].startswith("a plug-in: application/")
        assert opaque["reason"].endswith("pdf")
        assert (pressed["element"]["tag"], pressed["trusted"]) == ("embed", True)
        assert not [one for one in watch.all("text.appeared") if "4711" in one["text"]], (
            "its text stays unknown"
        )

        def loads() -> list[Data]:
            told = watch.all("request.finished", url=url)
            return [one for one in told if "served_from" not in one]

        # The document's own load ends once the viewer has read it to its end.
        await watch.until(loads)
        await user.call(session, "Page.navigate", url=form)
        await watch.one("page.title_changed", title="new")
        await user.click(session, "button")
        await watch.one("request.finished", url=f"{site.url}/order")
        assert watch.clicked("Order")
        assert len(loads()) == sum(one.path == "/p.pdf" for one in site.asked) == 1, (
            "the viewer's own load is no second"
        )


FENCED = """<title>outer</title><button onclick="fetch('/order', {method: 'POST'})">Order</button><script>
const fenced = document.createElement('fencedframe'); document.body.append(fenced);
fenced.setAttribute('src', '/in'); fenced.src = '/in';
try { fenced.config = new FencedFrameConfig(location.origin + '/in') } catch (error) { document.title = error.name }
</script>"""


async def test_a_page_cannot_fill_a_fenced_frame_and_is_told_around_it(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Only the browser's advertising interfaces make an address for one; none of its flags let a
    page do so."""
    fenced = (("content-type", "text/html"), ("supports-loading-mode", "fenced-frame"))
    site.page("/in", Answer("<button>Inside</button>", headers=fenced))
    site.page("/order", "ok")
    async with watching(browser) as watch:
        await page.goto(site.page("/outer", FENCED))
        if not await page.evaluate("'HTMLFencedFrameElement' in window"):
            pytest.skip("this Chromium has no <fencedframe>")
        await watch.one("page.title_changed", title="TypeError")
        await page.click("button")
        await watch.one("request.finished", url=f"{site.url}/order")
        await watch.fence()
        assert watch.clicked("Order")
        assert not [one for one in site.asked if one.path == "/in"]
        assert not watch.all("page.navigated", url=f"{site.url}/in")
        assert orders(site) == 1


TABS = 100
FLOOD = f"""<title>flood</title>
<button onclick="for (let i = 0; i < {TABS}; i++) window.open('about:blank')">Open</button>
<p onclick="fetch('/order', {{method: 'POST'}})">Order</p>"""


@pytest.mark.slow
async def test_a_hundred_tabs_at_once_are_each_told_once_and_their_opener_goes_on(
    site: Site,
) -> None:
    url = site.page("/flood", FLOOD)
    site.page("/order", "ok")
    async with (
        Chromium("--disable-popup-blocking") as chromium,
        watching(chromium) as watch,
        hand(chromium) as user,
    ):
        tab = await user.open(url)
        session = await user.session(tab)
        await watch.one("page.loaded", tab=tab)
        await user.evaluate(session, "document.querySelector('button').click()")
        await user.evaluate(session, "document.querySelector('p').click()")
        await watch.one("request.finished", url=f"{site.url}/order")
        await watch.until(lambda: len(watch.all("tab.opened")) >= TABS + 1)
        await watch.fence()
        tabs = [one["tab"] for one in watch.all("tab.opened")]
        assert len(tabs) == len(set(tabs)) == TABS + 1
        assert len(watch.all("request.finished", url=f"{site.url}/order")) == orders(site) == 1
        assert [one["trusted"] for one in watch.all("element.clicked")] == [
            False,
            False,
        ], "the script clicked"
        assert len(watch.seen) < 10 * TABS, "the events of a flood are bounded"


FRAMES = 50_000
SEND = """([to, count]) => new Promise((done) => { const line = new WebSocket(to);
    line.onopen = () => { for (let i = 0; i < count; i++) line.send('frame ' + i); line.send('end') };
    line.onmessage = () => { line.close(); done() } })"""


@pytest.mark.slow
async def test_fifty_thousand_frames_are_a_gap_of_messages_alone(
    browser: Chromium, page: Page, site: Site
) -> None:
    heard = 0

    async def count(connection: ServerConnection) -> None:
        nonlocal heard
        async for message in connection:
            heard += 1
            if message == "end":
                await connection.send("done")

    url = site.page("/form", FORM)
    site.page("/order", "ok")
    plan = {"also": ["message.sent", "message.received"]}
    async with serve(count, "127.0.0.1", 0) as server, watching(browser, plan) as watch:
        port = next(iter(server.sockets)).getsockname()[1]
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        begun = asyncio.get_running_loop().time()
        await page.evaluate(SEND, [f"ws://127.0.0.1:{port}/", FRAMES])
        await page.click("button")
        await watch.one("request.finished", url=f"{site.url}/order")
        await watch.fence()
        took = asyncio.get_running_loop().time() - begun
        assert heard == FRAMES + 1
        assert 0 < len(watch.all("message.sent")) <= MAX_PER_SECOND * (int(took) + 2)
        gaps = watch.all("gap.began", part="message")
        assert f"more than {MAX_PER_SECOND} messages a second" in gaps[0]["reason"]
        assert watch.clicked("Order")
        touched = {one["part"] for one in watch.all("gap.began")} - {
            "tab.activated"
        }  # the harness's tabs all say front
        assert touched == {"message"}, "nothing else is touched"


CALLS = """<title>calls</title><script>
const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}]}); peer.createDataChannel('x');
peer.createOffer().then((offer) => peer.setLocalDescription(offer))</script>"""


async def test_what_a_page_sends_over_webrtc_is_known_to_be_a_hole(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Should this fail the browser tells of it now: docs/network.md, "What cannot be observed"."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        port = str(stun.getsockname()[1])
        url = site.page("/calls", CALLS.replace("PORT", port))
        async with watching(browser) as watch:
            await page.goto(url)
            loop = asyncio.get_running_loop()
            assert await asyncio.wait_for(loop.sock_recv(stun, 2_000), 30)
            await watch.fence()
            assert [one["url"] for one in watch.all("request.sent") if port in one["url"]] == []
            assert watch.all("gap.began", part="request") == []
