"""`python -m tests.api.filled_service FOLDER`: fills a real service with episodes that stay open,
and prints what its process had in memory before and after, and what its caches say."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path

from tests.api.service import TASK, Service, Store, events, frames, running
from tests.support.logs import Said, episode, filled, went

ENGINES_BYTES = 4 << 20

AT_ONCE = 48
SAID: list[Said] = episode([went("/cart")], close=False)
FIELDS: list[Said] = [
    *[went(f"/a{tab}", tab=f"T{tab}") for tab in range(20)],
    *[filled(f"F{n}", "é" * 40, tab=f"T{tab}") for n in range(50) for tab in range(20)],
]
"""Some 700 kB of an engine."""


def resident_bytes() -> int:
    """What this process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as told:
        return int(told.read().split()[1]) * 4096


async def fill(service: Service, count: int, said: list[Said]) -> None:
    """Open ``count`` episodes in which ``said`` happened."""
    waiting = iter(range(count))

    async def work() -> None:
        for _ in waiting:
            answer = await service.post("/v1/episodes", {"task": TASK["id"]})
            opened = answer.json()
            made = frames(events(opened["episode"], *said))[0]
            answer = await service.append(opened["episode"], made, opened["token"])
            assert answer.status_code == 200, answer.text

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def main(folder: Path, small: int, large: int) -> None:
    """Fill it and tell."""
    async with running(
        Store(folder), engines_bytes=ENGINES_BYTES, appends_token=AT_ONCE, requests_per_s=0
    ) as service:
        await service.open()
        await fill(service, 300, SAID)
        gc.collect()
        told = {"before": resident_bytes()}
        await fill(service, small, SAID)
        gc.collect()
        told["small"] = resident_bytes()
        await fill(service, large, SAID + FIELDS)
        gc.collect()
        told["large"] = resident_bytes()
        metrics = await service.metrics()
        told |= {
            name: int(metrics[f'milestoned_cache_{name}{{cache="engines"}}'])
            for name in ("bytes", "max_bytes")
        }
        print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
