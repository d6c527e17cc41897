"""A virtual machine joins a service, earns by a page, a file and a desktop's window, is reset by a
snapshot between two episodes, is lost in a third and replaced for a fourth."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from milestoned_client import Episode, Registered, RewardClient
from playwright.sync_api import Playwright, sync_playwright

from tests.api.processes import Process, milestoned
from tests.fleet.machines.machine import Machine, is_emulated, make_image, needs_machines, say
from tests.fleet.machines.site import Pages

pytestmark = needs_machines

NAME = "machine-1"
START_S = 2_400.0
"""How long a machine may take until it joins and a step can begin, without KVM on a busy host."""
STEP_S = 240.0
EDITOR = "setsid mousepad >/dev/null 2>&1 </dev/null &"
LOST_S = "180"
"""Seconds: without KVM a daemon that begins an episode says nothing for a minute."""
TASK: dict[str, Any] = {
    "id": "fleet/machine",
    "version": "1",
    "instruction": "Open the page /done, leave a note in the downloads, open an editor.",
    "settings": {"settle_ms": 60_000},
    "weights": {"nav": 0.3, "file": 0.3, "ax": 0.4},
    "milestones": [
        {"id": "page", "when": {"url_reached": {"url": "/done"}}},
        {"id": "note", "when": {"file_created": {"path": "note.txt"}}},
        {"id": "editor", "when": {"window_opened": {"title": {"contains": "Mousepad"}}}},
    ],
}
WORTHS = [0.3, 0.3, 0.4]
KINDS = ("page.navigated", "file.created", "window.opened")
"""What is told of each step's deed."""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if is_emulated() and "ACCEL" not in os.environ:
        pytest.skip("QEMU cannot use KVM here, and takes an hour without it; ACCEL=tcg runs it")
    return make_image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def site() -> Iterator[int]:
    """The port of a site of two pages, at loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Process]:
    started = Process(tmp_path / "service", "--sandbox-lost-s", LOST_S)
    started.start()
    yield started
    started.stop_if_running()


def test_a_machine_is_paid_reset_lost_and_replaced(
    image: Path, site: int, service: Process, tmp_path: Path
) -> None:
    token = tmp_path / "sandbox.token"
    made = milestoned(tmp_path, "token", "create", "sandbox", "--data", str(service.data))
    token.write_text(made.stdout)
    machine = Machine(tmp_path / "machine", image, NAME, service.port, token)
    origin = f"http://10.0.2.2:{site}"
    with RewardClient(service.url, service.admin) as client, sync_playwright() as playwright:
        task = client.register_task({**TASK, "origin": origin})
        agent = partial(work, playwright, machine, origin)
        with machine:
            _wait_until_idle(service, machine)
            say(f"savevm in {machine.command('savevm ready'):.1f} s")
            first = _paid_episode(client, task, agent)
            machine.run("test -e Downloads/note.txt")
            say(f"loadvm in {machine.command('loadvm ready'):.1f} s")
            assert machine.run("ls Downloads") == "", "the snapshot has no note"
            again = _paid_episode(client, task, agent)
            assert again == first, "the snapshot brings the same start state back"
            # A page that stands when an episode opens earns nothing.
            machine.command("loadvm ready")
            _lose(client, task, agent, machine)
        with machine:
            _wait_until_idle(service, machine)
            assert _paid_episode(client, task, agent) == first, "a new machine has the same start"


Agent = Callable[[Episode, int], None]


def work(
    playwright: Playwright, machine: Machine, origin: str, episode: Episode, step: int
) -> None:
    """The agent's deed of a step, from outside as a harness does it."""
    if step == 0:
        lease = episode.sandbox()
        assert lease.sandbox is not None
        address = str(lease.sandbox["address"])
        browser = playwright.chromium.connect_over_cdp(address, timeout=STEP_S * 1_000)
        page = browser.contexts[0].pages[0]
        page.goto(f"{origin}/done", timeout=STEP_S * 1_000)
        browser.close()
    elif step == 1:
        machine.run("echo hello >Downloads/note.txt")
    else:
        machine.run(EDITOR)


def _paid_episode(client: RewardClient, task: Registered, agent: Agent) -> dict[str, Any]:
    """An episode of three steps, each paid; the facts of its start state."""
    began = time.monotonic()
    episode = client.open(task, sandbox="any")
    episode.wait_ready(START_S)
    say(f"ready {time.monotonic() - began:.1f} s after the opening")
    for step in range(len(WORTHS)):
        _do(episode, agent, step)
    paid = [episode.reward(step, wait_s=STEP_S) for step in range(len(WORTHS))]
    why = [(reward.step, reward.status, reward.reason) for reward in paid]
    assert [reward.reward for reward in paid] == pytest.approx(WORTHS), why
    closing = episode.close(wait_s=STEP_S)
    assert closing.status == "closed", closing
    say(f"an episode of three steps, paid {WORTHS}, in {time.monotonic() - began:.0f} s")
    facts = episode.start_state().facts
    assert facts is not None
    say(f"it began with {facts}")
    # The browser's window may come after the first step, and is in no start state then.
    return {part: facts[part] for part in ("tabs", "files")}


def _do(episode: Episode, agent: Agent, step: int) -> None:
    """One step, which ends once what the agent did has been told."""
    episode.step({"number": step}, step=step, wait_s=STEP_S)
    before, began = len(episode.events(kind=KINDS[step])), time.monotonic()
    agent(episode, step)
    while len(episode.events(kind=KINDS[step])) == before:
        assert time.monotonic() - began < STEP_S, f"no {KINDS[step]} after the deed"
        time.sleep(0.5)
    episode.end_step(step, wait_s=STEP_S)


def _lose(client: RewardClient, task: Registered, agent: Agent, machine: Machine) -> None:
    """Kill the machine in the second step of an episode: what was paid stays, that step is null."""
    episode = client.open(task, sandbox="any")
    episode.wait_ready(START_S)
    _do(episode, agent, 0)
    assert episode.reward(0, wait_s=STEP_S).reward == pytest.approx(WORTHS[0])
    episode.step({"number": 1}, step=1, wait_s=STEP_S)
    began = time.monotonic()
    machine.kill()
    while episode.sandbox().state == "held":
        assert time.monotonic() - began < STEP_S, "a machine that is gone still holds its episode"
        time.sleep(1.0)
    say(f"a machine that is gone is known as lost after {time.monotonic() - began:.0f} s")
    rewards = episode.close(wait_s=STEP_S).rewards
    assert rewards[0].reward == pytest.approx(WORTHS[0])
    assert [(reward.reward, reward.mask) for reward in rewards[1:]] == [(None, True)], rewards


def _wait_until_idle(service: Process, machine: Machine) -> None:
    """Wait until the machine has joined and its browser answers."""
    began = time.monotonic()
    while _states(service).get(NAME) != "idle":
        machine.check()
        assert time.monotonic() - began < START_S, _states(service)
        time.sleep(1.0)
    say(f"joined {time.monotonic() - began:.0f} s after its start")
    machine.run("until sandbox-alive; do sleep 1; done")
    say(f"Chromium answers {time.monotonic() - began:.0f} s after its start")


def _states(service: Process) -> dict[str, str]:
    """The fleet's sandboxes: each one's state by its name."""
    headers = {"authorization": f"Bearer {service.admin}"}
    said = httpx.get(f"{service.url}/v1/sandboxes", headers=headers, timeout=60.0).json()
    return {one["name"]: one["state"] for one in said["sandboxes"]}
