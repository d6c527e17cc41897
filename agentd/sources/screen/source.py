"""The screen source: a picture after every seal. Nobody waits for one but the episode's close.

A picture shows the screen at the time when it is taken, which is told (``ms`` after the seal): if
the harness began the next step before, ``step.began`` stands before it in the log.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import structlog
from PIL import Image

from agentd.core.errors import UsageError
from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.source import Sink
from agentd.readers.picture_measures import (
    FORMAT,
    Camera,
    NoShotError,
    Shot,
    ShotFacts,
    develop,
    gray,
    phash,
)
from agentd.sources.screen.store import ShotStore
from detectors.model.kinds.desktop import ScreenCaptured, ScreenRegion
from detectors.model.kinds.looks import VisualScreenshotTaken

MAX_REGIONS = 16
"""Regions that are measured in each picture."""
CLOSE_S = 4.0
"""How long the close waits for the last picture, in seconds."""
READ_S = 5.0
"""How much longer where text is read."""
MAX_TEXT_LENGTH = 10_000
"""Characters of one region's text that are told."""

log = structlog.get_logger(__name__)


class _Due(NamedTuple):
    step: int | None
    sealed_at: float | None = None


class RegionReader(Protocol):
    """Reads what is written in a region of a picture."""

    def read(self, region: tuple[int, ...], part: Image.Image) -> str:
        """Return the text on ``part``, the picture of the region, secrets masked."""


class TextRegions(NamedTuple):
    """The regions whose text is read, and what makes their reader, which takes seconds. It raises
    `UsageError` where the extra that reads is missing."""

    regions: frozenset[tuple[int, ...]] = frozenset()
    make_reader: Callable[[], RegionReader] | None = None


