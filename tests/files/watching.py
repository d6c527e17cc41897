"""A running files source over real directories, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from agentd.sources.files import FilesSource


class Watch:
    """A running source over ``root`` that keeps what it says."""

    def __init__(self, root: Path, source: FilesSource | None = None, **more: Path) -> None:
        self.root = root
        self.source = source or FilesSource({"root": root, **more})
        self.said: list[tuple[str, Mapping[str, Any]]] = []
        self._ready = asyncio.Event()
        self.changed = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None

    def _sink(self, kind: str, data: Mapping[str, Any]) -> None:
        self.said.append((kind, data))
        self._told = asyncio.ensure_future(self._tell())

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def until(self, condition: Callable[[], object], longest_s: float = 60) -> None:
        async with asyncio.timeout(longest_s), self.changed:
            await self.changed.wait_for(lambda: bool(condition()))

    async def fenced(self) -> list[tuple[str, str]]:
        """What was said of changes, once the source is fenced."""
        await self.source.fence(20)
        return self.changes

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [
            (kind, data["path"])
            for kind, data in self.said
            if kind.startswith(("file.", "folder."))
            and kind not in ("file.present", "file.unsettled")
        ]

    @property
    def files(self) -> list[tuple[str, str]]:
        """The changes of files alone."""
        return [(kind, path) for kind, path in self.changes if kind.startswith("file.")]

    @property
    def alarms(self) -> list[tuple[str, str]]:
        """What was raised and ended, as (kind, of)."""
        return [(kind, data["part"]) for kind, data in self.said if kind.startswith("alarm.")]

    def data(self, path: str) -> Mapping[str, Any]:
        return [data for _, data in self.said if data.get("path") == path][-1]

    def folders(self) -> set[str]:
        """Every folder of which it was said that it came."""
        known: set[str] = set()
        for kind, data in self.said:
            if kind.startswith("folder."):
                known.discard(data.get("from", data["path"]))
                if kind != "folder.deleted":
                    known.add(data["path"])
        return known

    def known(self) -> dict[str, str]:
        """Path → sha256 of every file, as the events one after another tell it."""
        files: dict[str, str] = {}
        for kind, data in self.said:
            if not kind.startswith("file.") or kind in (
                "file.mode_changed",
                "file.vanished",
                "file.unsettled",
            ):
                continue
            if kind in ("file.deleted", "file.moved"):
                del files[data["from"] if kind == "file.moved" else data["path"]]
            if kind != "file.deleted":
                files[data["path"]] = data["sha256"]
        return files

    async def __aenter__(self) -> Watch:
        self.task = asyncio.create_task(self.source.run(self._sink, self._ready.set))
        waiting = asyncio.create_task(self._ready.wait())
        await asyncio.wait({waiting, self.task}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
