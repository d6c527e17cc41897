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
from benchmarks.measure import line
from lab.demo.parts import start_daemon

ROUNDS, STEPS = 5, 30
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


def main() -> None:
    """Take the measurements and print their figures."""
    with bench() as on:
        on.page.route("**/rows", lambda route: route.fulfill(content_type="text/html", body=PAGE))
        on.page.route("**/api/ping", _pong)
        on.page.goto(on.shop + "rows")
        _compare(on)


def _pong(route: Route) -> None:
    route.fulfill(status=204)


def _compare(on: Bench) -> None:
    took: dict[str, list[float]] = {"off": [], "on": [], "in the page": []}
    _steps(on.page, [])
    recorder = (MODULES / "@rrweb" / "record" / "dist" / "record.umd.min.cjs").read_text(
        encoding="utf-8"
    )
    for _ in range(ROUNDS):
        for name, options in (("off", ()), ("on", ("--visual",)), ("in the page", ())):
            _watched(on, options, took[name], recorder if name == "in the page" else "")
    off, on, beside = (statistics.median(took[name]) for name in took)
    print(
        "visual recording: a Playwright step (fill, click, read) beside the daemon,"
        f" {ROUNDS * STEPS} of each, in turns"
    )
    line("off, ms", f"{off * 1000:.2f}")
    line("on, ms", f"{on * 1000:.2f}")
    line("off, with rrweb's own recorder in the page, ms", f"{beside * 1000:.2f}")
    line("on / off", f"{on / off:.3f}", "wanted <= 1.10")
    line("rrweb's own in the page / off", f"{beside / off:.3f}")


def _watched(on: Bench, options: tuple[str, ...], took: list[float], recorder: str) -> None:
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
        for n in range(STEPS):
            episode.step({"click": "Go"})
            _step(page, n, took)
            episode.end_step(n)
    client.episode(opened.id).close()
    daemon.part.wait_end(30)


def _steps(page: Page, took: list[float]) -> None:
    for n in range(STEPS):
        _step(page, n, took)


def _step(page: Page, n: int, took: list[float]) -> None:
    start = time.perf_counter()
    page.fill("#name", f"Ada {n}")
    page.click("#go")
    page.inner_text("#go")
    took.append(time.perf_counter() - start)


if __name__ == "__main__":
    main()
