"""Large segments are worked at in a process beside the service: the same answers, the same rows,
nothing lost."""

from __future__ import annotations

import asyncio
import os
import random
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest
import zstandard

from api.core.settings import Limits
from api.episodes.position import EpisodePosition
from api.ingest import crew
from api.ingest.advance import Write
from api.ingest.appender import KINDS, STATEMENTS
from api.ingest.child import Detecting
from api.ingest.wire import Handed, SegmentRequest, SegmentResult
from api.rewards.scored_episode import task_bytes
from detectors.engine.engine import Engine
from detectors.engine.footprint import footprint
from detectors.model.caches import ENTRY
from detectors.model.codec import GENESIS, decode_segment, encode_segment
from detectors.model.rewards import encode_reward
from detectors.model.types import Segment
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.processes import Process
from tests.api.service import TASK, Service, Store, events, frames, running, texts
from tests.api.test_process import opened
from tests.api.test_segments import REFUSED, written
from tests.support.logs import clicked, episode, sealed, went

SEVERAL = TASK | {
    "id": "shop/several",
    "milestones": [
        {"id": "any", "when": {"url_reached": {"url": "/item-*"}}, "repeat": 5},
        *TASK["milestones"],
    ],
}
STEPS = [
    [went(f"/item-{n % 7}"), *([went("/cart")] if n == 11 else []), sealed(n)] for n in range(40)
]
SAID = episode(*STEPS, [clicked("Buy")])
LARGE = 1_500
"""Bytes of text: some ten of these events."""


@asynccontextmanager
async def beside(store: Store) -> AsyncIterator[Service]:
    """A service with a process beside it that is up."""
    async with running(store, workers=1, apart_bytes=LARGE) as service:
        await up(service)
        yield service


async def up(service: Service) -> None:
    """Return once its process is up; what is large makes it start."""
    large = frames(events("ep", *SAID))[0]
    async with asyncio.timeout(60):
        while not service.app.state.parts.crew.wants(large):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def children() -> list[psutil.Process]:
    """The processes that detect for this one."""
    return [one for one in psutil.Process().children() if "api.ingest.child" in one.cmdline()]


async def apart(service: Service) -> int:
    """How many segments were worked at beside the service, as it says itself."""
    return int((await service.metrics())["milestoned_segments_apart_total"])


def alone(id: str) -> list[bytes]:
    """What the engine alone gives."""
    rules = compile_task(task_from_json(SEVERAL))
    return [encode_reward(reward) for reward in Engine(rules, id).feed(events(id, *SAID)).rewards]


async def paid(service: Service, id: str) -> list[bytes]:
    """What the service says."""
    return [(await service.reward(id, step)).content for step in range(len(STEPS) + 1)]


async def test_any_split_into_small_and_large_gives_what_the_engine_alone_gives(
    store: Store,
) -> None:
    chance, wanted = random.Random(7), 0
    async with beside(store) as service:
        for _ in range(12):
            id, token = await service.open(SEVERAL)
            sizes = [chance.choice((1, 2, 25, 40)) for _ in range(len(SAID))]
            large = [len(text) >= LARGE for text in texts(events(id, *SAID), sizes)]
            wanted += len(large) - large.index(
                True
            )  # once it is there, the small ones go there too
            await service.tell(id, token, *SAID, sizes=sizes)
            assert await paid(service, id) == alone(id)
            told = (await service.get(f"/v1/episodes/{id}")).json()
            assert (told["status"], told["success"], told["step"]) == ("closed", True, len(STEPS))
        assert await apart(service) == wanted < await service.rows("segments")


async def test_the_rows_are_those_of_a_service_alone(
    store: Store, fresh: Callable[[Store], Store]
) -> None:
    found = []
    for where, workers in ((store, 0), (fresh(store), 1)):
        async with running(where, workers=workers, apart_bytes=LARGE) as service:
            if workers:
                await up(service)
            id, token = await service.open(SEVERAL)
            await service.tell(id, token, *SAID, sizes=[60, 30])
            told = (await service.get(f"/v1/episodes/{id}/milestones")).text
            found.append(
                (
                    told.replace(id, "E"),
                    [one.replace(id.encode(), b"E") for one in await paid(service, id)],
                )
            )
            assert await apart(service) == (3 if workers else 0)
            counts = (await written(service, id))[:-1]
    assert found[0] == found[1]
    assert counts == (3, 4, 41, 41, 1)


