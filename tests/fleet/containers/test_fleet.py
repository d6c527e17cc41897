"""The fleet of docker-compose.yml on an engine: built, brought up, worked with and broken.

``make test-fleet`` runs it and prints what it did. It needs root, Debian and some ten minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.containers import cluster, engine, laws
from tests.fleet.containers.cluster import SANDBOXES, Cluster
from tests.fleet.containers.engine import needs_engine, say
from tests.fleet.containers.faults import Faults

TRAINERS = 4
EPISODES = 4
WORK_S = 600.0
REST_S = 30.0
SEED = int(os.environ.get("FLEET_SEED", "32"))

pytestmark = needs_engine


@pytest.mark.parametrize("compose", cluster.composes(), ids=" ".join)
def test_the_fleet_comes_up_and_goes(
    running_engine: engine.Engine, compose: list[str], tmp_path: Path
) -> None:
    if not cluster.is_there(compose):
        pytest.skip(f"{' '.join(compose)} is not installed")
    began = time.monotonic()
    with cluster.running(running_engine, compose, tmp_path) as fleet:
        say(f"{' '.join(compose)}: all healthy after {time.monotonic() - began:.0f} s")
        _look_inside(fleet)
        _try_the_others(fleet)
    left = [running_engine.docker(kind, "ls", "--quiet") for kind in ("container", "volume")]
    left += running_engine.docker("network", "ls", "--format", "{{.Name}}").split()
    assert set(left) <= {"", "bridge", "host", "none"}


def _look_inside(fleet: Cluster) -> None:
    """No compiler, no source tree, no pip; a list of packages; Chromium's own sandbox."""
    sandbox, api = fleet.container(SANDBOXES[0]), fleet.containers("api")[0]
    for container in (sandbox, api):
        lacks = "! command -v cc && ! command -v pip3 && ! [ -e /src ] && ! [ -e /opt/milestoned/bin/pip ]"
        fleet.engine.docker("exec", container, "sh", "-c", lacks)
        fleet.engine.docker(
            "exec",
            container,
            "grep",
            "-q",
            "fastapi\\|playwright\\|cyclopts",
            "/opt/milestoned/sbom.cdx.json",
        )
    refused = fleet.engine.attempt("exec", api, "touch", "/opt/milestoned/mine")
    assert "Read-only file system" in refused.stdout
    command = fleet.engine.docker(
        "exec", sandbox, "sh", "-c", "tr '\\0' ' ' < /proc/$(pgrep -o -x chromium)/cmdline"
    )
    assert "--no-sandbox" not in command, fleet.engine.docker("logs", sandbox)


def _try_the_others(fleet: Cluster) -> None:
    """The agent's user in one sandbox reaches the proxy, and nobody else."""
    assert _reaches(fleet, "proxy", 8420)
    for service, port in (("sandbox-2", 9223), ("api", 8420), ("postgres", 5432)):
        for address in fleet.addresses(service):
            assert not _reaches(fleet, address, port), (service, address)


def _reaches(fleet: Cluster, host: str, port: int) -> bool:
    words = ("exec", "--user", "agent", fleet.container(SANDBOXES[0]), "timeout", "3", "bash", "-c")
    return fleet.engine.attempt(*words, f"echo >/dev/tcp/{host}/{port}").returncode == 0


def test_what_is_paid_holds_whatever_breaks(running_engine: engine.Engine, tmp_path: Path) -> None:
    """Sixteen episodes by four trainers, paid in full; then as many as they can while everything
    breaks; then paid in full again."""
    with cluster.running(running_engine, cluster.any_compose(), tmp_path) as fleet:
        until = time.monotonic() + REST_S
        _say_usage(fleet, "at rest", lambda: time.monotonic() < until)
        worth = _without_a_fault(fleet, tmp_path, EPISODES)
        _while_it_breaks(fleet, tmp_path, worth)
        fleet.wait_until_well()
        assert _without_a_fault(fleet, tmp_path, 1) == worth
        say(f"audit: {fleet.verify()}")


