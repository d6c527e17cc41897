"""Recording every way of scenes under the daemon: of programs and commands on one desktop, of pages in
one browser.

`episodes.jsonl` gets a line an episode, with the task whose rules score it and with what came of it
(``success``): of programs the folder and the answer, of pages the state that was sent last. Its group
is the program or the page. Goes on where it was stopped. Programs that this machine lacks are left
out, by name.
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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import structlog
from playwright.sync_api import Browser, Error, Page, sync_playwright

from agentd import attach
from agentd.core.errors import AgentdError
from benchmarks.desktop.record import ROUNDS, Make, Recorder, lines
from benchmarks.miniwob.record import KINDS as ALSO
from benchmarks.scenes.page_scene import PageAct, PageScene
from benchmarks.scenes.site import PageSite, serve_pages
from tests.support.chromium import EXECUTABLE, FLAGS
from tests.support.desktop import Desktop, missing

ACT_MS = 1_500
LOAD_MS = 10_000
PAGE_BYTES = 65_536
"""Bytes of a page's trees in a step, at most."""
MakePage = Callable[[random.Random], PageScene]
MakeOfProgram = tuple[str, str, Make]
"""Program, the scene's name, and what makes the scene."""


class Scenes(NamedTuple):
    """What one command records. ``pages``: what makes the scene of each group of pages, whose files
    are in ``folder``; ``programs``: the scenes of programs and commands."""

    folder: Path
    pages: Mapping[str, MakePage]
    programs: Sequence[MakeOfProgram]


def record_scenes(argv: list[str], prog: str, about: str, scenes: Scenes) -> int:
    """Record what is missing in the folder that ``argv`` names; prints a line an episode. 2 where
    the machine has no desktop."""
    parser = argparse.ArgumentParser(prog, description=about)
    parser.add_argument("out", type=Path)
    parser.add_argument("groups", nargs="*", help="only these programs, commands and pages")
    parser.add_argument("--seed", type=int, default=1, help="first seed of names and texts (1)")
    parser.add_argument(
        "--trees", action="store_true", help="pages as trees of their roles and names, once a step"
    )
    given = parser.parse_args(argv)
    given.out.mkdir(parents=True, exist_ok=True)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    chosen = Scenes(
        scenes.folder,
        {name: make for name, make in scenes.pages.items() if name in (given.groups or (name,))},
        [one for one in scenes.programs if one[0] in (given.groups or (one[0],))],
    )
    if chosen.pages:
        record_pages(given.out, chosen, given.seed, trees=given.trees)
    return record_programs(given.out, chosen.programs, given.seed) if chosen.programs else 0


def record_programs(out: Path, scenes: Sequence[MakeOfProgram], seed: int) -> int:
    """Record the scenes on one desktop; 2 where the machine has none."""
    if lacking := missing():
        print(f"missing: {', '.join(lacking)}", file=sys.stderr)
        return 2
    with Desktop() as desktop:
        os.environ |= desktop.environ
        recorder = Recorder(desktop, out)
        for program, name, make in scenes:
            if shutil.which(program) is not None:
                recorder.record(f"{program}-{name}", make, seed)
            else:
                print(f"{program}: not on this machine", file=sys.stderr)
    return 0


def record_pages(out: Path, scenes: Scenes, seed: int, *, trees: bool = False) -> None:
    """Record each way of each page that the index lacks, in one browser; right ones `ROUNDS`
    times. ``trees``: pages as the trees of a task's `observations`, instead of the text and the
    elements that come and go."""
    flags = [flag for flag in FLAGS if not flag.startswith("--remote-debugging")]
    with serve_pages(scenes.folder) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=flags)
        recorder = PageRecorder(browser, site, out, trees=trees)
        for group, make in scenes.pages.items():
            for way in make(random.Random(0)).ways:
                for number in range(seed, seed + (ROUNDS if way.startswith("right") else 1)):
                    recorder.record(group, make, way, number)
        browser.close()


class PageRecorder:
    """Records the episodes of pages that the index lacks."""

    def __init__(self, browser: Browser, site: PageSite, out: Path, *, trees: bool) -> None:
        self._browser, self._site, self._out = browser, site, out
        self._options: dict[str, Any] = {} if trees else {"also": ALSO}
        self._observed = {"observations": {"page_bytes": PAGE_BYTES}} if trees else {}
        self._index = out / "episodes.jsonl"
        self._known = {line["id"] for line in lines(self._index)}

    def record(self, group: str, make: MakePage, way: str, seed: int) -> None:
        """Record one way, and write its line."""
        episode = f"{group.replace('/', '-')}-{way}-{seed}"
        if episode in self._known:
            return
        began = time.monotonic()
        scene = make(random.Random(hashlib.sha256(episode.encode()).digest()))
        task = scene.task(group, self._site.origin, seed) | self._observed
        try:
            succeeded = self._play(episode, scene, scene.ways[way], task)
        except (Error, AgentdError, TimeoutError) as error:
            print(f"{episode}: {type(error).__name__}: {str(error)[:160]!r}", flush=True)
            return
        took = time.monotonic() - began
        print(f"{episode}: {'succeeded' if succeeded else 'failed'}, {took:.1f} s", flush=True)
        line = {
            "id": episode, "file": f"{episode}.mrec", "group": group, "way": way,
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
            with attach(context, out=file, force="yes", task=str(asked), **self._options) as watch:
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
