"""The cascade: what an escalation adds to sealing, and how fast a full queue drains beside a bare
client's loop."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import text

from api.core.settings import StageSettings
from api.stages.base import Question
from benchmarks.figures import LOWER, NEITHER, RATIO, at_least, at_most
from benchmarks.measure import estimate_difference, estimate_median, exact, single
from benchmarks.report import PartReport
from detectors.task.task_json import task_from_json
from tests.api.service import Service, Store, events, frames, running
from tests.cascade.stage import Endpoint, HttpStage, stages
from tests.cascade.test_escalation import task
from tests.support.logs import Said, episode, went

SEALS, ROUNDS, QUICK_ROUNDS = 200, 3, 1
QUEUED, QUICK_QUEUED, STEPS = 10_000, 500, 100
MAX_STEPS = 1_000
"""Steps after which an episode would end, more than any here has."""
AT_ONCE, THINKS_MS = 16, 100
"""A judge that answers in 100 ms, sixteen calls at once: far faster than any that was measured."""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with tempfile.TemporaryDirectory() as name, Endpoint(Path(name)) as endpoint:
        asyncio.run(_sealing(report, Path(name), endpoint))
        asyncio.run(_draining(report, Path(name), endpoint))


async def _sealing(report: PartReport, folder: Path, endpoint: Endpoint) -> None:
    """Appends of one step each: the same steps with a task that escalates none of them, and one
    that does all."""
    endpoint.say(ms=0, hold=True)
    async with running(Store(folder / "sealing"), stages=stages(endpoint.url, "judge")) as service:
        never, every = list[float](), list[float]()
        for _ in range(report.choose(ROUNDS, QUICK_ROUNDS)):
            both = await asyncio.gather(
                _frames(service, _spec(escalate="never")), _frames(service, _spec())
            )
            # In turns, so that a slow moment of the machine falls on both.
            for plain, escalating in zip(*both, strict=True):
                never.append(await _append_ms(service, *plain))
                every.append(await _append_ms(service, *escalating))
        queued = await _count_queued(service)
        endpoint.say(hold=False)
    if queued < len(every):
        raise RuntimeError(f"expected {len(every)} steps that escalate, got {queued}")
    report.head("sealing a step, one segment each, SQLite synchronous=FULL")
    report.add("an append, no step escalates, p50", estimate_median(never), "ms", NEITHER)
    report.add("an append, every step escalates, p50", estimate_median(every), "ms", LOWER)
    added = estimate_difference(every, never)
    reference = "the same appends that escalate nothing"
    report.add("an escalation adds, p50", added, "ms", at_most(1), reference)


def _spec(**escalation: Any) -> dict[str, Any]:
    """A task that escalates every step of an episode, unless told otherwise."""
    return {**task(**escalation), "limits": {"steps": MAX_STEPS}}


Append = tuple[str, bytes, str]
"""Episode, frame and token of one append."""


async def _frames(service: Service, spec: dict[str, Any]) -> list[Append]:
    """Open an episode and return its appends: each ends a step by beginning the next."""
    id, token = await service.open(spec)
    said = events(id, *episode(*([went(f"/{n}")] for n in range(SEALS + 1)), close=False))
    opening, *steps = frames(said[:-1], [2] * SEALS)
    (await service.append(id, opening, token)).raise_for_status()
    return [(id, frame, token) for frame in steps]


async def _append_ms(service: Service, id: str, frame: bytes, token: str) -> float:
    began = time.perf_counter()
    (await service.append(id, frame, token)).raise_for_status()
    return (time.perf_counter() - began) * 1e3


async def _count_queued(service: Service) -> int:
    rows = await service.app.state.parts.database.all(text("SELECT count(*) FROM escalations"))
    return int(rows[0][0])


async def _draining(report: PartReport, folder: Path, endpoint: Endpoint) -> None:
    """The queue is filled by a service without a judge's time to answer, and drained by one that
    starts anew."""
    endpoint.say(ms=0, hold=True)
    store = Store(folder / "draining")
    spec = _spec(patience_s=100_000)
    queued = report.choose(QUEUED, QUICK_QUEUED)
    async with running(store, stages=stages(endpoint.url, "judge")) as service:
        for n in range(queued // STEPS):
            id, token = await service.open(spec)
            await service.tell(id, token, *_episode_events(n))
        waiting = await _count_queued(service)
    if waiting != queued:
        raise RuntimeError(f"expected {queued} questions that wait, got {waiting}")
    bare = await _bare(endpoint, spec, queued)
    came = endpoint.calls()["came"]
    settings = StageSettings(at_once=AT_ONCE)
    async with running(store, stages=stages(endpoint.url, "judge"), cascade=settings) as service:
        began, left = time.perf_counter(), await _count_queued(service)
        await until_empty(service)
        drained = left / (time.perf_counter() - began)
    report.head(
        f"draining {queued} questions, a judge that answers in {THINKS_MS} ms, {AT_ONCE} calls at"
        " once, SQLite"
    )
    report.add("a bare client's loop", single(bare), "questions/s", NEITHER)
    row = "the queue: leased, billed, asked, kept, sealed"
    report.add(row, single(drained), "questions/s", NEITHER)
    reference = "a bare client that asks the same"
    report.add("the queue / bare loop", single(drained / bare), RATIO, at_least(0.9), reference)
    calls = exact((endpoint.calls()["came"] - came) / queued)
    report.add("calls for a question", calls, "calls", at_most(1))


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


async def _bare(endpoint: Endpoint, spec: dict[str, Any], queued: int) -> float:
    """Questions a second that the same client puts, with nothing around it: the same ones, of the
    same events."""
    endpoint.say(ms=THINKS_MS, hold=False)
    stage = HttpStage("judge", endpoint.url)
    seen = [events(f"bare{n}", *_episode_events(-n - 1)) for n in range(queued // STEPS)]
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
    return queued / seconds
