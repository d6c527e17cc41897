"""The right and the wrong way of instances of MiniWoB++'s pages, recorded live by the daemon: logs
that adversaries are made of. They hold what the pages say, and so are made anew, never kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, get_args

from playwright.sync_api import Browser, BrowserContext, Error, Page, TimeoutError, sync_playwright

from agentd import attach
from lab.benchmarks.miniwob import task_of
from lab.benchmarks.miniwob.registry import UNOBSERVABLE
from tests.miniwob.bench import Way
from tests.miniwob.script import Act, Script
from tests.miniwob.site import begin, instance, reward, serve
from tests.miniwob.table import ENTRIES, seeds
from tests.support.chromium import EXECUTABLE, FLAGS

ACT_MS = 20_000
"""How long an act may wait for its element on a busy machine."""
DECIDE_MS = 1_500
"""How long a page may take to decide after the last act."""
DONE = "() => WOB_DONE_GLOBAL"
TRIES = 4
"""Times that a way is gone at most: a page that pays for haste pays a busy machine less."""


class RecordedInstance(NamedTuple):
    """One instance of a page: its task, the recordings of its right and of its wrong way, and what
    the page paid for the wrong one, at most 1. ``why_not``: why there are no recordings, instead."""

    name: str
    task: dict[str, Any]
    right: Path
    wrong: Path
    wrong_pay: float = 0.0
    why_not: str = ""


def record_ways(
    folder: Path, wanted: Sequence[str], pages: Sequence[str] = ()
) -> Iterator[RecordedInstance]:
    """Record both ways of the instances of the ``wanted`` seeds into the folder, but for those that
    stand there; ``pages``: only these."""
    flags = [flag for flag in FLAGS if not flag.startswith("--remote-debugging")]
    folder.mkdir(parents=True, exist_ok=True)
    with serve() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=flags)
        for page in pages or sorted(ENTRIES.keys() - UNOBSERVABLE.keys()):
            for seed in seeds(page, tuple(wanted)):
                yield _Recorder(browser, origin, folder, page, seed).record()
        browser.close()


class WayError(Exception):
    """A page pays the right way less than all, or the wrong way all."""


class _Recorder:
    """Records one instance of a page."""

    def __init__(self, browser: Browser, origin: str, folder: Path, page: str, seed: str) -> None:
        self._browser, self._origin, self._folder = browser, origin, folder
        self._page, self._seed = page, seed
        self._name = f"{page}-{seed}"

    def record(self) -> RecordedInstance:
        """Record what the folder lacks of the instance."""
        about = self._folder / f"{self._name}.json"
        files = self._file("right"), self._file("wrong")
        try:
            if not about.exists():
                about.write_text(json.dumps(self._record_both()))
        except (Error, WayError) as error:
            why_not = f"a way of it could not be gone: {str(error).splitlines()[0]}"
            return RecordedInstance(self._name, {}, *files, why_not=why_not)
        known = json.loads(about.read_text())
        return RecordedInstance(self._name, known["task"], *files, known["paid"]["wrong"])

    def _record_both(self) -> dict[str, Any]:
        """The task, and what the page paid for each way."""
        with self._browser.new_context() as context:
            script, task = self._read(context)
        ways: tuple[Way, ...] = get_args(Way)
        return {"task": task, "paid": {way: self._record_way(way, script, task) for way in ways}}

    def _file(self, way: Way) -> Path:
        return self._folder / f"{self._name}.{way}.mrec"

    def _read(self, context: BrowserContext) -> tuple[Script, dict[str, Any]]:
        page = self._begin(context)
        task = task_of(instance(page, self._origin, self._page, self._seed))
        return ENTRIES[self._page].read(page), task

    def _begin(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.set_default_timeout(ACT_MS)
        begin(page, self._origin, self._page, self._seed)
        return page

    def _record_way(self, way: Way, script: Script, task: dict[str, Any]) -> float:
        """Go a way until the page pays it as it should; what it paid."""
        for _ in range(TRIES):
            paid = self._go(script.right if way == "right" else script.wrong, task, self._file(way))
            if (paid > 0.97) is (way == "right"):
                return paid
        raise WayError(f"{self._name}: the {way} way was paid {paid:g}")

    def _go(self, acts: Sequence[Act], task: dict[str, Any], file: Path) -> float:
        asked = self._folder / f"{self._name}.task.json"
        asked.write_text(json.dumps(task))
        with self._browser.new_context() as context:
            page = self._begin(context)
            with attach(context, out=file, force="yes", task=str(asked)) as watched:
                for act in acts:
                    watched.begin_step(act._asdict())
                    act.perform(page)
                    watched.end_step()
            with suppress(TimeoutError):  # some decide in a moment, some never
                page.wait_for_function(DONE, timeout=DECIDE_MS)
            return reward(page)
