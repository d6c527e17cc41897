"""Records a short session of a real Chromium with Playwright: its trace, its HAR, and what they
become here.

Run by hand after a change that is meant to change the output: ``python -m
tests.convert.record_golden``; with ``--events`` only the events are made anew from the files that
are there. Look at the difference before committing it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import Dialog, async_playwright

from lab.convert.convert import record
from lab.convert.formats import recognise
from lab.convert.source import SourceFile
from tests.cdp.site import Answer, Site
from tests.support.chromium import EXECUTABLE

GOLDEN = Path(__file__).with_name("golden")
INPUTS = ("session.zip", "session.har")
WRITTEN = ("trajectory.json",)
"""Inputs that are written by hand."""
PAGE = """<title>Shop</title><form method=post action=/order>
<label>Name <input name=name></label><input type=password name=pin aria-label=PIN>
<label><input type=checkbox name=terms> Terms</label>
<select name=speed aria-label=Speed><option>slow<option>fast</select><button>Order</button></form>
<iframe src=/inner></iframe><button onclick="history.pushState(0, '', '/cart')">Cart</button>
<button onclick="document.title = confirm('Sure?')">Ask</button>"""


async def session(site: Site) -> None:
    """A form with a password that is redirected, a frame, a route, a dialog, a download, a request
    that fails."""
    site.page("/", PAGE)
    site.page("/inner", "<button>Inner</button>")
    site.page(
        "/order",
        Answer(
            status=303, headers=(("location", "/thanks"), ("set-cookie", "sid=s3cr3t; HttpOnly"))
        ),
    )
    site.page("/thanks", "<title>Thanks</title><a href=/file>File</a>")
    site.page(
        "/file",
        Answer(
            "a,b\n", headers=(("content-type", "text/csv"), ("content-disposition", "attachment"))
        ),
    )
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=EXECUTABLE, args=["--no-sandbox"]
        )
        context = await browser.new_context(record_har_path=GOLDEN / "session.har")
        await context.tracing.start(snapshots=True)
        page = await context.new_page()
        page.on("dialog", accept)
        await page.goto(site.url)
        await page.get_by_label("Name").fill("Ada")
        await page.get_by_label("PIN").fill("1234geheim")
        await page.get_by_label("Terms").check()
        await page.get_by_label("Speed").select_option("fast")
        await page.get_by_label("Name").press_sequentially(" L")
        await page.frame_locator("iframe").get_by_role("button").click()
        await page.get_by_role("button", name="Cart").click()
        await page.get_by_role("button", name="Ask").click()
        await page.get_by_role("button", name="Order").click()
        async with page.expect_download():
            await page.get_by_role("link").click()
        await page.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
        await page.mouse.click(5, 5)
        await context.tracing.stop(path=GOLDEN / "session.zip")
        await context.close()
        await browser.close()


async def accept(dialog: Dialog) -> None:
    await dialog.accept()


def events(name: str) -> bytes:
    """The event lines that a golden input becomes."""
    source = SourceFile(GOLDEN / name)
    return b"".join(line + b"\n" for line in record(source, recognise(source)).lines)


def main() -> None:
    """Write everything."""
    GOLDEN.mkdir(exist_ok=True)
    if "--events" not in sys.argv:
        with Site() as site:
            asyncio.run(session(site))
    for name in (*INPUTS, *WRITTEN):
        (GOLDEN / f"{name}.events.jsonl").write_bytes(events(name))


if __name__ == "__main__":
    main()
