"""Runs a script on its page under the daemon, and tells what the milestones say and what the page says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from playwright.sync_api import Browser, Page

from tests.miniwob.script import Entry, Script, query
from tests.miniwob.site import begin, reward
from tests.support.stack import Stack

Way = Literal["right", "wrong"]

ACT_MS = 20_000
"""How long an act may wait for its element on a busy machine."""


class Outcome(NamedTuple):
    """How one episode ended: by the milestones, and by the page."""

    success: bool | None
    raw_reward: float
    total: float | None


class Bench:
    """The running parts. Each page is read once; its two ways run as two episodes of one task."""

    def __init__(self, origin: str, endpoint: str, browser: Browser, stack: Stack) -> None:
        self._origin = origin
        self._endpoint = endpoint
        self._browser = browser
        self._stack = stack
        self._read: dict[str, tuple[str, Script]] = {}

    def run(self, entry: Entry, way: Way) -> Outcome:
        """Read the page if nobody did yet, then go one of its ways under a daemon of its own."""
        instruction, script = self._script(entry)
        with self._instance(entry) as page:
            assert query(page) == instruction, "the same seed gave another instance"
            self._stack.open(self._task(entry, instruction, script), labels={"page": entry.page, "way": way})
            episode = self._stack.watch(("--cdp", self._endpoint))
            for act in script.right if way == "right" else script.wrong:
                episode.step(act._asdict())
                act.perform(page)
                episode.end_step()
            closing = episode.close()
            assert closing.status == "closed", f"not decided in time: {closing}"
            return Outcome(closing.success, reward(page), closing.total)

    def _script(self, entry: Entry) -> tuple[str, Script]:
        if entry.page not in self._read:
            with self._instance(entry) as page:
                instruction = query(page)
                self._read[entry.page] = instruction, entry.read(page)
        return self._read[entry.page]

    @contextmanager
    def _instance(self, entry: Entry) -> Iterator[Page]:
        with self._browser.new_context() as context:
            page = context.new_page()
            page.set_default_timeout(ACT_MS)
            begin(page, self._origin, entry.page, entry.seed)
            yield page

    def _task(self, entry: Entry, instruction: str, script: Script) -> dict[str, Any]:
        return {
            "id": f"miniwob/{entry.page}",
            "version": "1",
            "instruction": instruction,
            "origin": self._origin,
            "milestones": [{"id": "done", "when": {"goal": {"when": script.goal}}}],
        }
