"""Beside a real browser: what the daemon costs the agent, and how soon a click is a reward."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from milestoned_client import ControlDir, Episode, RewardClient
from playwright.sync_api import Page, sync_playwright
from websockets.sync.client import connect

from benchmarks.figures import LOWER, NEITHER, RATIO, at_most
from benchmarks.measure import estimate_median, estimate_quantile, ratio
from benchmarks.report import PartReport
from lab.demo.needs import find_chromium
from lab.demo.parts import DemoService, start_daemon, start_service, start_shop
from lab.demo.processes import DemoProcesses

FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--remote-debugging-port=0",
)
ROUNDS, QUICK_ROUNDS = 8, 3
STEPS, QUICK_STEPS = 40, 20
CLICKS, QUICK_CLICKS = 200, 40
PAGE = """<title>Clicks</title><h1>Clicks</h1><label>Name <input id=name></label>
<button id=go onclick="this.textContent = 'Go ' + ++window.n; fetch('/api/ping')">Go 0</button><script>n = 0</script>"""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with bench() as on:
        measure_overhead(report, on)
        measure_latency(report, on)


class Bench(NamedTuple):
    """What is measured: a service, a client of it, and an agent's page on the shop, over a folder
    of their own."""

    parts: DemoProcesses
    folder: Path
    shop: str
    service: DemoService
    client: RewardClient
    page: Page


@contextmanager
def bench() -> Iterator[Bench]:
    """The set-up that every benchmark beside a browser has."""
    with tempfile.TemporaryDirectory() as name, DemoProcesses(Path(name) / "logs") as parts:
        folder = Path(name)
        shop = start_shop(parts, folder / "shop", 0)
        service = start_service(parts, folder / "service")
        with RewardClient(service.url, service.token) as client, agent(folder, shop) as page:
            yield Bench(parts, folder, shop, service, client, page)


@contextmanager
def agent(folder: Path, shop: str) -> Iterator[Page]:
    """An agent's browser on a page of clicks below the shop's address."""
    chromium = find_chromium()
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder / "profile", executable_path=chromium, args=list(FLAGS), headless=True
        )
        page = context.pages[0]
        page.route("**/clicks", lambda route: route.fulfill(content_type="text/html", body=PAGE))
        page.goto(shop + "clicks")
        yield page
        context.close()


def task(shop: str) -> dict[str, Any]:
    """A task that hears clicks and fields of the page, with no quiet window."""
    return {
        "id": "bench/clicks",
        "version": "1",
        "instruction": "Click.",
        "origin": shop.rstrip("/"),
        "settings": {"quiet_ms": 0, "settle_ms": 1000},
        "milestones": [
            {"id": "name", "when": {"field_filled": {"field": "Name", "value": "Ada"}}},
            {
                "id": "go",
                "when": {"element_clicked": {"role": "button", "name": {"starts_with": "Go"}}},
                "repeat": 1000,
            },
        ],
    }


@contextmanager
def watched(on: Bench) -> Iterator[Episode]:
    """The daemon beside the browser, for one episode."""
    parts, folder, _, service, client, page = on
    opened = client.open(client.register_task(task(page.url.removesuffix("clicks"))))
    state = folder / opened.id
    daemon = start_daemon(
        parts, state, service.url, opened.id, opened.token, ("--profile", str(folder / "profile"))
    )
    with RewardClient(service.url, service.token, control=ControlDir(state)) as beside:
        yield beside.episode(opened.id)
    client.episode(opened.id).close()
    daemon.part.wait_end(30)


def measure_overhead(report: PartReport, on: Bench) -> None:
    """Report the median time of an agent's step with the daemon beside the browser, and without."""
    rounds, steps = report.choose((ROUNDS, STEPS), (QUICK_ROUNDS, QUICK_STEPS))
    bare, ours = list[float](), list[float]()
    _step(on.page, steps)
    for _ in range(rounds):
        bare.append(_step(on.page, steps))
        with watched(on):
            ours.append(_step(on.page, steps))
    report.head(
        f"overhead: a Playwright step (fill a field, click, read the page), {rounds * steps} of"
        " each, in turns"
    )
    report.add("agent's step without the daemon", estimate_median(bare), "ms", NEITHER)
    report.add("agent's step with the daemon", estimate_median(ours), "ms", LOWER)
    row = "agent's step with the daemon / without"
    report.add(row, ratio(ours, bare), RATIO, at_most(1.03), "the same steps without it")


def _step(page: Page, steps: int) -> float:
    """Return the milliseconds of the median of so many steps."""
    took = []
    for n in range(steps):
        start = time.perf_counter()
        page.fill("#name", f"Ada {n}")
        page.click("#go")
        page.inner_text("#go")
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took)


def measure_latency(report: PartReport, on: Bench) -> None:
    """Report the time from the click's being sent to Chromium to the sealed reward in the trainer's
    hand, beside a bare round trip to the browser and one to the service."""
    took, trips, alone = list[float](), list[float](), list[float]()
    clicks = report.choose(CLICKS, QUICK_CLICKS)
    with watched(on) as episode, _round_trips(on) as make_round_trips:
        for n in range(clicks):
            trips.append(_timed_ms(make_round_trips))
            episode.step({"click": "Go"})
            where = _middle(on.page)
            start = time.perf_counter()
            on.page.mouse.click(*where)
            alone.append((time.perf_counter() - start) * 1000)
            episode.end_step(n)
            reward = episode.reward(n, wait_s=10)
            took.append((time.perf_counter() - start) * 1000)
            assert reward.reward is not None, reward
    report.head(
        f"event to reward: {clicks} clicks in Chromium, quiet window 0, to the sealed reward in the"
        " trainer's hand"
    )
    reference = "a bare CDP round trip and a bare HTTP one"
    report.add(f"{reference}, p50", estimate_median(trips), "ms", NEITHER)
    report.add("of it Playwright's click alone, p50", estimate_median(alone), "ms", NEITHER)
    for share, bound in ((0.5, 8), (0.99, 15)):
        row = f"click to sealed reward, p{share * 100:.0f}"
        report.add(row, estimate_quantile(took, share), "ms", at_most(bound))
    report.add("click to sealed reward / round trips", ratio(took, trips), RATIO, LOWER, reference)


@contextmanager
def _round_trips(on: Bench) -> Iterator[Callable[[], None]]:
    """Give what asks the browser over its debugging port, then the service, a thing that is no
    work for either."""
    port, path = (on.folder / "profile" / "DevToolsActivePort").read_text().split()
    address = f"ws://127.0.0.1:{port}{path}"
    with connect(address) as browser, httpx.Client(base_url=on.service.url) as service:

        def make_round_trips() -> None:
            browser.send('{"id": 1, "method": "Browser.getVersion"}')
            browser.recv()
            service.get("/healthz").raise_for_status()

        make_round_trips()
        yield make_round_trips


def _timed_ms(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def _middle(page: Page) -> tuple[float, float]:
    box = page.locator("#go").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
