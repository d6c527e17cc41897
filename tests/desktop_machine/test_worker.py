"""A source's thread: it hears questions and descriptors, however many files the daemon has open."""

from __future__ import annotations

import asyncio
import os
import resource
import threading

import pytest

from agentd.core.worker_thread import SourceThread

MANY = 1200


async def test_descriptors_above_1023_are_heard() -> None:
    """A daemon that watches many things has them; `select` does not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY + 200:
        pytest.skip("no more descriptors may be opened here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY + 200), hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(MANY)]
    read, write = os.pipe()
    said: list[str] = []
    over = threading.Event()

    def work(worker: SourceThread) -> None:
        worker.ready()
        while not worker.stopping:
            if worker.pause(60.0, read):
                worker.tell(os.read(read, 100).decode(), {})
            worker.answer()
        over.set()

    started = asyncio.Event()
    worker = SourceThread("test", work, lambda kind, data: said.append(kind), started.set)
    running = asyncio.create_task(worker.run())
    try:
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait((waiting, running), return_when=asyncio.FIRST_COMPLETED)
        os.write(write, b"heard")
        while not said and not running.done():
            assert await worker.ask(lambda: None, 20) or running.done()
        assert said == ["heard"]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert await asyncio.to_thread(over.wait, 20)  # it reads a descriptor that is closed below
        for one in (*opened, read, write):
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
