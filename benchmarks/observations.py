"""What it costs to record pages as trees at each step: the seal that waits for it, the page's own
main thread, and the bytes of an episode.

A source beside a real browser, one page after the other: a form, a shop's list, a table of 2,000
cells. Times are medians of `ROUNDS` ends of steps, in turns with and without `observations`.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import Mapping
from typing import Any

import orjson
from playwright.async_api import Page, async_playwright

from agentd.core.source import FenceLateError
from agentd.sources.cdp import CdpSource
from benchmarks.measure import line
from benchmarks.observer import PAGE as BOARD
from tests.support.chromium import Chromium

ROUNDS = 15
MAX_BYTES = 32_768
FORM = "<h1>Order</h1><form>" + "".join(
    f"<label>Line {n} <input name=l{n} value={n}></label>" for n in range(20)
)
SHOP = "<h1>Lamps</h1><ul>" + "".join(
    f"<li><h2><a href=/{n}>Lamp {n}</a></h2><p>Only <b>{n}</b> left, {n * 7}.00 EUR</p>"
    f"<button>Add {n} to cart</button></li>"
    for n in range(60)
)
PAGES = {"a form of 20 fields": FORM, "a list of 60 lamps": SHOP, "a table of 2,000 cells": BOARD}


def main() -> None:
    """Take the measurements and print their figures."""
    with Chromium() as chromium:
        asyncio.run(_measure(chromium.endpoint))


async def _measure(endpoint: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(endpoint)
        page = await browser.contexts[0].new_page()
        for name, content in PAGES.items():
            await page.set_content(content)
            without, _ = await _ends_of_steps(endpoint, page, {})
            seconds, sizes = await _ends_of_steps(endpoint, page, {"tree_bytes": MAX_BYTES})
            line(f"{name}: the seal's own work without, ms", f"{without * 1000:.1f}")
            line(f"{name}: with observations, ms", f"{seconds * 1000:.1f}")
            line(f"{name}: bytes of a changed page, of an unchanged one", f"{sizes[0]}, {sizes[1]}")
        await browser.close()


async def _ends_of_steps(
    endpoint: str, page: Page, plan: Mapping[str, Any]
) -> tuple[float, tuple[int, int]]:
    """Return the median of the seconds before a seal, and the bytes that a page took the first
    time and the second."""
    seen: list[int] = []

    def sink(kind: str, data: Mapping[str, object]) -> None:
        if kind == "visual.tree_recorded" and (data.get("tree") or "tree" not in data):
            seen.append(len(orjson.dumps(data)))

    source = CdpSource(endpoint, None, plan)
    is_ready = asyncio.Event()
    running = asyncio.create_task(source.run(sink, is_ready.set))
    await is_ready.wait()
    taken = []
    for number in range(ROUNDS):
        await page.evaluate(f"document.title = 'step {number}'")
        with contextlib.suppress(FenceLateError):
            await source.fence(0.1)
        begun = time.perf_counter()
        await source.before_seal(number, closing=False)
        taken.append(time.perf_counter() - begun)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return statistics.median(taken), (max(seen, default=0), min(seen, default=0))


if __name__ == "__main__":
    main()