class ScreenSource:
    """``camera`` makes one for each life of the source; pictures go to ``folder``, at most
    ``max_bytes`` of them.

    ``tells``: each picture that is kept goes into the log too, once; ``regions``: [x, y, width,
    height] of what is measured in each, for rules; ``texts``: those of them that are read too;
    ``patience`` multiplies how long the close waits.
    """

    name = "screen"

    def __init__(
        self,
        camera: Callable[[], Camera],
        folder: Path,
        max_bytes: int,
        *,
        tells: bool = False,
        regions: Sequence[Sequence[int]] = (),
        texts: TextRegions | None = None,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._camera = camera
        self._folder = folder
        self._max_bytes = max_bytes
        self._told: set[str] | None = set() if tells else None
        self._regions = regions
        self._texts = texts or TextRegions()
        self._live: _Roll | None = None

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Take one picture as the baseline, then one after each seal; raises `SourceLostError` with
        the camera."""
        camera = self._camera()
        store = ShotStore(self._folder, self._max_bytes)
        measures = _RegionMeasures(self._regions, self._texts)
        roll = _Roll(camera, store, sink, self._told, measures, self._patience)
        tasks = [asyncio.create_task(camera.run()), asyncio.create_task(roll.run(ready))]
        self._live = roll
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            self._live = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def fence(self, timeout_s: float) -> None:
        """Nothing: a picture is of its own moment, and no step waits for it."""

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """At the close, wait for the pictures under way, and for one of a step that was not
        sealed."""
        if closing and self._live is not None:
            await self._live.finish(step)

    def after_seal(self, step: int) -> None:
        """Have a picture of the sealed step taken now."""
        if self._live is not None:
            self._live.want(_Due(step, asyncio.get_running_loop().time()))


class _Roll:
    """One life of the source: what is due, and what the last picture was."""

    def __init__(
        self,
        camera: Camera,
        store: ShotStore,
        sink: Sink,
        told: set[str] | None,
        measures: _RegionMeasures,
        patience: Patience,
    ) -> None:
        self._patience = patience
        self._told = told
        self._measures = measures
        self._camera = camera
        self._store = store
        self._sink = sink
        self._due: _Due | None = None
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._last: int | None = None
        self._before: Image.Image | None = None
        self._troubles: set[str] = set()

    async def run(self, ready: Callable[[], None]) -> None:
        """Take what is asked for, until cancelled."""
        try:
            await asyncio.to_thread(self._measures.open_reader)
        except UsageError as error:
            self._alarm("text", f"no text is read: {error}")
        await self._take(_Due(None))
        ready()
        while True:
            if self._due is None:
                self._idle.set()
                await self._news.wait()
            self._news.clear()
            due, self._due = self._due, None
            if due is not None:
                await self._take(due)

    def want(self, due: _Due) -> None:
        """Take a picture as soon as the one before is done."""
        if self._due is not None:
            self._trouble(
                "speed",
                f"no picture of step {self._due.step}: steps end faster than pictures are taken",
            )
        self._due = due
        self._idle.clear()
        self._news.set()

    async def finish(self, step: int | None) -> None:
        """Wait until nothing is under way, ``step`` included, at most `CLOSE_S` seconds, or
        `READ_S` more."""
        try:
            longest_s = CLOSE_S + (READ_S if self._measures.reads else 0.0)
            async with asyncio.timeout(self._patience.extend(longest_s)):
                await self._idle.wait()
                if step is not None and step != self._last:
                    self.want(_Due(step))
                    await self._idle.wait()
        except TimeoutError:
            which = "the last picture" if step is None else f"the last picture, of step {step},"
            self._trouble("speed", f"{which} did not come in time")

    async def _take(self, due: _Due) -> None:
        """Take a picture, and report it with its measures; that there is none is a trouble, and no
        error."""
        self._last = due.step
        try:
            shot = await self._camera.take()
        except NoShotError as error:
            self._trouble("camera", f"no picture: {error}")
            return
        for of in ("camera", "speed"):
            self._finish(of)
        taken_at = asyncio.get_running_loop().time()
        facts = await self._facts(shot)
        data = await self._described(shot, facts)
        if due.step is None:
            data["baseline"] = True
        else:
            data["step"] = due.step
        if due.sealed_at is not None:
            data["delay_ms"] = round((taken_at - due.sealed_at) * 1000)
        self._sink("screen.captured", data)
        if self._told is not None and data.get("kept", True) and facts.sha256 not in self._told:
            self._told.add(facts.sha256)
            picture: VisualScreenshotTaken = {
                "sha256": facts.sha256,
                "format": FORMAT,
                "base64": base64.b64encode(facts.data).decode(),
            }
            self._sink("visual.screenshot_taken", picture)

    async def _facts(self, shot: Shot) -> ShotFacts:
        facts = await asyncio.to_thread(develop, shot, self._before)
        self._before = facts.cells
        return facts

    async def _described(self, shot: Shot, facts: ShotFacts) -> ScreenCaptured:
        """Describe a picture and store it; one that could not be stored says so."""
        width, height = shot.image.size
        data: ScreenCaptured = {
            "sha256": facts.sha256,
            "width": width,
            "height": height,
            "phash": facts.phash,
            "backend": self._camera.of,
            "format": FORMAT,
            "bytes": len(facts.data),
        }
        if facts.changed is not None:
            data["changed"] = facts.changed
        if self._measures.regions:
            data["regions"] = await asyncio.to_thread(self._measures.take, shot.image)
        if shot.tab is not None:
            data["tab"] = shot.tab
        refused = await asyncio.to_thread(self._store.keep, f"{facts.sha256}.{FORMAT}", facts.data)
        if refused is None:
            self._finish("store")
        else:
            data["kept"] = False
            self._trouble("store", refused)
        return data

    def _trouble(self, of: str, reason: str) -> None:
        """Report that a picture is missing, as a gap where rules look at pictures."""
        log.warning("A picture of the screen is missing.", why=reason)
        if self._measures.regions and of != "store":
            gap = {"source": "screen", "part": "screen.captured"}
            self._sink("gap.began", {**gap, "reason": reason})
            self._sink("gap.ended", gap)
        self._alarm(of, reason)

    def _alarm(self, of: str, reason: str) -> None:
        """Raise the alarm of a trouble, unless it is raised."""
        if of not in self._troubles:
            self._troubles.add(of)
            self._sink("alarm.raised", {"source": "screen", "part": of, "reason": reason})

    def _finish(self, of: str) -> None:
        """End the alarm of a trouble, if it is raised."""
        if of in self._troubles:
            self._troubles.discard(of)
            self._sink("alarm.ended", {"source": "screen", "part": of})


class _RegionMeasures:
    """What is measured in each picture, at most `MAX_REGIONS` regions."""

    def __init__(self, regions: Sequence[Sequence[int]], texts: TextRegions) -> None:
        self.regions = [tuple(region) for region in regions[:MAX_REGIONS]]
        self.reads = bool(texts.regions)
        self._texts = texts
        self._reader: RegionReader | None = None

    def open_reader(self) -> None:
        """Load what reads text, if text is to be read. Raises `UsageError` where it is missing."""
        if self.reads and self._texts.make_reader is not None:
            self._reader = self._texts.make_reader()

    def take(self, image: Image.Image) -> list[ScreenRegion]:
        """Measure the regions that are whole on the picture, and read the text of those that are to
        be read."""
        found: list[ScreenRegion] = []
        for region in self.regions:
            x, y, width, height = region
            if x + width > image.width or y + height > image.height:
                continue
            part = image.crop((x, y, x + width, y + height))
            measured: ScreenRegion = {
                "region": list(region),
                "gray": gray(part),
                "phash": phash(part),
            }
            if self._reader is not None and region in self._texts.regions:
                text = self._reader.read(region, part)
                measured["text"] = text[:MAX_TEXT_LENGTH]
                if len(text) > MAX_TEXT_LENGTH:
                    measured["cut"] = True
            found.append(measured)
        return found
