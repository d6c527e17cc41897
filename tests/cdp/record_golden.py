"""Records what a real Chromium says in two short scenes, and what the normaliser makes of it.

Run by hand after a change that is meant to change the output: ``python -m
tests.cdp.record_golden``. Look at the difference before committing it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
from playwright.async_api import Dialog, Page, async_playwright
from websockets.asyncio.server import ServerConnection, serve

from agentd.sources.cdp import CdpSource
from agentd.sources.cdp.folds import normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.state import Params
from tests.cdp.acting import PLAN as ACTING
from tests.cdp.acting import acting
from tests.cdp.hands import hand
from tests.cdp.site import Answer, Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium

BODIES = {"request_bodies": ["/order", "/up"]}
GOLDEN = Path(__file__).with_name("golden")
HEARD = (
    "Target.attachedToTarget Target.detachedFromTarget Target.targetCreated"
    " Target.targetInfoChanged Target.targetDestroyed Target.targetCrashed Page.frameNavigated"
    " Page.navigatedWithinDocument Page.frameAttached Page.frameDetached Page.lifecycleEvent"
    " Page.getFrameTree Page.createIsolatedWorld Page.javascriptDialogOpening"
    " Page.javascriptDialogClosed Page.downloadWillBegin Runtime.bindingCalled"
    " Network.requestWillBeSent Network.responseReceived Network.loadingFinished"
    " Network.loadingFailed Network.getRequestPostData Network.getResponseBody Network.enable"
    " Network.requestServedFromCache Network.requestWillBeSentExtraInfo"
    " Network.responseReceivedExtraInfo Network.webSocketCreated"
    " Network.webSocketHandshakeResponseReceived Network.webSocketFrameSent"
    " Network.webSocketFrameReceived Network.webSocketClosed Network.eventSourceMessageReceived"
    " Network.dataReceived Page.frameStartedNavigating Page.frameRequestedNavigation"
    " Page.getNavigationHistory Page.observed Page.listed Page.windowOpen Page.downloadProgress"
    " Inspector.targetCrashed"
).split()
LEFT_OUT = (
    "timing",
    "securityDetails",
    "initiator",
    "connectTiming",
    "extraInfo",
    "callFrames",
    "associatedCookies",
    "headersText",
)
HEADERS = (
    "content-type",
    "location",
    "cookie",
    "set-cookie",
    "www-authenticate",
    "authorization",
    "content-length",
)


def replay(raw: list[dict[str, Any]]) -> list[list[Any]]:
    """What the normaliser makes of a recording."""
    head, *messages = raw
    asks = (
        CapturePlan.from_plan({"guarded": [], **head["plan"]})  # the browser's counts are not in it
        if "plan" in head
        else CapturePlan(lambda method, url: url.endswith(("/order", "/up")))
    )
    fold = normaliser.Normaliser(head["binding"], head["salt"], asks, live=head.get("live", False))
    seen: list[list[Any]] = []
    for message in messages:
        if message["method"] == "settled":
            seen.extend([one.kind, one.data] for one in fold.settle())
            continue
        seen.extend(
            [one.kind, one.data]
            for one in fold.feed(message["session"], message["method"], message["params"])
        )
        fold.network.take_missing()
    return seen


def slim(value: Any) -> Any:
    """A message without what nobody reads."""
    if isinstance(value, list):
        return [slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: (
            {name: text for name, text in item.items() if name.lower() in HEADERS}
            if key == "headers"
            else slim(item)
        )
        for key, item in value.items()
        if key not in LEFT_OUT
    }


async def shop(page: Page, site: Site, watch: Watch) -> None:
    """A form with a password that is redirected, a route within the document, a frame of another
    site."""
    site.page("/order", Answer(status=302, headers=(("location", "/thanks"),)))
    site.page("/thanks", f"<title>Thanks</title><iframe src='{site.other}/inner'></iframe>")
    site.page("/inner", "<button>Rate us</button>")
    site.page("/", """<title>Shop</title><a href=# onclick="history.pushState(0, '', '/cart'); return false">Cart</a>
        <form method=post action=/order><input name=qty aria-label=Quantity><input type=password name=pin>
        <button>Order</button></form>""")  # fmt: skip
    await page.goto(site.url)
    await page.click("a")
    await page.fill("[name=qty]", "2")
    await page.fill("[name=pin]", "1234geheim")
    await page.click("button")
    await watch.one("page.loaded", url=site.url + "/thanks")
    await page.frame_locator("iframe").locator("button").click()
    await watch.one("element.clicked", main=None)
    await watch.fence()


async def asking(page: Page, site: Site, watch: Watch) -> None:
    """A confirm that is answered with no, a popup that closes, a download, a request that fails."""
    site.page(
        "/file",
        Answer(
            "a,b\n", headers=(("content-type", "text/csv"), ("content-disposition", "attachment"))
        ),
    )
    site.page("/popup", "<title>Popup</title>")
    site.page("/", """<title>Ask</title><button onclick="document.title = confirm('Sure?')">Ask</button>
        <a href=/file>File</a><i onclick="window.open('/popup')">Open</i>""")  # fmt: skip

    async def no(dialog: Dialog) -> None:
        await dialog.dismiss()

    page.on("dialog", no)
    await page.goto(site.url)
    await page.click("button")
    await watch.one("page.title_changed", title="false")
    await page.click("a")
    await watch.one("download.began")
    async with page.expect_popup() as opened:
        await page.click("i")
    popup = await opened.value
    await watch.one("page.title_changed", title="Popup")
    await popup.close()
    await watch.one("tab.closed")
    await page.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
    await watch.fence()


async def exchange(page: Page, site: Site, watch: Watch) -> None:
    """Messages, workers, a challenge, a cookie, an upload, a beacon that outlives its page, answers
    with bodies."""
    script = (("content-type", "text/javascript"),)
    site.page(
        "/w.js",
        Answer(
            "fetch('/order', {method: 'POST', body: 'n=1'}).then(() => postMessage(1))",
            headers=script,
        ),
    )
    site.page("/sw.js", Answer(SERVICE, headers=script))
    site.page(
        "/login",
        Answer(
            "{}",
            headers=(("set-cookie", "sid=1234geheim; HttpOnly"), ("content-type", "text/json")),
        ),
    )
    site.page(
        "/guarded", Answer("no", status=401, headers=(("www-authenticate", 'Basic realm="shop"'),))
    )
    site.page(
        "/ev", Answer("id: 7\ndata: ready\n\n", headers=(("content-type", "text/event-stream"),))
    )
    site.page(
        "/order",
        Answer(
            '{"order": 7, "token": "1234geheim"}', headers=(("content-type", "application/json"),)
        ),
    )
    site.page("/up", "ok")
    site.page("/next", "<title>next</title>")
    await page.goto(site.url)
    async with serve(_echo, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        await page.evaluate(f"({TALK})('ws://127.0.0.1:{port}/chat?token=1234geheim')")
    await page.evaluate(
        "new Promise((done) => { const e = new EventSource('/ev'); e.onmessage = () => { e.close();"
        " done() } })"
    )
    await page.evaluate(
        "new Promise((done) => { new Worker('/w.js').onmessage = done }).then(() => 0)"
    )
    await watch.one("request.finished", via="worker")
    for path in ("/login", "/guarded", "/login"):
        await page.evaluate(
            "(to) => fetch(to, {credentials: to === '/guarded' ? 'omit' : 'include'}).then((r) =>"
            " r.text())",
            path,
        )
    await page.evaluate(
        """async () => { const form = new FormData(); form.append("card", "4111 1111 1111 1111");
        form.append("scan", new File([new Uint8Array(300).fill(200)], "scan.png", {type: "image/png"}));
        await (await fetch("/up", {method: "POST", body: form})).text() }"""
    )
    await page.evaluate(
        """new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done;
        navigator.serviceWorker.register('/sw.js') }).then(() => 0)"""
    )
    await page.evaluate("fetch('/made').then((r) => r.text())")
    await page.evaluate("fetch('/order', {method: 'POST', body: 'n=2'}).then((r) => r.text())")
    await watch.one("request.finished", via="service_worker", method="POST")
    await page.evaluate("navigator.sendBeacon('/up', 'bye'); location = '/next'; 0")
    await watch.one("page.title_changed", title="next")
    await watch.until(lambda: len(watch.all("request.finished", url=site.url + "/up")) == 2)
    await watch.fence()


SETTINGS = """<title>Settings</title><label><input id=wrap type=checkbox> Wrap</label>
<button id=more aria-expanded=false onclick="this.ariaExpanded = 'true'; panel.hidden = false">More</button>
<div id=panel hidden>Advanced</div><p id=told>Saved</p><x-shut></x-shut><script>
customElements.define('x-shut', class extends HTMLElement {
  constructor() {
    super();
    this.attachShadow({mode: 'closed'}).innerHTML = '<button id=within aria-pressed=false>Within</button>';
  }
});
</script>"""


async def standing(page: Page, site: Site, watch: Watch) -> None:
    """What stands now: a box that is ticked and emptied, a panel that opens, a text that goes, a
    button in a closed shadow root."""
    await page.goto(site.page("/", SETTINGS))
    await watch.one("element.state_changed", pressed=False)
    await watch.one("text.shown", text="Saved")
    await page.check("#wrap")
    await watch.one("element.state_changed", checked=True)
    await page.uncheck("#wrap")
    await watch.until(lambda: watch.all("element.state_changed", checked=False)[1:])
    await page.click("#more")
    await watch.one("text.shown", text="Advanced")
    await page.evaluate("told.remove(); panel.remove()")
    await watch.one("element.state_changed", gone=True)
    await watch.fence()


STANDING = {
    "hears": ["element.state_changed", "text.shown"],
    "elements": [{"roles": ["button", "checkbox"]}, {"selector": "#panel"}],
}
SERVICE = """addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => { const to = new URL(event.request.url).pathname;
    if (to === '/made') event.respondWith(new Response('made'));
    if (to === '/order') event.respondWith(fetch(event.request)) });"""
TALK = """(to) => new Promise((done) => { const line = new WebSocket(to);
    line.onopen = () => { line.send('{"password": "1234geheim"}'); line.send(new Uint8Array([1, 255])) };
    line.onmessage = (event) => { if (typeof event.data !== 'string') { line.close(); done() } } })"""


async def _echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def record(name: str, scene: Any, plan: dict[str, Any]) -> None:
    """Run one scene and write its two files."""
    raw: list[dict[str, Any]] = []
    told = normaliser.Normaliser.feed

    def feed(self: normaliser.Normaliser, session: str, method: str, params: Params) -> Any:
        if method in HEARD:
            if self.browser.settled and not any(one["method"] == "settled" for one in raw):
                raw.append({"method": "settled"})
            raw.append({"session": session, "method": method, "params": slim(params)})
        return told(self, session, method, params)

    normaliser.Normaliser.feed = feed  # type: ignore[method-assign]
    try:
        with Site() as site:
            async with Chromium("--site-per-process") as browser, async_playwright() as playwright:
                agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
                page = await agent.contexts[0].new_page()
                plan = BODIES | plan | {"origin": site.url}
                source = CdpSource(browser.endpoint, None, plan)
                async with watching(browser, source=source) as watch:
                    assert source._live is not None
                    script = source._live.attachment._script
                    await scene(page, site, watch)
                await agent.close()
    finally:
        normaliser.Normaliser.feed = told  # type: ignore[method-assign]
    raw.insert(0, {"binding": script.binding, "salt": script.salt, "plan": plan, "live": True})
    write(GOLDEN / f"{name}.raw.jsonl", raw)
    write(GOLDEN / f"{name}.seen.jsonl", replay(raw))


def write(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    print(path, len(rows))


async def browsing(_: Page, site: Site, watch: Watch) -> None:
    """A person's hand: tabs, popups, history, an error page, a crash, a permission, downloads."""
    script = (("content-type", "text/javascript"),)
    site.page(
        "/a",
        "<title>A</title><a href='#x'>X</a><button onclick=\"open('/p', '',"
        " 'noopener')\">P</button>",
    )
    site.page("/p", "<title>P</title><script src=/p.js></script><iframe srcdoc=x></iframe>")
    site.page("/p.js", Answer("1", headers=script))
    attachment = (("content-disposition", "attachment; filename=a.bin"),)
    site.page("/file", Answer("a" * 4000, headers=attachment))
    site.page("/slow", Answer("a" * 4000, headers=attachment, lacks=4000))
    async with hand(watch.browser) as user:
        tab = await user.open(f"{site.url}/a")
        await watch.one("tab.activated", tab=tab)
        await watch.one("page.network_idle", tab=tab)
        session = await user.session(tab)
        await user.click(session, "a")
        await watch.one("page.navigated", url=f"{site.url}/a#x")
        await watch.fence()
        await user.evaluate(session, "history.back()")
        await watch.one("page.navigated", navigation_type="back")
        await user.call(session, "Page.reload")
        await watch.until(lambda: watch.all("page.loaded", tab=tab)[1:])
        await user.click(session, "button")
        popup = await watch.one("page.loaded", url=f"{site.url}/p")
        await user.evaluate(
            await user.session(popup["tab"]), "document.querySelector('iframe').remove()"
        )
        await watch.one("frame.detached", tab=popup["tab"])
        await user.close(popup["tab"])
        await watch.one("tab.closed", tab=popup["tab"])
        permission = {"name": "geolocation"}
        await user.call(
            "", "Browser.setPermission", permission=permission, setting="granted", origin=site.url
        )
        await watch.one("permission.changed", tab=tab)
        await user.evaluate(session, "location = '/file'; 0")
        await watch.one("download.finished")
        await user.evaluate(session, "location = '/slow'; 0")
        await watch.until(lambda: watch.all("download.began")[1:])
        await user.call(
            "", "Browser.cancelDownload", guid=watch.all("download.began")[1]["download"]
        )
        await watch.one("download.canceled")
        await user.call(session, "Page.navigate", url="http://127.0.0.1:9/")
        await watch.one("page.failed", tab=tab)
        await user.crash(session)
        await watch.one("tab.crashed", tab=tab)
        await user.close(tab)
        await watch.one("tab.closed", tab=tab)


