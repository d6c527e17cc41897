"""A daemon outside the fleet that was killed is not ready: it has no beat, but it always asks for
commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.core.notify import Notifier, called_of, log_of
from api.fleet import daemon_calls
from api.fleet.daemon_calls import CALL, SILENT, DaemonCalls
from tests.api.service import Store, eventually, running
from tests.api.test_readiness import OPENED, Daemon, asked
from tests.support.stack import Stack

LOST_S = 6.0
"""Of `--sandbox-lost-s`: a daemon calls every 3 s, and counts as silent after 4.5 s."""
SHORT = ("sh", "-c", f'exec "$@" --sandbox-lost-s {LOST_S:g}', "sh")
WAIT_S = 60.0


def wait_until(holds: Callable[[], bool]) -> float:
    """Seconds until ``holds``."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < WAIT_S
        time.sleep(0.1)
    return time.monotonic() - began


@pytest.mark.slow
def test_a_daemon_that_was_killed_is_not_ready_and_ready_again_once_it_is_back(
    tmp_path: Path,
) -> None:
    watched = tmp_path / "files"
    watched.mkdir()
    with Stack(tmp_path, serve_with=SHORT) as stack:
        stack.open(
            {
                "id": "silent/file",
                "version": "1",
                "instruction": "Make a file.",
                "milestones": [{"id": "file", "when": {"file_created": {"name": "a.txt"}}}],
            }
        )
        stack.watch(files=[watched])

        def said() -> Any:
            headers = {"authorization": f"Bearer {stack.service.token}"}
            url = f"{stack.url}/v1/episodes/{stack.episode.id}/ready"
            return httpx.get(url, headers=headers).raise_for_status().json()

        wait_until(lambda: bool(said()["ready"]))
        ends = time.monotonic() + LOST_S
        while time.monotonic() < ends:  # nothing happens, and nothing is appended
            assert said()["ready"], "it calls all the time"
            time.sleep(0.2)
        stack.daemon.part.kill()
        took_s = wait_until(lambda: not said()["ready"])
        assert took_s > LOST_S * (SILENT - CALL) - 1
        assert "the episode's daemon was not heard of for" in said()["waiting"]["agentd"]
        stack.start_daemon()
        wait_until(lambda: bool(said()["ready"]))


async def test_who_appends_or_asks_for_commands_is_heard_of(store: Store) -> None:
    async with running(store, sandbox_lost_s=2.0) as service:
        id, token = await service.open()
        await Daemon(service, id, token, OPENED).tell()
        assert (await asked(service, id))["ready"]

        async def waiting() -> dict[str, str]:
            return dict((await asked(service, id))["waiting"])

        assert (await eventually(waiting)).keys() == {"agentd"}
        path = f"/v1/episodes/{id}/commands"
        began = time.monotonic()
        commands = await service.get(path, token, params={"after": 0, "wait_ms": 30_000})
        assert commands.json() == {"commands": [], "followed": False}
        assert time.monotonic() - began < 10, "it waits no longer than it may be silent"
        assert (await asked(service, id))["ready"]


def calls_of(monkeypatch: pytest.MonkeyPatch) -> tuple[Notifier, DaemonCalls, list[float]]:
    """Calls by a clock of the test's."""
    clock = [100.0]
    monkeypatch.setattr(daemon_calls.time, "monotonic", lambda: clock[0])
    notifier = Notifier()
    return notifier, DaemonCalls(notifier, 45.0), clock


@pytest.mark.parametrize("topic", [called_of, log_of])
def test_a_call_at_another_replica_counts(
    topic: Callable[[str], tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose word comes in as a topic."""
    notifier, calls, clock = calls_of(monkeypatch)
    clock[0] += 50
    assert calls.silent_s("ep_1") == 50, "nothing was heard since this replica began"
    notifier.wake(topic("ep_1"))
    clock[0] += 45
    assert calls.silent_s("ep_1") == 0
    clock[0] += 1
    assert calls.silent_s("ep_1") == 46
    assert calls.silent_s("ep_2") == 96


def test_replicas_are_told_of_calls_but_not_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that polls after every command is told of once in five seconds."""
    notifier, calls, clock = calls_of(monkeypatch)
    told: list[tuple[str, str]] = []
    notifier.spread(lambda topic, _said: told.append(topic), 15.0)
    table = [(0.0, 1), (1.0, 1), (4.9, 1), (5.0, 2), (5.1, 2), (25.0, 3)]
    for at, expected in table:
        clock[0] = 100.0 + at
        calls.spread_call("ep_1")
        assert len(told) == expected, at
    calls.spread_call("ep_2")
    assert told[-1] == called_of("ep_2")


def test_what_was_forgotten_for_others_is_not_called_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daemon_calls, "CALLS_BYTES", 20_000)
    notifier, calls, clock = calls_of(monkeypatch)
    notifier.wake(called_of("ep_first"))
    for n in range(1_000):
        notifier.wake(called_of(f"ep_{n}"))
    assert calls.kept.bytes <= 20_000
    clock[0] += 100
    assert calls.silent_s("ep_first") == 0
    assert calls.silent_s("ep_999") == 100
