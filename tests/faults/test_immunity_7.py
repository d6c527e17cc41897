"""Immunity 7, a fault scored as 0: whatever is killed in mid-episode, what nobody saw is null,
masked and bounded.

The service and the database hide nothing: what was spooled meanwhile gives the score of a run
without the fault.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from milestoned_client import Episode, Event, Reward
from playwright.sync_api import Playwright

from tests.faults import test_browser_killed as browsing
from tests.faults import test_desktop_killed as typing_words
from tests.faults.checks import as_without_the_fault, whole
from tests.faults.script import run, task
from tests.support.chromium import needs_chromium
from tests.support.desktop import Desktop
from tests.support.postgres import Postgres, needs_postgres
from tests.support.shopping import Session
from tests.support.stack import Stack, gist

playwright, desktop = browsing.playwright, typing_words.desktop
STEPS = 4
LOST = 1
"""The step in which everything is killed."""
EPISODES = 16


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=[pytest.mark.slow, needs_postgres])]
)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres | None]:
    """A Postgres that the test may kill; None: SQLite."""
    if request.param == "sqlite":
        yield None
    else:
        with Postgres() as own:
            yield own


@pytest.fixture
def stack(server: Postgres | None, tmp_path: Path) -> Iterator[Stack]:
    with Stack(tmp_path, server.database() if server else "") as running:
        yield running


def unobserved(reward: Reward, events: Sequence[Event], source: str) -> None:
    """Null, a status, masked; the reason names the source and the event at which it went blind, and
    the log has the gap's end too."""
    assert (reward.reward, reward.status, reward.mask) == (None, "unobserved", True)
    assert set(reward.components.values()) <= {None}
    assert reward.reason is not None
    told = [event for event in events if event.kind.startswith("gap.") and "of" not in event.data]
    gaps = [event for event in told if event.data["source"] == source]
    began = [
        one for one in gaps if one.kind == "gap.began" and f"event {one.seq}:" in reward.reason
    ]
    # On a busy machine a program may not come back to its bus: a part's gap stands beside then.
    began = [one for one in began if "part" not in one.data] or began
    assert len(began) == 1, reward.reason
    assert began[0].data["reason"] in reward.reason
    ended = next(one for one in gaps if one.kind == "gap.ended" and one.seq > began[0].seq)
    assert ended.at >= began[0].at


@pytest.mark.browser
@needs_chromium
def test_chrome(stack: Stack, playwright: Playwright, tmp_path: Path) -> None:
    session = Session(stack, playwright, tmp_path)
    try:
        session.page.goto("about:blank")  # its first document is there: nothing else is on its way
        session.open(*browsing.milestones(STEPS))
        assert session.act(session.goto("products/lamp?n=0")).reward

        def die_and_return() -> None:
            session.browser.kill()
            session.start_browser()
            while (
                len([one for one in session.events("gap.ended") if one.data["source"] == "cdp"]) < 2
            ):
                session.page.wait_for_timeout(50)

        lost = session.act(die_and_return)
        again = [session.act(session.goto(f"products/lamp?n={n}")) for n in (2, 3)]
        closing = session.episode.close(wait_s=60)
        events = stack.episode.events(limit=5000)
    finally:
        session.browser.stop()
    unobserved(lost, events, "cdp")
    assert again[0].reward
    assert (again[1].reward, again[1].mask) == (None, True), (
        "what must not happen may have happened"
    )
    assert [one.reward for one in closing.rewards] == [0.025, None, 0.025, None, 0.0], (
        "of a visit each, two unknown"
    )
    assert [one.mask for one in closing.rewards] == [False, True, False, True, False]
    assert (closing.total, closing.success) == (None, None)


@pytest.mark.slow
def test_the_accessibility_bus(server: Postgres | None, desktop: Desktop, tmp_path: Path) -> None:
    inside = ("env", *(f"{name}={value}" for name, value in desktop.environ.items()))

    runs: dict[int, bool] = {}

    def kill(step: int) -> None:
        runs[step] = bool(desktop.pids("mousepad"))
        if step == LOST:
            (bus,) = desktop.pids("dbus-daemon")
            os.kill(bus, signal.SIGKILL)

    with Stack(tmp_path, server.database() if server else "", watch_with=inside) as stack:
        rewards = typing_words.typing(stack, desktop, STEPS, kill)
        events = whole(stack, rewards, typing_words.task(STEPS))
    assert rewards[0].reward
    unobserved(rewards[LOST], events, "ax")
    for after in rewards[LOST + 1 : STEPS]:
        # An editor that ended with its bus took nothing that was typed: then the end is told, and
        # 0.0 is the truth.
        ended = not runs[after.step] and any(one.kind == "app.vanished" for one in events)
        assert (after.reward, after.mask) == (None, True) or ended, (
            "it runs unseen: it did not come back to the bus"
        )


