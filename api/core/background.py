"""Tasks that run beside a service's requests."""

from __future__ import annotations

import asyncio


async def end(task: asyncio.Task[None] | None) -> None:
    """Cancel it; return once it has let go. What it failed with it told itself."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
