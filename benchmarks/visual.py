"""What the visual recording costs the agent: its step with --visual, without, and with rrweb's own
in-page recorder.

Rounds take turns on one page of a few hundred elements that changes with every step. The in-page
recorder is used as rrweb's guide has it: in the page's own world, its events kept and sent to the
site twice a second.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from milestoned_client import ControlDir, RewardClient
from playwright.sync_api import Page, Route

from benchmarks.browser import Bench, bench, task
from benchmarks.figures import LOWER, NEITHER, RATIO, at_most
from benchmarks.measure import estimate_median, ratio
from benchmarks.report import PartReport
from lab.demo.parts import start_daemon

ROUNDS, QUICK_ROUNDS = 5, 2
STEPS, QUICK_STEPS = 30, 10
MODULES = Path(".build/page/node_modules")
PAGE = """<title>Rows</title><style>tr:nth-child(odd) { background: #eee }</style><h1>Rows</h1>
<label>Name <input id=name></label><button id=go>Go 0</button><table id=rows></table><script>
let n = 0;
function row(text) { const one = rows.insertRow(); for (let c = 0; c < 6; c++) one.insertCell().textContent = text + c }
for (let r = 0; r < 60; r++) row('row ' + r + ' ');
go.onclick = () => { go.textContent = 'Go ' + ++n; rows.deleteRow(0); row(name + n + ' '); fetch('/api/ping') };
</script>"""
BESIDE = """() => { const kept = [];
rrwebRecord.record({emit: (event) => kept.push(event), maskAllInputs: true});
const send = () => kept.length && fetch('/api/ping', {method: 'POST', body: JSON.stringify(kept.splice(0))});
setInterval(send, 500) }"""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with bench() as on:
        on.page.route("**/rows", lambda route: route.fulfill(content_type="text/html", body=PAGE))
        on.page.route("**/api/ping", _pong)
        on.page.goto(on.shop + "rows")
        _compare(report, on)


def _pong(route: Route) -> None:
    route.fulfill(status=204)


def _compare(report: PartReport, on: Bench) -> None:
    rounds, steps = report.choose((ROUNDS, STEPS), (QUICK_ROUNDS, QUICK_STEPS))
    took: dict[str, list[float]] = {"off": [], "on": [], "in the page": []}
    for number in range(steps):
        _step(on.page, number)
    recorder = (MODULES / "@rrweb" / "record" / "dist" / "record.umd.min.cjs").read_text(
        encoding="utf-8"
    )
    for _ in range(rounds):
        for name, options in (("off", ()), ("on", ("--visual",)), ("in the page", ())):
            own = recorder if name == "in the page" else ""
            took[name].append(_watched_step(on, options, own, steps))
    report.head(
        "visual recording: a Playwright step (fill, click, read) beside the daemon,"
        f" {rounds * steps} of each, in turns"
    )
    off, visual, in_page = took.values()
    report.add("step, visual recording off", estimate_median(off), "ms", NEITHER)
    report.add("step, visual recording on", estimate_median(visual), "ms", LOWER)
    row = "step, off, with rrweb's own recorder in the page"
    report.add(row, estimate_median(in_page), "ms", NEITHER)
    reference = "the same steps with it off"
    report.add("visual recording on / off", ratio(visual, off), RATIO, at_most(1.10), reference)
    row = "rrweb's own in the page / off"
    report.add(row, ratio(in_page, off), RATIO, NEITHER, reference)


def _watched_step(on: Bench, options: tuple[str, ...], recorder: str, steps: int) -> float:
    """Return the milliseconds of the median of so many steps of an episode that is watched."""
    parts, folder, _, service, client, page = on
    opened = client.open(client.register_task(task(page.url.removesuffix("rows"))))
    state = folder / opened.id
    browser = ("--profile", str(folder / "profile"), *options)
    daemon = start_daemon(parts, state, service.url, opened.id, opened.token, browser)
    page.reload()
    if recorder:
        page.add_script_tag(content=recorder)
        page.evaluate(BESIDE)
    with RewardClient(service.url, service.token, control=ControlDir(state)) as beside:
        episode = beside.episode(opened.id)
        took = []
        for n in range(steps):
            episode.step({"click": "Go"})
            took.append(_step(page, n))
            episode.end_step(n)
    client.episode(opened.id).close()
    daemon.part.wait_end(30)
    return statistics.median(took)


def _step(page: Page, n: int) -> float:
    """Return the milliseconds of one step."""
    start = time.perf_counter()
    page.fill("#name", f"Ada {n}")
    page.click("#go")
    page.inner_text("#go")
    return (time.perf_counter() - start) * 1000
