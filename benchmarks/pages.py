"""The pages: how soon each is there, how much script it brings, how a long episode scrolls, how
soon news is on it.

An episode of 10,000 events and 500 steps for the page of one, 100,000 episodes opened over HTTP for
the lists (500 in the short form).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import zstandard
from playwright.sync_api import Page, sync_playwright

from benchmarks.figures import LOWER, NEITHER, RATIO, at_most
from benchmarks.measure import estimate_longest, estimate_median, estimate_share, exact, ratio
from benchmarks.report import PartReport
from benchmarks.wire import drive, request
from detectors.model.codec import GENESIS, encode_segment, sha256
from detectors.model.types import Event
from lab.demo.needs import find_chromium
from lab.demo.parts import DemoService, start_service
from lab.demo.processes import DemoProcesses
from tests.support.postgres import Postgres, programs

TASK: dict[str, Any] = {
    "id": "bench/pages",
    "version": "1",
    "instruction": "Look through the shop, and buy.",
    "origin": "http://shop.test",
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
        {"id": "buy", "when": {"element_clicked": {"role": "button", "name": "Buy"}}},
    ],
}
STEPS, PER_STEP = 500, 20
LOADS, QUICK_LOADS = 7, 3
LISTED, QUICK_LISTED = 100_000, 500
NEWS, QUICK_NEWS = 20, 8
FRAMES, QUICK_FRAMES = 240, 60
PAGES = (
    "/login", "/episodes", "/fleet", "/tasks", "/tasks/bench/pages", "/editor?task=bench/pages",
    "/training", "/label", "/audit",
)  # fmt: skip
LISTS = (
    "/episodes",
    "/episodes?outcome=success",
    "/episodes?label=policy%3D7",
    "/episodes?sort=best",
    "/episodes?task=bench/pages&status=open",
    "/episodes?since=2020-01-01&sort=oldest",
)
PAINT = """() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
  const script = performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'script');
  const sum = (of) => of.reduce((bytes, one) => bytes + one.decodedBodySize, 0);
  return {paint, ready: performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
    first: sum(script.filter((one) => one.startTime <= paint)), script: sum(script)} }"""
SCROLL = """async (frames) => { const list = document.getElementById('spans'); list.scrollTop = 0; const took = [];
  let before = performance.now();
  for (let n = 0; n < frames; n++) { list.scrollTop += 120; await new Promise(requestAnimationFrame);
    const now = performance.now(); took.push(now - before); before = now }
  return took }"""
SEEN = """() => { window.seen = {}; const list = document.getElementById('spans');
  const look = () => { for (const one of list.children) window.seen[one.dataset.step] ??= Date.now() };
  new MutationObserver(look).observe(list, {childList: true}) }"""
EMPTY = """async (frames) => { const took = []; let before = performance.now();
  for (let n = 0; n < frames; n++) { await new Promise(requestAnimationFrame);
    const now = performance.now(); took.push(now - before); before = now }
  return took }"""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with tempfile.TemporaryDirectory() as name, DemoProcesses(Path(name) / "logs") as parts:
        service = start_service(parts, Path(name) / "service")
        with _client(service) as client, _tab(service) as page:
            episode, token = _open(client)
            _tell(client, episode, token, _long())
            _paints(report, page, f"/episodes/{episode}")
            _scrolls(report, page, f"/episodes/{episode}?step=0")
            _news(report, client, page)
        _lists(report, "SQLite", service)
        if programs() is None:
            report.leave_out("Postgres is not installed: nothing is measured on it")
            return
        with Postgres(settings=("max_connections=200",)) as server:
            _lists(
                report,
                "Postgres",
                start_service(parts, Path(name) / "on-postgres", database=server.database()),
            )


@contextmanager
def _client(service: DemoService) -> Iterator[httpx.Client]:
    token = {"authorization": f"Bearer {service.token}"}
    with httpx.Client(base_url=service.url, headers=token, timeout=60) as client:
        client.post("/v1/tasks", json=TASK).raise_for_status()
        yield client


@contextmanager
def _tab(service: DemoService) -> Iterator[Page]:
    """A browser's tab of somebody who is logged in."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page(base_url=service.url, viewport={"width": 1280, "height": 900})
        page.context.add_cookies(
            [{"name": "milestoned", "value": service.token, "url": service.url}]
        )
        yield page
        browser.close()


def _open(client: httpx.Client) -> tuple[str, str]:
    opened = client.post("/v1/episodes", json={"task": TASK["id"]}).raise_for_status().json()
    return opened["episode"], opened["token"]


Said = tuple[str, str, dict[str, Any]]


def _tell(
    client: httpx.Client,
    episode: str,
    token: str,
    said: list[Said],
    first: int = 1,
    prev: str = GENESIS,
) -> str:
    """Append events in segments of 500; gives the log's head."""
    headers = {"authorization": f"Bearer {token}"}
    for start in range(0, len(said), 500):
        part = said[start : start + 500]
        events = [
            Event(episode, first + start + n, source, kind, (first + start + n) * 10_000_000, data)
            for n, (source, kind, data) in enumerate(part)
        ]
        text = encode_segment(events, prev)
        frame = zstandard.compress(text)
        client.post(
            f"/v1/episodes/{episode}/events", content=frame, headers=headers
        ).raise_for_status()
        prev = sha256(text)
    return prev


def _navigated(path: str) -> Said:
    data = {
        "tab": "T",
        "frame": "T",
        "main": True,
        "url": f"http://shop.test{path}",
        "same_document": False,
    }
    return ("cdp", "page.navigated", data)


