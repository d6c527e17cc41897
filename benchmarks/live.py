"""Somebody looks at the page of an episode that runs: how soon a click in the agent's browser is on
it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from playwright.sync_api import Page, sync_playwright

from benchmarks.browser import bench, watched
from benchmarks.figures import LOWER, at_most
from benchmarks.measure import estimate_median, estimate_quantile
from benchmarks.report import PartReport
from lab.demo.needs import find_chromium
from lab.demo.parts import DemoService

CLICKS, QUICK_CLICKS = 40, 15
PATIENCE_S = 30
SEEN = """() => { window.seen = {}; const list = document.getElementById('spans');
  const look = () => { const told = list.textContent;
    for (const [name] of told.matchAll(/Go \\d+/g)) window.seen[name] ??= Date.now() };
  new MutationObserver(look).observe(list, {childList: true, subtree: true}) }"""
CLICKED = "addEventListener('click', () => { (window.at ??= []).push(Date.now()) }, true)"


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with bench() as on:
        on.page.evaluate(CLICKED)
        with watched(on) as episode, _looked_at(on.service, episode.id) as looker:
            took = []
            for n in range(report.choose(CLICKS, QUICK_CLICKS)):
                episode.step({"click": "Go"})
                on.page.click("#go")
                seen = looker.shown_at(f"Go {n}")
                took.append(seen - on.page.evaluate("window.at.at(-1)"))
                episode.end_step(n)
    report.head(
        f"live: {len(took)} clicks in Chromium, from the page's own click to its line on the"
        " episode's page beside it"
    )
    report.add("click to its line on a page, p50", estimate_median(took), "ms", at_most(200))
    report.add("click to its line on a page, p90", estimate_quantile(took, 0.9), "ms", LOWER)


class _Looker:
    """Another browser, in a thread of its own: Playwright's calls that wait are one a thread."""

    def __init__(self, service: DemoService, episode: str) -> None:
        self._service, self._episode = service, episode
        self._asks: SimpleQueue[str | None] = SimpleQueue()
        self._told: SimpleQueue[float | Exception] = SimpleQueue()
        self._thread = threading.Thread(target=self._run)

    def begin(self) -> None:
        """Start the browser, and return once it looks."""
        self._thread.start()
        self._take()

    def shown_at(self, name: str) -> float:
        """When the line of the click on what had that name stood there, in ms of the clock."""
        self._asks.put(name)
        return self._take()

    def end(self) -> None:
        """Close the browser and wait for its thread."""
        self._asks.put(None)
        self._thread.join(PATIENCE_S)

    def _take(self) -> float:
        told = self._told.get(timeout=PATIENCE_S)
        if isinstance(told, Exception):
            raise told
        return told

    def _run(self) -> None:
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=find_chromium(), args=["--no-sandbox"]
                )
                page = browser.new_page(
                    base_url=self._service.url, viewport={"width": 1280, "height": 900}
                )
                page.context.add_cookies(
                    [{"name": "milestoned", "value": self._service.token, "url": self._service.url}]
                )
                self._look(page)
                browser.close()
        except Exception as error:  # noqa: BLE001 - it is raised where it was asked
            self._told.put(error)

    def _look(self, page: Page) -> None:
        with page.expect_response("**/live?**"):
            page.goto(f"/episodes/{self._episode}")
        page.evaluate(SEEN)
        self._told.put(0.0)
        while (name := self._asks.get()) is not None:
            page.wait_for_function(
                "(name) => window.seen[name]", arg=name, timeout=PATIENCE_S * 1000
            )
            self._told.put(page.evaluate("(name) => window.seen[name]", name))


@contextmanager
def _looked_at(service: DemoService, episode: str) -> Iterator[_Looker]:
    looker = _Looker(service, episode)
    try:
        looker.begin()
        yield looker
    finally:
        looker.end()
