"""Beside a real browser: what the daemon costs the agent, and how soon a click is a reward."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from milestoned_client import ControlDir, Episode, RewardClient
from playwright.sync_api import Page, sync_playwright

from benchmarks.measure import beside, line, quantile
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
ROUNDS, STEPS, CLICKS = 8, 40, 200
PAGE = """<title>Clicks</title><h1>Clicks</h1><label>Name <input id=name></label>
<button id=go onclick="this.textContent = 'Go ' + ++window.n; fetch('/api/ping')">Go 0</button><script>n = 0</script>"""


def main() -> None:
    """Take the measurements and print their figures."""
    with bench() as on:
        overhead(on)
        latency(on)


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


def overhead(on: Bench) -> None:
    """Median time of an agent's step with the daemon beside the browser, and without."""
    bare, ours = list[float](), list[float]()
    _step(on.page)
    for _ in range(ROUNDS):
        bare.append(_step(on.page))
        with watched(on):
            ours.append(_step(on.page))
    print(
        f"overhead: a Playwright step (fill a field, click, read the page), {ROUNDS * STEPS} of"
        " each, in turns"
    )
    line("without the daemon, ms", f"{statistics.median(bare) * 1000:.2f}")
    line("with the daemon, ms", f"{statistics.median(ours) * 1000:.2f}")
    line("with / without", beside(ours, bare), "wanted <= 1.03")


def _step(page: Page) -> float:
    """Seconds of the median of `STEPS` steps."""
    took = []
    for n in range(STEPS):
        start = time.perf_counter()
        page.fill("#name", f"Ada {n}")
        page.click("#go")
        page.inner_text("#go")
        took.append(time.perf_counter() - start)
    return statistics.median(took)


def latency(on: Bench) -> None:
    """From the click's being sent to Chromium to the sealed reward in the trainer's hand."""
    took = []
    with watched(on) as episode:
        for n in range(CLICKS):
            episode.step({"click": "Go"})
            where = _middle(on.page)
            start = time.perf_counter()
            on.page.mouse.click(*where)
            episode.end_step(n)
            reward = episode.reward(n, wait_s=10)
            took.append(time.perf_counter() - start)
            assert reward.reward is not None, reward
    print(
        f"event to reward: {CLICKS} clicks in Chromium, quiet window 0, to the sealed reward in the"
        " trainer's hand"
    )
    line("p50, ms", f"{quantile(took, 0.5) * 1000:.1f}", "wanted <= 25")
    line("p99, ms", f"{quantile(took, 0.99) * 1000:.1f}", "wanted <= 100 when the machine is quiet")


def _middle(page: Page) -> tuple[float, float]:
    box = page.locator("#go").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


if __name__ == "__main__":
    main()