SCENES: dict[str, tuple[Any, dict[str, Any]]] = {
    "acting": (acting, ACTING),
    "shop": (shop, {}),
    "standing": (standing, STANDING),
    "asking": (asking, {}),
    "browsing": (browsing, {"also": ["page.parsed", "page.network_idle", "download.progressed"]}),
    "exchange": (
        exchange,
        {
            "also": ["message.sent", "message.received", "request.response_started"],
            "response_bodies": ["/order"],
            "request_headers": ["cookie", "content-type"],
            "response_headers": ["set-cookie"],
        },
    ),
}
"""Scene by name, with what its plan asks beside bodies."""


SHOWN = """<h1>Lamps</h1><form><label>Name <input name=who value=Ada></label>
<label>Password <input type=password name=pw value=1234geheim></label><button>Buy</button></form>"""


async def record_tree() -> None:
    """Write what is recorded of a page to train on; it is asked for, so there is no raw file."""
    with Site() as site:
        site.page("/", SHOWN)
        async with Chromium("--site-per-process") as browser, async_playwright() as playwright:
            agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
            page = await agent.contexts[0].new_page()
            async with watching(browser, {"tree_bytes": 32_768}) as watch:
                await page.goto(site.url)
                await watch.source.before_first_step()
                taken = [data for data in watch.all("visual.tree_recorded") if data.get("tree")]
            await agent.close()
    write(GOLDEN / "trees.seen.jsonl", [["visual.tree_recorded", data] for data in taken])


async def main() -> None:
    """All scenes, or those named on the command line; `trees` is one."""
    for name in sys.argv[1:] or (*SCENES, "trees"):
        if name == "trees":
            await record_tree()
        else:
            await record(name, *SCENES[name])


if __name__ == "__main__":
    asyncio.run(main())