async def test_what_is_refused_is_refused_in_the_same_words(
    store: Store, fresh: Callable[[Store], Store]
) -> None:
    found: list[dict[str, Any]] = []
    for where, workers in ((store, 0), (fresh(store), 1)):
        async with running(where, workers=workers, apart_bytes=1) as service:
            if workers:
                await up(service)
            found.append({})
            for case, (_, _, make) in REFUSED.items():
                id, token = await service.open()
                first, rest = frames(events(id, *episode([went("/cart")])), [2])
                assert (await service.append(id, first, token)).status_code == 200
                before = await written(service, id)
                answer = await service.append(id, make(id), token)
                said = {name: told for name, told in answer.json().items() if name != "head"}
                found[-1][case] = (
                    answer.status_code,
                    re.sub(r"\d+ bytes|[0-9a-f]{64}", "", str(said).replace(id, "E")),
                )
                assert await written(service, id) == before, case
                assert (await service.append(id, rest, token)).status_code == 200, case
                assert (await service.append(id, rest, token)).status_code == 200, case
            assert await apart(service) >= (3 * len(REFUSED) if workers else 0)
    assert found[0] == found[1]


async def test_a_process_that_is_killed_loses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "AGAIN_S", 0.05)
    async with beside(store) as service:
        ids = [await service.open(SEVERAL) for _ in range(3)]
        made = [frames(events(id, *SAID), [20] * 9) for id, _ in ids]
        for n in range(len(made[0])):
            for child in children() if n in (2, 5) else ():
                child.kill()  # before, while or after it works at one of the next three
            sent = [service.append(id, made[k][n], token) for k, (id, token) in enumerate(ids)]
            assert [one.status_code for one in await asyncio.gather(*sent)] == [200] * 3
            if n in (3, 6):
                await up(service)
        for id, _ in ids:
            assert await paid(service, id) == alone(id)
        assert await apart(service) >= 9


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_two_replicas_with_a_process_each_take_turns(store: Store) -> None:
    async with beside(store) as one, beside(store) as other:
        id, token = await one.open(SEVERAL)
        for n, frame in enumerate(frames(events(id, *SAID), [20] * 9)):
            both = (one, other) if n % 2 else (other, one)
            assert [(await each.append(id, frame, token)).status_code for each in both] == [
                200,
                200,
            ]
        assert await paid(one, id) == await paid(other, id) == alone(id)
        assert min(await apart(one), await apart(other)) > 3


async def test_who_is_not_waited_for_any_more_disturbs_nobody(store: Store) -> None:
    async with beside(store) as service:
        id, token = await service.open(SEVERAL)
        (member,) = service.app.state.parts.crew._members
        for frame in frames(events(id, *SAID), [20] * 9):
            given_up = asyncio.create_task(service.append(id, frame, token))
            while not member.busy:
                assert not given_up.done()
                await asyncio.sleep(0)
            given_up.cancel()  # its process works at it
            assert (await service.append(id, frame, token)).status_code == 200
        assert await paid(service, id) == alone(id)


FIRST, SECOND, THIRD = (decode_segment(text) for text in texts(events("E", *SAID), [20, 20])[:3])
RULES = compile_task(task_from_json(TASK))
EMPTY = Handed(task_bytes(RULES.task), Engine(RULES, "E").dump())
START = EpisodePosition(0, GENESIS, False, -1, 0, 0)


def asked(segment: Segment, at: EpisodePosition, handed: Handed | None = None) -> SegmentRequest:
    """The service asks what ``segment`` brings an episode that stands ``at``."""
    return SegmentRequest(
        "E", zstandard.compress(encode_segment(segment.events, segment.prev)), at, "now", handed
    )


