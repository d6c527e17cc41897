"""`python -m benchmarks.unseen.record OUT`: record programs and pages that no model of the package was
trained on or measured on.

Every way of every scene is an episode: right, near miss, wrong. ``OUT/episodes.jsonl`` has a line an
episode, with the task whose rules score it and with what came of it (``success``): of programs the
folder and the answer, of pages the state that was sent last. Its group is the program or the page.
Goes on where it was stopped. Programs that this machine lacks are left out, by name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import structlog
from playwright.sync_api import Browser, Error, Page, sync_playwright

from agentd import attach
from agentd.core.errors import AgentdError
from benchmarks.desktop import managers
from benchmarks.desktop.record import ROUNDS, Make, Recorder, lines
from benchmarks.miniwob.record import KINDS as ALSO
from benchmarks.unseen import commands, page_tasks, programs
from benchmarks.unseen.page_tasks import PageAct, PageScene
from benchmarks.unseen.site import PageSite, serve_pages
from tests.support.chromium import EXECUTABLE, FLAGS
from tests.support.desktop import Desktop, missing

ACT_MS = 1_500
LOAD_MS = 10_000
MakePage = Callable[[random.Random], PageScene]
PAGES: dict[str, MakePage] = {f"unseen/{make.__name__}": make for make in page_tasks.KINDS}


def makers() -> Iterator[tuple[str, str, Make]]:
    """Program, name, and what makes a scene of it, of every scene for which this machine has the
    program."""
    kinds: list[tuple[str, str, Make]] = []
    kinds += [(name, make.__name__, make) for name, make in commands.KINDS.items()]
    kinds += [(name, "editing", partial(programs.editing, name)) for name in programs.EDITORS]
    for make in managers.KINDS:
        kinds.append((programs.MANAGER, make.__name__, partial(programs.managing, make)))
    kinds += [
        (name, "calculating", partial(programs.calculating, name)) for name in programs.CALCULATORS
    ]
    for kind in kinds:
        if shutil.which(kind[0]) is not None:
            yield kind
        else:
            print(f"{kind[0]}: not on this machine", file=sys.stderr)


def main(argv: list[str]) -> int:
    """Record what is missing in OUT; prints a line an episode."""
    parser = argparse.ArgumentParser(
        "benchmarks.unseen.record", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("groups", nargs="*", help="only these programs and pages (unseen/NAME)")
    parser.add_argument("--seed", type=int, default=1, help="first seed of names and texts (1)")
    given = parser.parse_args(argv)
    given.out.mkdir(parents=True, exist_ok=True)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    pages = [name for name in PAGES if name in (given.groups or PAGES)]
    scenes = [one for one in makers() if one[0] in (given.groups or (one[0],))]
    if pages:
        record_pages(given.out, pages, given.seed)
    return record_programs(given.out, scenes, given.seed) if scenes else 0


def record_programs(out: Path, scenes: Sequence[tuple[str, str, Make]], seed: int) -> int:
    """Record the scenes on one desktop; 2 where the machine has none."""
    if lacking := missing():
        print(f"missing: {', '.join(lacking)}", file=sys.stderr)
        return 2
    with Desktop() as desktop:
        os.environ |= desktop.environ
        recorder = Recorder(desktop, out)
        for program, name, make in scenes:
            recorder.record(f"{program}-{name}", make, seed)
    return 0


def record_pages(out: Path, pages: Sequence[str], seed: int) -> None:
    """Record each way of each page that the index lacks, in one browser; right ones `ROUNDS`
    times."""
    flags = [flag for flag in FLAGS if not flag.startswith("--remote-debugging")]
    with serve_pages() as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=flags)
        recorder = PageRecorder(browser, site, out)
        for page in pages:
            for way in PAGES[page](random.Random(0)).ways:
                for number in range(seed, seed + (ROUNDS if way.startswith("right") else 1)):
                    recorder.record(page, way, number)
        browser.close()


class PageRecorder:
    """Records the episodes of pages that the index lacks."""

    def __init__(self, browser: Browser, site: PageSite, out: Path) -> None:
        self._browser, self._site, self._out = browser, site, out
        self._index = out / "episodes.jsonl"
        self._known = {line["id"] for line in lines(self._index)}

    def record(self, page: str, way: str, seed: int) -> None:
        """Record one way, and write its line."""
        episode = f"{page.replace('/', '-')}-{way}-{seed}"
        if episode in self._known:
            return
        began = time.monotonic()
        scene = PAGES[page](random.Random(hashlib.sha256(episode.encode()).digest()))
        task = scene.task(self._site.origin, seed)
        try:
            succeeded = self._play(episode, scene, scene.ways[way], task)
        except (Error, AgentdError, TimeoutError) as error:
            print(f"{episode}: {type(error).__name__}: {str(error)[:160]!r}", flush=True)
            return
        took = time.monotonic() - began
        print(f"{episode}: {'succeeded' if succeeded else 'failed'}, {took:.1f} s", flush=True)
        line = {
            "id": episode, "file": f"{episode}.mrec", "group": page, "way": way,
            "success": succeeded, "task": task,
        }  # fmt: skip
        with self._index.open("a") as index:
            index.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _play(
        self, episode: str, scene: PageScene, way: Sequence[PageAct], task: dict[str, object]
    ) -> bool:
        """Do the acts, a step each; whether the state that was sent last is as wanted."""
        self._site.begin(scene.data)
        asked = self._out / "task.json"
        asked.write_text(json.dumps(task))
        file = self._out / f"{episode}.mrec"
        with self._browser.new_context() as context:
            context.set_default_timeout(LOAD_MS)
            page = context.new_page()
            page.goto(f"{self._site.origin}/{scene.page}")
            page.set_default_timeout(ACT_MS)
            with attach(context, out=file, force="yes", also=ALSO, task=str(asked)) as watch:
                for act in way:
                    watch.begin_step(_say(act))
                    _perform(page, act)
                    watch.end_step()
        return bool(self._site.state == scene.wanted)


def _say(act: PageAct) -> dict[str, str]:
    """What the harness says of a step: what is done with which text; not to which element."""
    return {"verb": act.verb, "text": act.text} if act.text else {"verb": act.verb}


def _perform(page: Page, act: PageAct) -> None:
    """Do the act; one whose element is not there fails, as an agent's would."""
    element = page.locator(act.target).first
    try:
        match act.verb:
            case "click":
                element.click()
            case "fill":
                element.fill(act.text)
            case "choose":
                element.select_option(act.text)
            case _:
                element.press(act.text)
    except Error:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
