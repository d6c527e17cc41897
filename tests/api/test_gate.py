"""Who may append how much at once, and who goes first: decided by counting, never by a clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from api.core.errors import TooManyError
from api.core.settings import Limits
from api.http.segments import BEHIND
from api.ingest.admission import AdmissionGate
from tests.api.service import Service, Store, events, frames, running
from tests.support.logs import clicked, episode, went

SAID = episode([went("/cart")], [clicked("Buy")])
FAR = {BEHIND: "100000"}


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


SMALL = Limits(appends=4, appends_bytes=1_000, appends_token=2, appends_at_once=8)
ROOM = {
    "the first, however large": ([], ("a", 5_000, False), True),
    "one that just fits": ([("a", 600, False)], ("b", 400, False), True),
    "one byte more": ([("a", 600, False)], ("b", 401, False), False),
    "a backlog has half": ([("a", 300, True)], ("b", 200, True), True),
    "and no byte more": ([("a", 300, True)], ("b", 201, True), False),
    "a live one has what a backlog may not": ([("a", 500, True)], ("b", 500, False), True),
    "live ones leave a backlog its half": ([("a", 900, False)], ("b", 500, True), True),
    "a token's last": ([("a", 1, False)], ("a", 1, False), True),
    "a token's surplus": ([("a", 1, False)] * 2, ("a", 1, False), False),
    "another token's": ([("a", 1, False)] * 2, ("b", 1, False), True),
    "one request too many": ([(name, 1, False) for name in "abcd"], ("e", 1, False), False),
}


@pytest.mark.parametrize("case", ROOM)
def test_who_finds_room(held: ExitStack, case: str) -> None:
    there, asked, fits = ROOM[case]
    gate = AdmissionGate(SMALL)
    for one in there:
        held.enter_context(gate.room(*one))
    if fits:
        held.enter_context(gate.room(*asked))
    else:
        with pytest.raises(TooManyError) as refused:
            gate.room(*asked)
        assert refused.value.headers["retry-after"] == ("5" if asked[2] else "1")
        held.close()
        held.enter_context(gate.room(*asked))


async def served(gate: AdmissionGate, waiting: list[bool], done: list[bool]) -> None:
    """Let all of ``waiting`` take turns; each notes when it is done."""

    async def one(backlog: bool) -> None:
        async with gate.turn(backlog):
            await asyncio.sleep(0)
        done.append(backlog)

    await asyncio.gather(*(one(backlog) for backlog in waiting))


async def test_live_ones_pass_a_backlog_that_waits() -> None:
    done: list[bool] = []
    await served(AdmissionGate(SMALL), [True] * 100 + [False] * 4, done)
    assert done.index(False) < 8
    assert len(done) - done[::-1].index(False) <= 16, (
        "all four live ones are among the first sixteen"
    )


async def test_a_backlog_drains_while_live_ones_never_end() -> None:
    done: list[bool] = []
    await served(AdmissionGate(SMALL), [False] * 200 + [True] * 10, done)
    assert Counter(done[:120])[True] == 10


async def test_who_gives_up_leaves_no_turn_behind() -> None:
    gate = AdmissionGate(Limits(appends_at_once=1))
    async with gate.turn(False):
        waiting = [
            asyncio.create_task(served(gate, [backlog], [])) for backlog in (False, True, False)
        ]
        await asyncio.sleep(0)
        waiting[0].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    done: list[bool] = []
    await served(gate, [True, False], done)
    assert sorted(done) == [False, True]


async def test_what_is_too_much_is_answered_429_with_what_the_log_has(store: Store) -> None:
    async with running(store, appends_bytes=10) as service:
        id, token = await service.open()
        first, second = frames(events(id, *SAID), [4])
        assert (await service.append(id, first, token)).status_code == 200
        with service.app.state.parts.gate.room("another", 10, False):
            refused = await service.append(id, second, token)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert refused.json()["through"] == 4
            far = await service.call(
                "POST", f"/v1/episodes/{id}/events", token, content=second, headers=FAR
            )
            assert far.status_code == 200, "a backlog's half is its own"


@pytest.mark.parametrize("said", ["x", "-1", "1.5"])
async def test_how_far_behind_is_a_whole_number(service: Service, said: str) -> None:
    id, token = await service.open()
    made = frames(events(id, *SAID))[0]
    answer = await service.call(
        "POST", f"/v1/episodes/{id}/events", token, content=made, headers={BEHIND: said}
    )
    assert answer.status_code == 422
    assert BEHIND in answer.json()["detail"]


@pytest.mark.slow
@pytest.mark.slow_where("postgres")
async def test_episodes_that_come_back_with_an_hours_journal_do_not_starve_a_live_one(
    store: Store,
) -> None:
    """Twenty daemons ship their journals, oldest first; the live one's segments are taken
    meanwhile."""
    async with running(store, appends_at_once=4, appends_token=2) as service:
        behind = [await service.open() for _ in range(20)]
        live, token = await service.open()
        order: list[str] = []

        async def ship(id: str, key: str, headers: dict[str, str]) -> None:
            said = events(id, *episode(*([went(f"/{n}") for n in range(5)] for _ in range(10))))
            for frame in frames(said, [1] * len(said)):
                answer = await service.call(
                    "POST", f"/v1/episodes/{id}/events", key, content=frame, headers=headers
                )
                assert answer.status_code == 200, answer.text
                order.append(id)

        await asyncio.gather(*(ship(id, key, FAR) for id, key in behind), ship(live, token, {}))
        last = len(order) - order[::-1].index(live)
        taken = order.count(live)
        # Served in turn with twenty others it would end with them, at twenty-one segments a turn of
        # its own.
        assert last < 6 * taken, (
            f"the live episode's {taken} segments were done after {last} of all {len(order)}"
        )
        for id, _ in behind:
            assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == "closed"


async def test_a_turn_that_falls_to_somebody_who_gives_up_in_that_moment_is_not_lost() -> None:
    gate = AdmissionGate(Limits(appends_at_once=1))

    async def take() -> None:
        async with gate.turn(False):
            pass

    async with gate.turn(False):
        gives_up = asyncio.create_task(take())
        await asyncio.sleep(0)
        assert gate._waiting[False]
        gives_up.cancel()
    await asyncio.gather(gives_up, return_exceptions=True)
    async with asyncio.timeout(10):
        await take()


async def test_who_calls_too_often_is_told_what_the_log_has_too(store: Store) -> None:
    async with running(store, requests_per_s=0.01, burst_s=400.0) as service:
        id, token = await service.open()
        made = frames(events(id, *SAID), [2])
        assert (await service.append(id, made[0], token)).status_code == 200
        other, foreign = await service.open()
        for _ in range(9):
            refused = await service.append(id, made[1], token)
            strange = await service.append(id, made[1], foreign)
        through = await service.app.state.parts.log.through(id)
        assert (refused.status_code, refused.json()["through"]) == (429, through)
        assert through >= 2
        assert int(refused.headers["retry-after"]) > 0
        assert (strange.status_code, strange.json().get("through")) == (429, None), other
