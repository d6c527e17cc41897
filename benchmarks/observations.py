"""What it costs to record pages as trees at each step: the seal that waits for it, the page's own
main thread, and the bytes of an episode.

A source beside a real browser, one page after the other: a form, a shop's list, a table of 2,000
cells. Times are medians of `ROUNDS` ends of steps, in turns with and without `observations`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Any, cast

import orjson
from playwright.async_api import Page, async_playwright

from agentd.core.logs import set_up_quietly
from agentd.core.plan import EpisodePlan
from agentd.core.source import FenceLateError
from agentd.sources.cdp import CdpSource
from benchmarks.figures import LOWER, NEITHER
from benchmarks.measure import Estimate, estimate_difference, estimate_median, exact
from benchmarks.observer import PAGE as BOARD
from benchmarks.report import PartReport
from tests.support.chromium import Chromium

ROUNDS, QUICK_ROUNDS = 15, 5
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


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    set_up_quietly()
    with Chromium() as chromium:
        asyncio.run(_measure(report, chromium.endpoint))


async def _measure(report: PartReport, endpoint: str) -> None:
    rounds = report.choose(ROUNDS, QUICK_ROUNDS)
    report.head(f"observations: the work before a seal, {rounds} ends of steps of each")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(endpoint)
        page = await browser.contexts[0].new_page()
        for name, content in PAGES.items():
            await page.set_content(content)
            without, _ = await _ends_of_steps(endpoint, page, {}, rounds)
            took, sizes = await _ends_of_steps(endpoint, page, {"tree_bytes": MAX_BYTES}, rounds)
            rows: tuple[tuple[str, Estimate, str], ...] = (
                ("observations add to a seal", estimate_difference(took, without), "ms"),
                ("an observation of a changed page", exact(sizes[0]), "bytes"),
                ("an observation of an unchanged page", exact(sizes[1]), "bytes"),
            )
            bare = estimate_median(without)
            report.add(f"{name}: a seal's own work without", bare, "ms", NEITHER)
            for row, estimate, unit in rows:
                reference = "seals without observations" if unit == "ms" else ""
                report.add(f"{name}: {row}", estimate, unit, LOWER, reference)
        await browser.close()


async def _ends_of_steps(
    endpoint: str, page: Page, plan: Mapping[str, Any], rounds: int
) -> tuple[list[float], tuple[int, int]]:
    """Return the milliseconds before each seal, and the bytes that a page took the first time and
    the second."""
    seen: list[int] = []

    def sink(kind: str, data: Mapping[str, object]) -> None:
        if kind == "visual.tree_recorded" and (data.get("tree") or "tree" not in data):
            seen.append(len(orjson.dumps(data)))

    source = CdpSource(endpoint, None, cast(EpisodePlan, plan))
    is_ready = asyncio.Event()
    running = asyncio.create_task(source.run(sink, is_ready.set))
    await is_ready.wait()
    taken = []
    for number in range(rounds):
        await page.evaluate(f"document.title = 'step {number}'")
        with contextlib.suppress(FenceLateError):
            await source.fence(0.1)
        begun = time.perf_counter()
        await source.before_seal(number, closing=False)
        taken.append((time.perf_counter() - begun) * 1000)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return taken, (max(seen, default=0), min(seen, default=0))
