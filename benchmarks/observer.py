"""What the page observer costs a busy page: 2,000 changes of the document a second, with it and
without, in one run.

The page does a fixed amount of work in each of its frames (rows replaced, texts and classes
changed) and counts the time that its main thread needed; the observer is put beside it as the
daemon does, in turns with a page without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from playwright.sync_api import Browser, Page, sync_playwright

from agentd.core.plan import EpisodePlan
from agentd.sources.cdp.attach.script import PageScript
from benchmarks.browser import FLAGS
from benchmarks.figures import LOWER, NEITHER, RATIO, Wanted, at_most
from benchmarks.measure import estimate_difference, estimate_median, ratio
from benchmarks.report import PartReport
from lab.demo.needs import find_chromium

ROUNDS, QUICK_ROUNDS = 5, 3
SECONDS, QUICK_SECONDS = 4.0, 0.4
CHANGES = 2000
PAGE = """<style>.a { color: navy } .b { color: teal }</style><h1>Board</h1><table id=board></table><ul id=feed></ul>
<label>Name <input id=name></label><button id=go>Go</button><script>
for (let n = 0; n < 400; n++) {
  const row = board.insertRow();
  for (let k = 0; k < 5; k++) row.insertCell().textContent = `${n} ${k}`;
}
const cells = [...document.querySelectorAll('td')];
let n = 0;
function change() {
  n += 1;
  const cell = cells[(n * 37) % cells.length];
  if (n % 4 === 0) cell.className = n % 8 ? 'a' : 'b';
  else if (n % 4 === 1) cell.firstChild.data = String(n);
  else if (n % 4 === 2) cell.textContent = `value ${n}`;
  else {
    const item = document.createElement('li');
    item.innerHTML = `<a href=#${n}>message ${n}</a>`;
    feed.prepend(item);
    if (feed.childElementCount > 50) feed.lastChild.remove();
  }
}
// So many changes in equal parts, as fast as the thread lets them; resolves to changes and seconds.
window.work = (seconds, perSecond) => new Promise((done) => {
  const start = performance.now(), parts = seconds * 50;
  let part = 0, late = 0;
  function tick() {
    part += 1;
    for (let k = 0; k < perSecond / 50; k++) change();
    document.body.offsetHeight; // what was changed is laid out, as a screen would have it
    late = Math.max(late, performance.now() - start - part * 20);
    if (part < parts) setTimeout(tick, Math.max(0, start + part * 20 - performance.now()));
    else done([performance.now() - start, late]);
  }
  tick();
});
</script>"""

PLANS: dict[str, Mapping[str, Any]] = {
    "rules for two fields only": {"hears": ["field.filled"]},
    "texts": {"also": ["text.appeared", "text.disappeared"]},
    "elements": {"also": ["element.appeared", "element.disappeared"]},
    "one attribute": {"also": ["attribute.changed"], "attributes": ["class"]},
    "all kinds": {
        "also": [
            "text.appeared", "text.disappeared", "element.appeared", "element.disappeared",
            "attribute.changed", "element.hovered", "element.focused", "page.scrolled",
            "text.selected", "field.typed",
        ],
        "attributes": ["class"],
    },
}  # fmt: skip


NOBODY = "without"
MAX_RATIOS: dict[str, Wanted] = {"one attribute": at_most(1.05), "all kinds": at_most(1.10)}
"""What is wanted of the page's busy second, by plan."""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    rounds, seconds = report.choose((ROUNDS, SECONDS), (QUICK_ROUNDS, QUICK_SECONDS))
    with sync_playwright() as playwright:
        flags = [flag for flag in FLAGS if not flag.startswith("--remote-debugging")]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=flags)
        report.head(
            f"observer: {CHANGES} changes a second for {seconds:g} s, {rounds} rounds of each in"
            " turns; busy: the time of the page's main thread"
        )
        taken = _take_rounds(browser, rounds, seconds)
        browser.close()
    bare = taken.pop(NOBODY)
    report.add("busy without", estimate_median(bare.busy), "ms a second", NEITHER)
    report.add("longest delay of a part without", estimate_median(bare.late), "ms", NEITHER)
    reference = "the same page without the observer"
    for name, ours in taken.items():
        figure = ratio(ours.busy, bare.busy)
        wanted = MAX_RATIOS.get(name, LOWER)
        report.add(f"{name}: busy with / without", figure, RATIO, wanted, reference)
        added = estimate_difference(ours.busy, bare.busy)
        report.add(f"{name}: added to the page's second", added, "ms", LOWER, reference)
        late = estimate_median(ours.late)
        report.add(f"{name}: longest delay of a part", late, "ms", NEITHER)


class Rounds(NamedTuple):
    """Of each round the main thread's busy milliseconds a second, and the longest delay in ms."""

    busy: list[float]
    late: list[float]


def _take_rounds(browser: Browser, count: int, seconds: float) -> dict[str, Rounds]:
    """Work so many rounds: each once without the observer, and once with each of `PLANS`."""
    plans: dict[str, Mapping[str, Any] | None] = {NOBODY: None, **PLANS}
    taken = {name: Rounds([], []) for name in plans}
    for _ in range(count):
        for name, plan in plans.items():
            page = browser.new_page()
            busy, late = once(page, plan, seconds)
            taken[name].busy.append(busy)
            taken[name].late.append(late)
            page.close()
    return taken


def once(page: Page, plan: Mapping[str, Any] | None, seconds: float) -> tuple[float, float]:
    """One round on a page of its own: the main thread's task time in ms a second, the longest delay
    in ms."""
    session = page.context.new_cdp_session(page)
    page.set_content(PAGE)
    if plan is not None:
        script = PageScript.new(cast(EpisodePlan, plan))
        frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send(
            "Page.createIsolatedWorld", {"frameId": frame, "worldName": script.world}
        )
        session.send(
            "Runtime.addBinding", {"name": script.binding, "executionContextName": script.world}
        )
        where = {"contextId": world["executionContextId"]}
        session.send(
            "Runtime.evaluate", where | {"expression": script.source(initial=True), "silent": True}
        )
    session.send(
        "Performance.enable", {"timeDomain": "threadTicks"}
    )  # its own time, whoever else uses the machine
    page.evaluate(f"work({min(1, seconds / 2)}, {CHANGES})")  # caches are warm, the first look over
    before = _task_ms(session)
    _, delay = page.evaluate(f"work({seconds}, {CHANGES})")
    return (_task_ms(session) - before) / seconds, delay


def _task_ms(session: Any) -> float:
    metrics = {
        one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]
    }
    return float(metrics["TaskDuration"]) * 1000