def test_the_daemon(stack: Stack, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    calm = run(stack, folder, STEPS)

    def kill(step: int, _: Episode) -> None:
        if step == LOST:
            stack.kill_daemon()
            stack.start_daemon()

    shaken = run(stack, folder, STEPS, within=kill)
    events = whole(stack, shaken, task(STEPS))
    unobserved(shaken[LOST], events, "files")
    assert as_without_the_fault(calm, shaken, events, {"files"}) == {LOST}


def test_what_must_not_happen_does_not_pass_across_a_gap(stack: Stack, tmp_path: Path) -> None:
    """It happened and was undone while the daemon was dead; nothing but the gap tells of it."""
    folder = tmp_path / "notes"
    assert "clean" in [
        one.id for reward in run(stack, folder, STEPS) for one in reward.milestones if reward.reward
    ]

    def sin(step: int) -> None:
        if step == LOST:
            stack.kill_daemon()
            (folder / "forbidden.txt").write_text("!")
            (folder / "forbidden.txt").unlink()
            stack.start_daemon()

    shaken = run(stack, folder, STEPS, sin)
    last = shaken[STEPS - 1]
    assert (last.reward, last.mask, last.status) == (None, True, "unobserved")
    assert "clean" in (last.reason or "")


def test_the_service(stack: Stack, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    calm = run(stack, folder, STEPS)

    def kill(step: int, episode: Episode) -> None:
        if step == LOST:
            stack.kill_service()
            with pytest.raises(httpx.TransportError):
                _ask(stack, step)
            episode.tool_called("spooled", "editor", {})
            stack.start_service()

    shaken = run(stack, folder, STEPS, within=kill)
    assert gist(shaken) == gist(calm)
    whole(stack, shaken, task(STEPS))


@pytest.mark.slow
def test_the_database(server: Postgres | None, stack: Stack, tmp_path: Path) -> None:
    """Postgres is killed; SQLite's file is held by another process."""
    folder = tmp_path / "notes"
    calm = run(stack, folder, STEPS)

    def kill(step: int, episode: Episode) -> None:
        if step == LOST:
            with _away(server, stack):
                episode.tool_called("spooled", "editor", {})
                answer = _ask(stack, step)
                if answer.status_code == 200:
                    assert (answer.json()["reward"], answer.json()["mask"]) == (None, True)
                else:
                    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")

    shaken = run(stack, folder, STEPS, within=kill)
    assert gist(shaken) == gist(calm)
    whole(stack, shaken, task(STEPS))


@contextmanager
def _away(server: Postgres | None, stack: Stack) -> Iterator[None]:
    if server is not None:
        server.kill()
        yield
        server.start()
        return
    holder = sqlite3.connect(stack.folder / "service" / "milestoned.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    yield
    holder.execute("ROLLBACK")
    holder.close()


def _ask(stack: Stack, step: int) -> httpx.Response:
    path = f"/v1/episodes/{stack.episode.id}/steps/{step}/reward"
    return httpx.get(
        stack.url + path, headers={"authorization": f"Bearer {stack.service.token}"}, timeout=30
    )


@pytest.mark.slow
def test_sixteen_episodes_side_by_side_share_nothing(stack: Stack, tmp_path: Path) -> None:
    """Each in a folder of its own; every second one's daemon is killed, and nobody else notices."""
    calm = run(stack, tmp_path / "notes", STEPS)
    chance = random.Random(11)
    kills = {number: chance.randrange(STEPS) for number in range(0, EPISODES, 2)}

    def one(number: int, own: Stack) -> tuple[Sequence[Reward], list[Event]]:
        def kill(step: int, _: Episode) -> None:
            if kills.get(number) == step:
                own.kill_daemon()
                own.start_daemon()

        rewards = run(own, own.folder / f"notes-{number}", STEPS, within=kill)
        return rewards, whole(own, rewards, task(STEPS))

    with ExitStack() as all_of_them, ThreadPoolExecutor(EPISODES) as threads:
        owns = [
            all_of_them.enter_context(Stack(tmp_path / f"{n}", service=stack.service))
            for n in range(EPISODES)
        ]
        found: list[tuple[Sequence[Reward], list[Event]]] = list(
            threads.map(one, range(EPISODES), owns)
        )
    for number, (rewards, events) in enumerate(found):
        assert {event.data["root"] for event in events if event.kind.startswith("file.")} == {
            f"notes-{number}"
        }
        hidden = as_without_the_fault(calm, rewards, events, {"files"})
        assert hidden == ({kills[number]} if number in kills else set()), (
            "nobody else's kill is seen here"
        )
