"""`python -m benchmarks.miniwob.record OUT`: record the noisy policy on MiniWoB++ pages under our
daemon.

One recording an episode, and a line of ``OUT/episodes.jsonl`` with what the page paid and the task
whose rules score it; ``OUT/events.jsonl`` has those lines whose task has no probe: its rules decide
by what the daemon saw happen, and a model sees that too. Goes on where it was stopped. The page's
display of its own rewards is hidden before the daemon looks: it would tell the answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from agentd import attach
from agentd.core.errors import AgentdError
from benchmarks.miniwob.policy import plan
from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob import task_of
from lab.benchmarks.miniwob.plan import UnobservableError
from tests.miniwob.script import Act, Script
from tests.miniwob.site import begin, instance, reward, serve
from tests.miniwob.table import ENTRIES
from tests.support.chromium import EXECUTABLE, FLAGS

SEEDS, RUNS, FIRST_SEED = 5, 4, 101
ACT_MS = 1_500
READ_MS = 5_000
WHOLE = 0.99
"""What a page pays at least for all that it asks for: some pay a part for a part, which is no
success."""
KINDS = (
    "text.appeared,text.disappeared,element.appeared,element.disappeared,element.focused,"
    "attribute.changed"
)
"""What is asked for beside the kinds that are always told."""
HIDDEN = "#reward-display, #click-canvas { display: none !important }"
DONE = "() => WOB_DONE_GLOBAL === true"

FAILURES = (
    *(Error, IndexError, KeyError, StopIteration, ValueError, AssertionError, AgentdError),
    *(BadSourceError, UnobservableError),
)
"""What leaves out one instance of a page: its script does not know it, or nobody can judge it."""


def main(argv: list[str]) -> int:
    """Record what is missing in OUT; prints a line a page."""
    parser = argparse.ArgumentParser(
        "benchmarks.miniwob.record", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("pages", nargs="*", help="only these pages")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"instances of a page ({SEEDS})")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"episodes of an instance ({RUNS})")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help=f"({FIRST_SEED})")
    given = parser.parse_args(argv)
    given.out.mkdir(parents=True, exist_ok=True)
    flags = [flag for flag in FLAGS if not flag.startswith("--remote-debugging")]
    with serve() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=flags)
        # Seed by seed, so that a run that is stopped has some of every page.
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            for name in given.pages or sorted(ENTRIES):
                Recorder(browser, origin, given.out, name, str(seed)).record(given.runs)
        browser.close()
    return 0


class Recorder:
    """One instance of a page, recorded several times."""

    def __init__(self, browser: Browser, origin: str, out: Path, name: str, seed: str) -> None:
        self._browser, self._origin, self._out = browser, origin, out
        self._name, self._seed = name, seed
        self._index = out / "episodes.jsonl"

    def record(self, runs: int) -> None:
        """Record the runs that the index lacks."""
        known = {line["id"] for line in lines(self._index)}
        wanted = [run for run in range(runs) if self._id(run) not in known]
        if not wanted:
            return
        began = time.monotonic()
        try:
            with self._browser.new_context() as context:
                context.set_default_timeout(READ_MS)
                script, task = self._read(context)
                paid = [self._episode(context, script, task, run) for run in wanted]
        except FAILURES as error:
            print(
                f"{self._name} {self._seed}: {type(error).__name__}: {str(error)[:160]!r}",
                flush=True,
            )
            return
        took = (time.monotonic() - began) / len(wanted)
        print(f"{self._name} {self._seed}: paid {paid}, {took:.1f} s an episode", flush=True)

    def _id(self, run: int) -> str:
        return f"{self._name}-{self._seed}-{run}"

    def _read(self, context: BrowserContext) -> tuple[Script, dict[str, Any]]:
        page = context.new_page()
        begin(page, self._origin, self._name, self._seed)
        task = task_of(instance(page, self._origin, self._name, self._seed))
        script = ENTRIES[self._name].read(page)
        page.close()
        return script, {**task, "version": self._seed}

    def _episode(
        self, context: BrowserContext, script: Script, task: dict[str, Any], run: int
    ) -> float:
        draw = random.Random(hashlib.sha256(self._id(run).encode()).digest())
        way, noise, acts = plan(script, draw)
        page = context.new_page()
        begin(page, self._origin, self._name, self._seed)
        page.add_style_tag(content=HIDDEN)
        file = self._out / f"{self._id(run)}.mrec"
        asked = self._out / f"{self._name}.task.json"
        asked.write_text(json.dumps(task))
        page.set_default_timeout(ACT_MS)
        with attach(context, out=file, force="yes", also=KINDS, task=str(asked)) as watch:
            for act in acts:
                watch.begin_step(_action(act))
                _perform(page, act)
                watch.end_step()
                if page.evaluate(DONE):
                    break
            paid = reward(page) if page.evaluate(DONE) else 0.0
        page.close()
        line = {
            "id": self._id(run),
            "file": file.name,
            "group": family(self._name),
            "way": way,
            "noise": noise,
            "paid": paid,
            "success": paid >= WHOLE,
            "task": task,
        }
        for index in (
            (self._index,) if "probes" in task else (self._index, self._out / "events.jsonl")
        ):
            with index.open("a") as lines_of:
                lines_of.write(json.dumps(line, ensure_ascii=False) + "\n")
        return paid


def family(page: str) -> str:
    """Pages that one reader solves are one family: variants of a page must not stand on both sides
    of a split."""
    return f"miniwob/{ENTRIES[page].read.__name__}"


def lines(index: Path) -> Iterator[dict[str, Any]]:
    """The lines of an index, none where there is none."""
    if index.exists():
        yield from map(json.loads, index.read_text().splitlines())


def _action(act: Act) -> dict[str, str]:
    """The act as a harness tells it: what is done with which text; not the selector, which knows
    the answer."""
    if act.verb == "stray":
        return {"verb": "click"}
    return {"verb": act.verb, "text": act.text} if act.text else {"verb": act.verb}


def _perform(page: Page, act: Act) -> None:
    """Do the act; one whose element is not there fails, as an agent's would."""
    try:
        if act.verb != "stray":
            act.perform(page)
            return
        found = page.locator(act.target)
        if count := found.count():
            found.nth(int(act.text) % count).click(timeout=ACT_MS, force=True)
    except Error:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