def _without_a_fault(fleet: Cluster, folder: Path, episodes: int) -> laws.Worth:
    """What each step is worth: the same in every episode, and the task in full."""
    began = time.monotonic()
    trainers = [fleet.trainers("work", "--episodes", str(episodes)) for _ in range(TRAINERS)]
    _say_usage(fleet, "at work", lambda: any(one.poll() is None for one in trainers))
    notes = laws.lines(trainers, WORK_S)
    took = time.monotonic() - began
    problems = [note["problem"] for note in notes if note["problem"]]
    assert not problems, problems
    assert len(notes) == TRAINERS * episodes
    finals = laws.collected(fleet, notes, folder)
    paid = [[step["reward"] for step in one["final"]] for one in finals.values()]
    for name, one in finals.items():
        if [step["reward"] for step in one["final"]] != paid[0]:
            say(f"{name} was paid otherwise than the first: {one['final']}")
    assert all(one == paid[0] for one in paid)
    assert sum(paid[0]) == pytest.approx(1.0), paid[0]
    worth = [step["milestones"] for step in next(iter(finals.values()))["final"]]
    assert laws.broken(worth, notes, finals) == []
    start = _common_start([note["start"] for note in notes])
    resets = sorted(note["reset_s"] for note in notes)
    ready = sorted(note["ready_s"] for note in notes)
    say(
        f"{len(notes)} episodes by {TRAINERS} trainers in {took:.0f} s, all paid {sum(paid[0]):.1f}: {paid[0]}"
    )
    say(
        f"from open to ready: {ready[0]:.1f} to {ready[-1]:.1f} s, of which a reset took {resets[0]:.1f} to {resets[-1]:.1f} s"
    )
    say(f"the same start state in every episode: {start}")
    return worth


def _common_start(states: list[dict[str, Any]]) -> dict[str, Any]:
    """The facts that every episode began with, by part. Tabs and files are told before an episode
    is ready. The browser's window may come after the first step, and is in no start state then."""
    common: dict[str, Any] = {}
    for part in ("tabs", "files", "windows"):
        told = [state[part]["facts"] for state in states if part in state]
        if part == "windows":
            told = [facts for facts in told if facts]
            say(f"{len(told)} of {len(states)} episodes began with the browser's window there")
        else:
            assert len(told) == len(states), (
                f"{part}: not told in {len(states) - len(told)} episodes"
            )
        assert all(facts == told[0] for facts in told), f"a reset left something behind: {told}"
        common[part] = told[0] if told else {}
    return common


def _say_usage(fleet: Cluster, when: str, lasts: Callable[[], bool]) -> None:
    """The most memory and the processor time of each container, as long as it lasts."""
    measured = fleet.measured()
    before, began, seen = fleet.processor_s(measured), time.monotonic(), [fleet.memory(measured)]
    while lasts():
        time.sleep(1.0)
        seen.append(fleet.memory(measured))
    after, took = fleet.processor_s(measured), time.monotonic() - began
    for name in before:
        memory, used = max(one[name] for one in seen), after[name] - before[name]
        say(f"{when}: {name} {memory:.0f} MiB, {used:.1f} s of a processor in {took:.0f} s")


def _while_it_breaks(fleet: Cluster, folder: Path, worth: laws.Worth) -> None:
    enough = folder / "enough"
    began = time.monotonic()
    trainers = [fleet.trainers("work", "--until", str(enough)) for _ in range(TRAINERS)]
    try:
        faults = Faults(fleet, SEED)
        for words, fault in faults.all():
            at = time.monotonic() - began
            fault()
            say(f"{at:5.0f} s: {words}, {time.monotonic() - began - at:.1f} s")
            faults.breathe()
    finally:
        enough.touch()
    notes = laws.lines(trainers, WORK_S)
    fleet.wait_until_well()
    finals = laws.collected(fleet, notes, folder)
    for note in notes:
        if note["problem"]:
            say(
                f"{note['episode']}, step {note['step']}, in {note.get('sandbox')}: {note['problem']}"
            )
    count = laws.counted(worth, finals)
    say(
        f"seed {SEED}: {count.episodes} episodes, {count.paid_in_full} paid in full, {count.null} of {count.steps} steps null"
    )
    say(f"audit: {fleet.verify()}")
    broken = laws.broken(worth, notes, finals)
    for one in broken:
        say(f"not as without a fault: {one}")
        say(f"its steps: {finals.get(one.split()[0], {}).get('final')}")
    assert broken == []
    assert count.paid_in_full > 0
