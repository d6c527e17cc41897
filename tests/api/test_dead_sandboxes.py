"""How long a dead sandbox counts as idle, and where an episode goes that was given to one. The looks
are on a clock of the tests'."""

from __future__ import annotations

import asyncio

import pytest

from tests.api.service import Service, Store, running, until
from tests.api.test_fleet import LOOK_S, LOST_S, Sandbox, eyes, held, joined, opened
from tests.api.test_leases import long_poll, row

BEAT_S = LOST_S / 6
SQLITE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)


async def test_one_that_dies_without_a_word_is_idle_for_half_of_the_time_at_most(
    service: Service,
) -> None:
    """Its last heartbeat came right after a look: the longest case."""
    dead, living = await joined(service, "dead"), await joined(service, "living")
    watch = eyes(service)
    await watch.look(0.0)
    await dead.beat()
    for n in range(1, int(LOST_S / 2 / LOOK_S) + 1):
        assert (await row(service, dead)).state == "idle", f"{n * LOOK_S} s is too soon"
        if n % 2:
            await living.beat()
        await watch.look(n * LOOK_S)
    assert (await row(service, dead)).state == "lost"
    assert (await row(service, living)).state == "idle"
    await dead.beat()
    assert (await row(service, dead)).state == "idle", "it was only out of reach"


async def test_one_that_beats_with_an_episode_has_the_whole_time(service: Service) -> None:
    busy = await joined(service)
    await opened(service)
    await busy.beat()
    watch = eyes(service)
    for n in range(int(LOST_S / LOOK_S)):
        await watch.look(n * LOOK_S)
    assert (await row(service, busy)).state == "busy"


@SQLITE
async def test_one_that_hangs_up_is_idle_no_longer(store: Store) -> None:
    """A killed process: its connection ends, and with it what kept the sandbox idle."""
    async with running(store) as service:
        one, hang_up = await joined(service), asyncio.Event()
        poll = asyncio.create_task(long_poll(service, one, hang_up))
        await until(lambda: service.app.state.notifier.waiting)
        assert (await row(service, one)).state == "idle"
        hang_up.set()
        await poll
        assert (await row(service, one)).state == "lost"
        assert (await opened(service))["sandbox"]["state"] == "queued"
        assert (await one.beat())["lease"] is not None, "it is back"


@SQLITE
async def test_one_that_calls_anew_before_its_old_poll_is_over_stays(store: Store) -> None:
    async with running(store) as service:
        one, hang_up = await joined(service), asyncio.Event()
        poll = asyncio.create_task(long_poll(service, one, hang_up))
        await until(lambda: service.app.state.notifier.waiting)
        await one.beat()
        hang_up.set()
        await poll
        assert (await row(service, one)).state == "idle"


@SQLITE
async def test_one_that_leaves_is_left_though_it_hung_up_before(store: Store) -> None:
    async with running(store) as service:
        one, hang_up = await joined(service), asyncio.Event()
        poll = asyncio.create_task(long_poll(service, one, hang_up))
        await until(lambda: service.app.state.notifier.waiting)
        hang_up.set()
        await poll
        said = await service.post(f"/v1/sandboxes/{one.id}:leave", {"instance": one.instance})
        assert said.json()["state"] == "left"


async def test_an_episode_that_a_dead_sandbox_was_given_goes_to_another_one(
    service: Service,
) -> None:
    dead = await joined(service, "dead")
    id = (await opened(service))["episode"]
    assert (await row(service, dead)).episode == id
    living = await joined(service, "living")
    watch = eyes(service)
    await watch.look(0.0)
    assert (await row(service, dead)).state == "busy", "its daemon may be about to hear of it"
    await watch.look(BEAT_S / 2)
    assert (await row(service, dead)).state == "lost"
    assert (await row(service, living)).episode == id
    assert (await living.beat())["lease"]["episode"] == id
    assert (await held(service, {"episode": id}))["sandbox"]["name"] == "living"
    await watch.look(BEAT_S)
    await watch.look(2 * BEAT_S)
    assert (await row(service, living)).episode == id, "its daemon has heard of it"


@SQLITE
async def test_one_that_was_only_slow_gets_the_episode_with_its_next_heartbeat(
    store: Store,
) -> None:
    async with running(store) as service:
        slow = await joined(service)
        id = (await opened(service))["episode"]
        watch = eyes(service)
        await watch.look(0.0)
        await watch.look(BEAT_S / 2)
        assert (await held(service, {"episode": id}))["state"] == "queued"
        assert (await slow.beat())["lease"]["episode"] == id


@SQLITE
async def test_a_replica_that_did_not_look_takes_nothing_back(store: Store) -> None:
    async with running(store) as service:
        one = await joined(service)
        id = (await opened(service))["episode"]
        watch = eyes(service)
        await watch.look(0.0)
        await watch.look(1_000.0)
        assert (await row(service, one)).episode == id


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_exactly_one_of_two_replicas_takes_it_back(store: Store) -> None:
    async with running(store) as first, running(store) as second:
        dead = await joined(first, "dead")
        id = (await opened(first))["episode"]
        living: list[Sandbox] = [await joined(first, f"living {n}") for n in range(2)]
        eyes_of = [eyes(first), eyes(second)]
        for at in (0.0, BEAT_S / 2):
            await asyncio.gather(*(watch.look(at) for watch in eyes_of))
        assert (await row(first, dead)).state == "lost"
        assert [(await row(first, one)).episode for one in living].count(id) == 1