def _clicked(name: str) -> Said:
    element = {"role": "button", "name": name, "tag": "button"}
    return (
        "cdp",
        "element.clicked",
        {"tab": "T", "frame": "T", "element": element, "trusted": True},
    )


def _long() -> list[Said]:
    said: list[Said] = [("journal", "episode.opened", {"task": TASK["id"], "digest": "d"})]
    for step in range(STEPS):
        said.append(
            (
                "steps",
                "step.began",
                {"step": step, "action": {"says": f"press the button number {step}"}},
            )
        )
        said += [
            _navigated(f"/p{step}/{n}") if n % 2 else _clicked(f"Button {n}")
            for n in range(PER_STEP - 3)
        ]
        said.append(
            _navigated("/cart") if step == 40 else _clicked("Buy" if step == 250 else "Sell")
        )
        said.append(("steps", "step.sealed", {"step": step, "reason": "quiet"}))
    return [*said, ("journal", "episode.closed", {"reason": "done"})]


def _paints(report: PartReport, page: Page, episode: str) -> None:
    loads = report.choose(LOADS, QUICK_LOADS)
    report.head(
        f"pages on loopback, median of {loads} loads; the episode has {STEPS * PER_STEP:,} events"
        f" in {STEPS} steps"
    )
    for path in (*PAGES, episode):
        answer = page.goto(path)
        name = "/episodes/{id}" if path == episode else path
        if answer is None or answer.status != 200:
            report.leave_out(f"{name}: status {answer and answer.status}")
            continue
        found = []
        for _ in range(loads):
            page.goto(path)
            page.wait_for_function(
                "() => performance.getEntriesByName('first-contentful-paint').length"
            )
            found.append(page.evaluate(PAINT))
        page.wait_for_timeout(report.choose(500, 150))  # whatever comes once it is painted
        rest = page.evaluate(PAINT)["script"]
        paint, ready = (estimate_median([one[key] for one in found]) for key in ("paint", "ready"))
        report.add(f"{name}: first paint", paint, "ms", at_most(300))
        script = exact(found[-1]["first"] / 1000)
        report.add(f"{name}: script asked for by then", script, "KB", at_most(300))
        if rest > found[-1]["first"]:
            report.add(f"{name}: script once it is at rest", exact(rest / 1000), "KB", LOWER)
        if path == episode:
            report.add(f"{name}: open, its parts at work", ready, "ms", at_most(1000))


def _scrolls(report: PartReport, page: Page, path: str) -> None:
    page.goto(path)
    page.wait_for_selector("#s-0 .line")
    frames = report.choose(FRAMES, QUICK_FRAMES)
    still, moving = page.evaluate(EMPTY, frames), page.evaluate(SCROLL, frames)
    report.head(f"scrolling through its events, 120 px a frame for {frames} frames")
    report.add("frame at rest", estimate_median(still), "ms", NEITHER)
    report.add("frame while it scrolls", estimate_median(moving), "ms", LOWER)
    row = "frame while it scrolls / at rest"
    report.add(row, ratio(moving, still), RATIO, LOWER, "the same page at rest")
    late = estimate_share(sum(took > 50 for took in moving), len(moving))
    report.add("frames that took more than 50 ms", late, "%", at_most(5))


def _news(report: PartReport, client: httpx.Client, page: Page) -> None:
    """From the append's being sent to the step's being on the page of somebody who looks."""
    episode, token = _open(client)
    opening: list[Said] = [("journal", "episode.opened", {"task": TASK["id"], "digest": "d"})]
    head = _tell(client, episode, token, opening)
    page.goto(f"/episodes/{episode}")
    page.wait_for_timeout(300)  # the stream of news is open
    page.evaluate(SEEN)
    took = []
    for step in range(report.choose(NEWS, QUICK_NEWS)):
        start = time.time()
        began: Said = ("steps", "step.began", {"step": step, "action": "go"})
        head = _tell(client, episode, token, [began], 2 + step, head)
        page.wait_for_function(f"() => window.seen['{step}']")
        took.append(page.evaluate(f"window.seen['{step}']") - start * 1000)
    report.head(
        f"news: {len(took)} steps, from the append's being sent to the step on an open page"
    )
    report.add("news on an open page, median", estimate_median(took), "ms", at_most(200))
    report.add("news on an open page, longest", estimate_longest(took), "ms", LOWER)


def _lists(report: PartReport, store: str, service: DemoService) -> None:
    """The lists with all episodes in them, as the server answers."""
    port = urlsplit(service.url).port or 0
    count = report.choose(LISTED, QUICK_LISTED)
    with _client(service) as client:
        bodies = [
            orjson.dumps({"task": TASK["id"], "labels": {"policy": str(n % 50), "run": str(n)}})
            for n in range(count)
        ]
        asked = [request("POST", "/v1/episodes", service.token, body) for body in bodies]
        drive(port, [asked[n::16] for n in range(16)])
        client.headers["cookie"] = f"milestoned={service.token}"
        report.head(f"lists of {count:,} episodes on {store}: the whole page at the server")
        for path in LISTS:
            took = []
            for _ in range(LOADS):  # of the short form, too: they take milliseconds
                start = time.perf_counter()
                client.get(path).raise_for_status()
                took.append((time.perf_counter() - start) * 1000)
            report.add(f"{path}, {store}", estimate_median(took), "ms", at_most(100))
