"""The shop in one Chromium that is used for all episodes, and the daemon inside this process that
watches each.

The browser lives on an event loop in a thread of its own, so that the daemon hears it while the
agent computes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
import numpy as np
from milestoned_client import ControlDir, Episode
from playwright.async_api import Browser, Page, Playwright, async_playwright

import agentd
from examples.learning.tasks import PLACES

T = TypeVar("T")
BUTTONS, COLUMNS = 8, 4
WIDTH, HEIGHT, TOP = 120, 40, 40
"""Pixels of a button, and where the first row begins."""
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-gpu",
)
Seen = np.ndarray[Any, np.dtype[np.float32]]


class Shop(gymnasium.Env[Seen, np.int64]):
    """The page: what is seen is where it is, an action presses one of its buttons with the mouse.
    Pays nothing itself.

    An episode ends at the goal, or is cut off after ``patience`` presses.
    """

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (len(PLACES),), np.float32)
    action_space = gymnasium.spaces.Discrete(BUTTONS)

    def __init__(
        self, address: str, service: str, folder: Path, executable: str, patience: int = 7
    ) -> None:
        self._address, self._service, self._folder, self._patience = (
            address,
            service,
            folder,
            patience,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="browser", daemon=True)
        self._thread.start()
        self._watch: Any = None
        self._presses = 0
        self._playwright, self._browser, self._page = self._do(_launched(executable))

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Load the page again. The daemon of the episode before has ended then."""
        super().reset(seed=seed)
        self._presses = 0
        return observe(self._do(self._loaded())), {}

    async def _loaded(self) -> str:
        await self._close_watch()
        await self._page.goto(self._address)
        return str(await self._page.inner_text("h1"))

    async def _close_watch(self) -> None:
        if self._watch is not None:
            watch, self._watch = self._watch, None
            await watch.close()

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Press a button; its reward is 0, the wrapper brings the real one."""
        self._presses += 1
        place = self._do(self._pressed(int(action)))
        over = place == PLACES[-1]
        return observe(place), 0.0, over, not over and self._presses >= self._patience, {}

    async def _pressed(self, button: int) -> str:
        row, column = divmod(button, COLUMNS)
        await self._page.mouse.click(column * WIDTH + WIDTH / 2, TOP + row * HEIGHT + HEIGHT / 2)
        return str(await self._page.inner_text("h1"))

    def watch(self, episode: Episode) -> ControlDir:
        """A `watch` hook for `RewardServiceWrapper`: the daemon of an episode, on this browser."""
        state = self._folder / episode.id
        self._watch = self._do(self._attached(episode, state))
        return ControlDir(state)

    async def _attached(self, episode: Episode, state: Path) -> Any:
        return await agentd.attach(
            self._page, service=self._service, episode=episode.id, token=episode.token, state=state
        )

    def close(self) -> None:
        """End the daemon, the browser and the thread."""
        self._do(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _ended(self) -> None:
        await self._close_watch()
        await self._browser.close()
        await self._playwright.stop()


async def _launched(executable: str) -> tuple[Playwright, Browser, Page]:
    playwright = await async_playwright().start()
    browser = await playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
    return playwright, browser, await browser.new_page(viewport={"width": 480, "height": 160})


def observe(place: str) -> Seen:
    """Where the page is, one of `PLACES`, as the agent sees it: a one at its place."""
    return np.eye(len(PLACES), dtype=np.float32)[PLACES.index(place)]
