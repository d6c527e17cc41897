"""Runs an AxSource beside a test and lets it wait for what the source says, never for time."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import SourceLostError
from agentd.masking import Masker
from agentd.sources.ax import AxSource
from agentd.sources.ax.child import PYTHON
from agentd.sources.ax.fold import DesktopFold
from tests.support import watching as support
from tests.support.desktop import Desktop
from tests.support.watching import PATIENCE_S

TRIES = 30
WHERE = Path(__file__).with_name("where.py")
Data = Mapping[str, Any]


class Watch(support.Watch[AxSource]):
    """What a source said. ``lost``: why each of its lives ended."""

    def __init__(
        self,
        desktop: Desktop,
        plan: Data,
        make_fold: Callable[[Masker], DesktopFold],
        patience: Patience,
    ) -> None:
        asked = cast(EpisodePlan, plan)
        super().__init__(AxSource(asked, desktop.environ, self._made, patience))
        self.desktop = desktop
        self._make_fold = make_fold
        self.lost: list[str] = []
        self.lives = 0

    def _made(self, masker: Masker) -> DesktopFold:
        self.fold = self._make_fold(masker)
        return self.fold

    async def looked_into(self, title: str) -> None:
        """Wait until the first look into a window is over, which a slow program feels."""
        windows = self.fold.model.windows
        while not any(window.nodes for window in windows.values() if window.title == title):
            await self.source.fence(1.0)

    def _ready(self) -> None:
        self.lives += 1
        self.wake()

    async def run(self) -> None:
        """As the supervisor does: a source that is lost is tried again."""
        while True:
            try:
                await self.source.run(self.sink, self._ready)
            except SourceLostError as lost:
                self.lost.append(str(lost))
                self.wake()
                await asyncio.sleep(0.1)

    def all(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        """Every observation of ``kind`` whose data, or whose widget, has the ``wanted`` fields."""
        return [data for name, data in self.seen if name == kind and _has(data, wanted)]

    def texts(self, **wanted: Any) -> list[str]:
        """The texts told of a widget, one after the other."""
        return [data["text"] for data in self.all("widget.text_changed", **wanted)]

    async def keys(self, *keys: str) -> None:
        """Press keys; what they did is told when this returns, unless the program takes its
        time."""
        await asyncio.to_thread(self.desktop.keys, *keys)
        await self.seal()

    async def type(self, text: str) -> None:
        """Type a text."""
        await asyncio.to_thread(self.desktop.type, text)
        await self.seal()

    async def window(self, title: str) -> None:
        """Wait for an X window and give it the keyboard."""
        await asyncio.to_thread(self.desktop.window, title)

    async def place(self, role: str, name: str) -> tuple[int, int]:
        """Where on the screen an object is, in pixels; waits until it is shown."""
        for _ in range(TRIES):
            said = await asyncio.to_thread(self._look, role, name)
            if said:
                return int(said[0]), int(said[1])
        raise AssertionError(f"{role} {name!r} is not shown")

    def _look(self, role: str, name: str) -> list[str]:
        command = [PYTHON, str(WHERE), role, name]
        run = subprocess.run(
            command,
            env=self.desktop.environ,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        return run.stdout.split()

    async def seal(self) -> None:
        """What the daemon does at a step's end."""
        await self.source.fence(0.1)
        await self.source.before_seal(1, closing=False)


def _has(data: Data, wanted: Data) -> bool:
    return all(
        data.get(name, data.get("widget", {}).get(name)) == value for name, value in wanted.items()
    )


@asynccontextmanager
async def watching(
    desktop: Desktop,
    plan: Data | None = None,
    make_fold: Callable[[Masker], DesktopFold] = DesktopFold,
    patience: Patience = DEFAULT_PATIENCE,
) -> AsyncIterator[Watch]:
    """A source that watches ``desktop`` and is ready."""
    watch = Watch(desktop, plan or {"hears": None}, make_fold, patience)
    task = asyncio.create_task(watch.run())
    try:
        await watch.until(lambda: watch.lives)
        yield watch
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
