"""Runs a script on its page under the daemon, and tells what the milestones say and what the page
says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from milestoned_client import Closing, RewardClient
from playwright.sync_api import Browser, Page

from lab.benchmarks.miniwob import task_of
from lab.benchmarks.miniwob.instance import Instance
from tests.miniwob.daemon import watch
from tests.miniwob.script import Script
from tests.miniwob.site import begin, instance, reward, utterance
from tests.miniwob.table import ENTRIES
from tests.support.stack import Stack

Way = Literal["right", "wrong"]
ACT_MS = 20_000
"""How long an act may wait for its element on a busy machine."""
SEAL_S = 30.0


class Outcome(NamedTuple):
    """How one episode ended: by the milestones, and by the page. ``credit``: what the goal paid, of
    1."""

    success: bool | None
    raw: float
    credit: float | None
    reached: list[str]


class Case(NamedTuple):
    """An instance, read once: its task and how it is solved and missed."""

    instance: Instance
    task: dict[str, Any]
    script: Script


class Bench:
    """One browser and one service for all pages; a context, an episode and a watch for each run."""

    def __init__(self, origin: str, endpoint: str, browser: Browser, stack: Stack) -> None:
        self._origin, self._endpoint, self._browser, self._stack = origin, endpoint, browser, stack
        self._client: RewardClient = stack.connect()

    def read(self, name: str, seed: str) -> Case:
        """The instance, its task and its script. Raises `UnobservableError` for a page that nobody
        can judge."""
        with self._begun(name, seed) as page:
            found = instance(page, self._origin, name, seed)
            task = task_of(found)
            return Case(found, task, ENTRIES[name].read(page))

    def run(self, case: Case, way: Way) -> Outcome:
        """Go one of the ways, watched."""
        own = case.instance
        with self._begun(own.page, own.seed) as page:
            assert utterance(page)[0] == own.utterance, "the same seed gave another instance"
            task = self._client.register_task(case.task)
            episode = self._client.open(task, labels={"page": own.page, "way": way})
            folder = self._stack.folder / f"daemon-{episode.id}"
            with watch(episode, self._stack.url, self._endpoint, folder) as watched:
                for act in case.script.right if way == "right" else case.script.wrong:
                    watched.begin_step(act._asdict())
                    act.perform(page)
                    watched.end_step()
            closing = episode.close(wait_s=SEAL_S)
            assert closing.status == "closed", f"not decided in time: {closing}"
            return _outcome(case.task, closing, reward(page))

    @contextmanager
    def _begun(self, name: str, seed: str) -> Iterator[Page]:
        with self._browser.new_context() as context:
            page = context.new_page()
            page.set_default_timeout(ACT_MS)
            begin(page, self._origin, name, seed)
            yield page


def _outcome(task: dict[str, Any], closing: Closing, raw: float) -> Outcome:
    goals = {m["id"] for m in task["milestones"] if "goal" in m["when"]}
    reached = [m for one in closing.rewards for m in one.milestones]
    known = all(one.reward is not None for one in closing.rewards)
    paid = sum(m.worth or 0.0 for m in reached if m.id in goals) / task["weights"]["goal"]
    return Outcome(closing.success, raw, round(paid, 6) if known else None, [m.id for m in reached])
