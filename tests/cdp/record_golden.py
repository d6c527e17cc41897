"""Records what a real Chromium says in two short scenes, and what the normaliser makes of it.

Run by hand after a change that is meant to change the output: ``python -m tests.cdp.record_golden``.
Look at the difference before committing it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
from playwright.async_api import Dialog, Page, async_playwright

from agentd.sources.cdp import CdpSource, normaliser
from agentd.sources.cdp.asks import Asks
from agentd.sources.cdp.state import Params
from tests.cdp.site import Answer, Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium

GOLDEN = Path(__file__).with_name("golden")
HEARD = (
    "Target.attachedToTarget Target.detachedFromTarget Target.targetCreated Target.targetInfoChanged "
    "Target.targetDestroyed Target.targetCrashed Page.frameNavigated Page.navigatedWithinDocument Page.frameAttached "
    "Page.frameDetached Page.lifecycleEvent Page.getFrameTree Page.createIsolatedWorld Page.javascriptDialogOpening "
    "Page.javascriptDialogClosed Page.downloadWillBegin Runtime.bindingCalled Network.requestWillBeSent "
    "Network.responseReceived Network.loadingFinished Network.loadingFailed Network.getRequestPostData"
).split()
LEFT_OUT = ("timing", "securityDetails", "initiator", "connectTiming", "extraInfo", "callFrames")
HEADERS = ("content-type", "location")


def replay(raw: list[dict[str, Any]]) -> list[list[Any]]:
    """What the normaliser makes of a recording."""
    head, *messages = raw
    fold = normaliser.Normaliser(head["binding"], head["salt"], Asks(lambda url: url.endswith(("/order", "/up"))))
    seen: list[list[Any]] = []
    for message in messages:
        if message["method"] == "settled":
            fold.browser.settled = True
            continue
        seen.extend([one.kind, one.data] for one in fold.feed(message["session"], message["method"], message["params"]))
        fold.network.take_missing()
    return seen


def slim(value: Any) -> Any:
    """A message without what nobody reads."""
    if isinstance(value, list):
        return [slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: text for name, text in item.items() if name.lower() in HEADERS} if key == "headers" else slim(item)
        for key, item in value.items()
        if key not in LEFT_OUT
    }


async def shop(page: Page, site: Site, watch: Watch) -> None:
    """A form with a password that is redirected, a route within the document, a frame of another site."""
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
    site.page("/file", Answer("a,b\n", headers=(("content-type", "text/csv"), ("content-disposition", "attachment"))))
    site.page("/popup", "<title>Popup</title>")
    site.page("/", """<title>Ask</title><button onclick="document.title = confirm('Sure?')">Ask</button>
        <a href=/file>File</a><i onclick="window.open('/popup')">Open</i>""")  # fmt: skip

    async def no(dialog: Dialog) -> None:
        await dialog.dismiss()

    page.on("dialog", no)
    await page.goto(site.url)
    await page.click("button")
    await watch.one("page.titled", title="false")
    await page.click("a")
    await watch.one("download.began")
    async with page.expect_popup() as opened:
        await page.click("i")
    popup = await opened.value
    await watch.one("page.titled", title="Popup")
    await popup.close()
    await watch.one("tab.closed")
    await page.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
    await watch.fence()


async def record(name: str, scene: Any) -> None:
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
                source = CdpSource(browser.endpoint, None, {"request_bodies": ["/order", "/up"], "origin": site.url})
                async with watching(browser, source=source) as watch:
                    assert source._live is not None
                    script = source._live.attachment._script
                    await scene(page, site, watch)
                await agent.close()
    finally:
        normaliser.Normaliser.feed = told  # type: ignore[method-assign]
    raw.insert(0, {"binding": script.binding, "salt": script.salt})
    write(GOLDEN / f"{name}.raw.jsonl", raw)
    write(GOLDEN / f"{name}.seen.jsonl", replay(raw))


def write(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    print(path, len(rows))


async def main() -> None:
    for name, scene in (("shop", shop), ("asking", asking)):
        await record(name, scene)


if __name__ == "__main__":
    asyncio.run(main())
