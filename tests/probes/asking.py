"""A running probe source, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agentd.sources.probes import ProbesSource

Said = list[tuple[str, dict[str, Any]]]


@asynccontextmanager
async def asking(
    *probes: dict[str, Any], given: Mapping[str, Any] | None = None, **plan: Any
) -> AsyncIterator[Asked]:
    """The source with these probes, ready; ``given``: what the daemon has to ask them with."""
    specs = [{"when": ["start", "step", "close"], "budget_ms": 5000, **probe} for probe in probes]
    asked = Asked(ProbesSource({"probes": specs, **plan}, **(given or {})))
    ready = asyncio.Event()
    task = asyncio.create_task(asked.source.run(asked.sink, ready.set))
    try:
        await asyncio.wait_for(ready.wait(), 30)
        yield asked
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Asked:
    """``said`` in order; ``at(step)`` is what a step's end brings."""

    def __init__(self, source: ProbesSource) -> None:
        self.source = source
        self.said: Said = []

    def sink(self, kind: str, data: Mapping[str, Any]) -> None:
        self.said.append((kind, dict(data)))

    async def at(self, step: int | None, *, closing: bool = False) -> Said:
        """Ask as before a seal; gives what is said meanwhile."""
        before = len(self.said)
        await self.source.before_seal(step, closing=closing)
        return self.said[before:]

    async def value(self, step: int = 0) -> Any:
        """The answer of the one probe at a step's end."""
        ((kind, data),) = await self.at(step)
        assert kind == "probe.answered", data
        return data["value"]

    async def value_after_gap(self, step: int = 0) -> Any:
        """The same, of a probe that failed before."""
        (kind, data), (ended, _) = await self.at(step)
        assert (kind, ended) == ("probe.answered", "gap.ended"), data
        return data["value"]

    async def until(self, value: Any, step: int) -> None:
        """Ask again until one probe has this answer."""
        async with asyncio.timeout(30):
            while value not in [data.get("value") for _, data in await self.at(step)]:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def reason(self, step: int = 0) -> str:
        """Why the one probe failed at a step's end."""
        failed = [data for kind, data in await self.at(step) if kind == "probe.failed"]
        assert len(failed) == 1, self.said
        return str(failed[0]["reason"])
