"""What watching costs: `python -m tests.desktop.measure_cost` types into gedit and LibreOffice,
alone and watched."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import AsyncExitStack
from pathlib import Path

from tests.desktop.test_faults import child_of_this_process
from tests.desktop.watching import watching
from tests.support.desktop import Desktop

TICKS = os.sysconf("SC_CLK_TCK")
SETTLE_S, IDLE_S = 8.0, 10.0
TEXT = "the quick brown fox jumps over the lazy dog " * 5
ROWS = 20
PROGRAMS = {
    "gedit": (["gedit", "--standalone"], "gedit", "gedit"),
    "LibreOffice Calc": (
        ["libreoffice", "--calc", "--norestore", "--nologo"],
        "soffice.bin",
        "LibreOffice Calc",
    ),
}


def processor_s(pid: int) -> float:
    """Processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def one(name: str, *, watched: bool) -> None:
    command, program, title = PROGRAMS[name]
    async with AsyncExitStack() as stack:
        desktop = stack.enter_context(Desktop())
        watch = await stack.enter_async_context(watching(desktop)) if watched else None
        desktop.start(*command)
        await asyncio.to_thread(desktop.window, title)
        await asyncio.sleep(SETTLE_S)  # fixed: what is measured is idleness
        pids = {"program": desktop.pids(program)[0], "daemon": os.getpid()}
        if watch is not None:
            pids["child"] = await asyncio.to_thread(child_of_this_process)
        before = {who: processor_s(pid) for who, pid in pids.items()}
        await asyncio.sleep(IDLE_S)  # fixed: what is measured is idleness
        idle = {who: processor_s(pid) for who, pid in pids.items()}
        events, began = len(watch.seen) if watch else 0, time.monotonic()
        if name == "gedit":
            await asyncio.to_thread(desktop.do, "type", "--delay", "12", TEXT)
        else:
            for row in range(ROWS):
                await asyncio.to_thread(desktop.do, "type", "--delay", "12", f"row {row}\n")
        if watch is not None:
            await watch.seal()
        print(f"{name}, {'watched' if watched else 'alone'}: {time.monotonic() - began:.1f} s")
        for who, pid in pids.items():
            share, spent = (idle[who] - before[who]) / IDLE_S, processor_s(pid) - idle[who]
            print(f"  {who}: idle {share:.1%}, typing {spent:.2f} s of processor time")
        if watch is not None:
            print(f"  events: {len(watch.seen) - events}")


if __name__ == "__main__":
    for each in PROGRAMS:
        asyncio.run(one(each, watched=False))
        asyncio.run(one(each, watched=True))