def test_an_engine_is_used_where_it_stands_and_nowhere_else() -> None:
    process = Detecting(Limits())
    assert process.answer(asked(FIRST, START)) is None, "it has none"
    found = process.answer(asked(FIRST, START, EMPTY))
    assert isinstance(found, SegmentResult)
    assert found.advance is not None
    after = found.advance.standing
    assert (after.through, after.head) == (FIRST.last, FIRST.digest)
    assert process.answer(asked(THIRD, after)) == SegmentResult(replace(THIRD, events=()), None), (
        "it does not continue the log"
    )
    assert process.answer(asked(FIRST, START)) is None, "what it worked out last was never written"
    assert process.answer(asked(FIRST, START, EMPTY)) == found
    elsewhere = replace(SECOND, prev="a" * 64)
    assert process.answer(asked(elsewhere, after._replace(head="a" * 64))) is None, (
        "after another first segment"
    )
    assert process.answer(asked(FIRST, START, EMPTY)) == found
    assert isinstance(process.answer(asked(SECOND, after)), SegmentResult)


def test_rules_that_this_process_has_not_are_the_services_to_apply() -> None:
    other = Handed(task_bytes(compile_task(task_from_json(SEVERAL)).task), EMPTY.state)
    assert Detecting(Limits()).answer(asked(FIRST, START, other)) is None


def test_the_engine_that_was_not_used_for_longest_makes_room() -> None:
    fed = Engine(RULES, "A")
    fed.feed(decode_segment(texts(events("A", *SAID), [20, 20])[0]).events)
    # Two engines and a half, and the rules that they share.
    most = 2 * (footprint(fed) + ENTRY) + footprint(fed) // 2 + RULES.shared.bytes
    process = Detecting(Limits(engines_bytes=most))
    of = {id: [decode_segment(text) for text in texts(events(id, *SAID), [20, 20])] for id in "ABC"}
    after = {}
    for id, (first, *_) in of.items():
        engine = Handed(EMPTY.task, Engine(RULES, id).dump())
        found = process.answer(asked(first, START, engine)._replace(episode=id))
        assert isinstance(found, SegmentResult)
        assert found.advance is not None
        after[id] = found.advance.standing
    kept = [
        process.answer(asked(of[id][1], after[id])._replace(episode=id)) is not None for id in "AC"
    ]
    assert kept == [False, True]


def test_whatever_is_to_be_written_has_its_statement() -> None:
    assert [*KINDS, "arrival", "ask", *STATEMENTS] == list(get_args(Write))


async def test_a_service_that_stops_leaves_no_process(store: Store) -> None:
    async with beside(store):
        assert len(children()) == 1
    assert children() == []


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    """A running service of two processes beside it."""
    found = Process(tmp_path / "data", "--workers", "2")
    found.start()
    yield found
    found.stop_if_running()


def test_a_service_that_dies_leaves_no_process(process: Process) -> None:
    http, id, token = opened(process)
    large = frames(events(id, *episode([went(f"/{n}/" + "x" * 300) for n in range(200)])))[0]
    told = {"authorization": f"Bearer {token}"}
    assert http.post(f"/v1/episodes/{id}/events", content=large, headers=told).status_code == 200
    http.close()
    service = psutil.Process(process.pid)
    beside = [one for one in service.children() if "api.ingest.child" in one.cmdline()]
    assert len(beside) == 2
    assert {os.getpgid(one.pid) for one in beside}.isdisjoint({os.getpgid(service.pid)}), (
        "Ctrl+C would end them too"
    )
    process.kill()
    assert len(psutil.wait_procs(beside, timeout=30)[0]) == 2


@pytest.mark.parametrize("wrong", ["x", "-1", "65"])
def test_a_wrong_count_is_named(
    tmp_path: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from api.cli.main import main

    assert main(["serve", "--data", str(tmp_path), "--workers", wrong]) == 2
    said = f'--workers: expected a whole number from 0 to 64, got "{wrong}"'
    assert said in capsys.readouterr().err


def test_a_process_beside_the_service_loads_neither_the_database_nor_an_event_loop() -> None:
    """They are three fifths of what it would have in memory, and of the time until it is up."""
    script = "import sys, api.ingest.child; print({'sqlalchemy', 'asyncio'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
