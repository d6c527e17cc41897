"""What the page observer costs a busy page: 2,000 changes of the document a second, with it and
without, in one run.

The page does a fixed amount of work in each of its frames (rows replaced, texts and classes
changed) and counts the time that its main thread needed; the observer is put beside it as the
daemon does, in turns with a page without one.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from agentd.sources.cdp.attach.script import PageScript
from benchmarks.browser import FLAGS
from benchmarks.measure import line
from lab.demo.needs import find_chromium

ROUNDS, SECONDS, CHANGES = 5, 4, 2000
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


def main() -> None:
    """Take the measurements and print their figures."""
    with sync_playwright() as playwright:
        flags = [flag for flag in FLAGS if not flag.startswith("--remote-debugging")]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=flags)
        print(
            f"observer: {CHANGES} changes a second for {SECONDS} s, {ROUNDS} rounds of each in"
            " turns"
        )
        for name, plan in PLANS.items():
            bare, ours, lates = compare(browser, plan)
            line(f"{name}: busy without, ms a second", f"{bare:.0f}")
            line(f"{name}: busy with, ms a second", f"{ours:.0f}")
            line(f"{name}: with / without", f"{ours / bare:.3f}")
            line(f"{name}: added to the page's second, %", f"{(ours - bare) / 10:.2f}")
            line(
                f"{name}: longest delay of a part, ms (without, with)",
                f"{lates[0]:.0f}, {lates[1]:.0f}",
            )
        browser.close()


def compare(browser: Browser, plan: Mapping[str, Any]) -> tuple[float, float, tuple[float, float]]:
    """Medians of the renderer's busy milliseconds a second without and with the observer, and of
    longest delays."""
    busy: dict[bool, list[float]] = {False: [], True: []}
    late: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for observed in (False, True):
            page = browser.new_page()
            took, delay = once(page, plan if observed else None)
            busy[observed].append(took)
            late[observed].append(delay)
            page.close()
    lates = statistics.median(late[False]), statistics.median(late[True])
    return statistics.median(busy[False]), statistics.median(busy[True]), lates


def once(page: Page, plan: Mapping[str, Any] | None) -> tuple[float, float]:
    """One round on a page of its own: the main thread's task time in ms a second, the longest delay
    in ms."""
    session = page.context.new_cdp_session(page)
    page.set_content(PAGE)
    if plan is not None:
        script = PageScript.new(plan)
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
    page.evaluate("work(1, 2000)")  # caches are warm, the first look is over
    before = _task_ms(session)
    _, delay = page.evaluate(f"work({SECONDS}, {CHANGES})")
    return (_task_ms(session) - before) / SECONDS, delay


def _task_ms(session: Any) -> float:
    metrics = {
        one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]
    }
    return float(metrics["TaskDuration"]) * 1000


if __name__ == "__main__":
    main()
