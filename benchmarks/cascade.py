"""The cascade: what an escalation adds to sealing, and how fast a full queue drains beside a bare
client's loop."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import text

from api.core.settings import StageSettings
from api.stages.base import Question
from benchmarks.measure import line
from detectors.task.task_json import task_from_json
from tests.api.service import Service, Store, events, frames, running
from tests.cascade.stage import Endpoint, HttpStage, stages
from tests.cascade.test_escalation import task
from tests.support.logs import Said, episode, went

SEALS, ROUNDS = 200, 3
QUEUED, STEPS = 10_000, 100
AT_ONCE, THINKS_MS = 16, 100
"""A judge that answers in 100 ms, sixteen calls at once: far faster than any that was measured."""


def main() -> None:
    """Take the measurements and print their figures."""
    with tempfile.TemporaryDirectory() as name, Endpoint(Path(name)) as endpoint:
        asyncio.run(_sealing(Path(name), endpoint))
        asyncio.run(_draining(Path(name), endpoint))


async def _sealing(folder: Path, endpoint: Endpoint) -> None:
    """Appends of one step each: the same steps with a task that escalates none of them, and one
    that does all."""
    endpoint.say(ms=0, hold=True)
    async with running(Store(folder / "sealing"), stages=stages(endpoint.url, "judge")) as service:
        never, every = [], []
        for _ in range(ROUNDS):
            never += await _appends(service, task(escalate="never"))
            every += await _appends(service, task())
        endpoint.say(hold=False)
    print("sealing a step, one segment each, SQLite synchronous=FULL")
    line("an append, no step escalates, p50", f"{statistics.median(never) * 1e3:.2f} ms")
    line("an append, every step escalates, p50", f"{statistics.median(every) * 1e3:.2f} ms")
    added = statistics.median(every) - statistics.median(never)
    line("an escalation adds, p50", f"{added * 1e3:.2f} ms", "wanted at most 1 ms")


async def _appends(service: Service, spec: dict[str, Any]) -> list[float]:
    id, token = await service.open(spec)
    said = events(id, *episode(*([went(f"/{n}")] for n in range(SEALS))))
    taken = []
    for frame in frames(said, [2] * (len(said) // 2)):
        began = time.perf_counter()
        (await service.append(id, frame, token)).raise_for_status()
        taken.append(time.perf_counter() - began)
    return taken


async def _draining(folder: Path, endpoint: Endpoint) -> None:
    """The queue is filled by a service without a judge's time to answer, and drained by one that
    starts anew."""
    endpoint.say(ms=0, hold=True)
    store = Store(folder / "draining")
    spec = task(patience_s=100_000)
    async with running(store, stages=stages(endpoint.url, "judge")) as service:
        for n in range(QUEUED // STEPS):
            id, token = await service.open(spec)
            await service.tell(id, token, *_episode_events(n))
    bare = await _bare(endpoint, spec)
    came = endpoint.calls()["came"]
    settings = StageSettings(at_once=AT_ONCE)
    async with running(store, stages=stages(endpoint.url, "judge"), cascade=settings) as service:
        began = time.perf_counter()
        await until_empty(service)
        drained = QUEUED / (time.perf_counter() - began)
    print(
        f"\ndraining {QUEUED} questions, a judge that answers in {THINKS_MS} ms, {AT_ONCE} calls at"
        " once, SQLite"
    )
    line("a bare client's loop", f"{bare:.0f} /s")
    line("the queue: leased, billed, asked, kept, sealed", f"{drained:.0f} /s")
    line("as a share of the bare loop", f"{drained / bare:.2f}", "wanted at least 0.9")
    line("calls for it", f"{endpoint.calls()['came'] - came}", f"wanted {QUEUED}")


async def until_empty(service: Service) -> None:
    """Return once no question waits in the queue."""
    waits = text(
        "SELECT 1 FROM escalations LIMIT 1"
    )  # to count them all would be work beside the queue's
    while await service.app.state.parts.database.first(waits):  # noqa: ASYNC110 - nobody tells of an empty queue
        await asyncio.sleep(0.2)


def _episode_events(n: int) -> list[Said]:
    """What the ``n``-th episode shows: a place a step, two events each with its beginning."""
    return episode(*([went(f"/{n}/{page}")] for page in range(STEPS)))


async def _bare(endpoint: Endpoint, spec: dict[str, Any]) -> float:
    """Questions a second that the same client puts, with nothing around it: the same ones, of the
    same events."""
    endpoint.say(ms=THINKS_MS, hold=False)
    stage = HttpStage("judge", endpoint.url)
    seen = [events(f"bare{n}", *_episode_events(-n - 1)) for n in range(QUEUED // STEPS)]
    left = ((of, step) for of in seen for step in range(STEPS))
    document = {"task": task_from_json(spec).id}

    async def loop() -> None:
        for of, step in left:
            await stage.ask(
                Question(of[0].episode, step, "step", False, document, (), of[: 2 * step + 3], ())
            )

    began = time.perf_counter()
    await asyncio.gather(*(loop() for _ in range(AT_ONCE)))
    seconds = time.perf_counter() - began
    await stage.close()
    return QUEUED / seconds


if __name__ == "__main__":
    main()
