"""A first step is never null because something was starting: who waits for readiness, by whatever
way, begins seen.

Service, daemon and Chromium are real; each browser is started right before its daemon, or after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from milestoned_client import (
    AsyncRewardClient,
    ControlDir,
    Episode,
    NotReadyError,
    Reward,
    RewardClient,
)
from playwright.sync_api import Playwright

from tests.api.processes import milestoned
from tests.support.chromium import Chromium, needs_chromium
from tests.support.stack import PATIENT, SEAL_S, Stack

pytestmark = [pytest.mark.browser, needs_chromium]
T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]


def _task(shop: str) -> dict[str, Any]:
    return {
        "id": "ready/lamp",
        "version": "1",
        "instruction": "Look at the lamp.",
        "origin": shop,
        "settings": PATIENT,
        "milestones": [{"id": "lamp", "when": {"url_reached": {"url": "/products/lamp"}}}],
    }


@pytest.fixture
def shop(stack: Stack) -> str:
    return stack.start_shop()


def look(playwright: Playwright, browser: Chromium, shop: str) -> None:
    """The agent's only deed."""
    agent = playwright.chromium.connect_over_cdp(browser.endpoint)
    agent.contexts[0].pages[0].goto(shop + "products/lamp")
    agent.close()


def paid(reward: Reward) -> None:
    assert (reward.status, [one.id for one in reward.milestones]) == ("sealed", ["lamp"]), reward


def _detached(stack: Stack, episode: Episode, *options: str) -> subprocess.CompletedProcess[str]:
    stack.states.joinpath("token").write_text(episode.token)
    return subprocess.run(
        [
            sys.executable, "-m", "agentd", "run", "--detach", "--service", stack.url, "--episode", episode.id,
            "--token-file", str(stack.states / "token"), "--state", str(stack.state), *options,
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@contextlib.contextmanager
def ended(stack: Stack) -> Iterator[None]:
    """The detached daemon ends with the test, whatever becomes of it."""
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((stack.state / "agentd.pid").read_text()), signal.SIGTERM)


@pytest.mark.slow
def test_after_detach_the_first_step_is_seen(
    stack: Stack, shop: str, playwright: Playwright
) -> None:
    """Also over a Unix socket, where no port is open."""
    for socket in (False, True):
        with Chromium() as browser:
            episode = stack.open(_task(shop))
            assert episode.readiness().waiting.keys() == {"agentd"}
            options = ("--socket", str(stack.folder / "control.sock")) if socket else ()
            with ended(stack):
                ran = _detached(stack, episode, "--cdp", browser.endpoint, *options)
                assert ran.returncode == 0, ran
                beside = stack.connect(beside=True).episode(episode.id)
                beside.step("look", step=0)
                look(playwright, browser, shop)
                beside.end_step(0)
                paid(beside.reward(0, wait_s=SEAL_S))
                assert beside.close(wait_s=SEAL_S).status == "closed"
        assert episode.readiness().waiting == {"episode": "the episode is closed"}
        with pytest.raises(NotReadyError, match="is closed, so no step can begin"):
            episode.wait_ready(SEAL_S)


@pytest.mark.slow_where("async")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_open_waits_until_the_fleet_s_sandbox_sees(
    stack: Stack, shop: str, playwright: Playwright, kind: str
) -> None:
    """The browser is started after the episode was opened: until then the daemon says that it waits
    for it."""
    browser = Chromium()
    stack.connect().register_task(_task(shop))
    token = stack.states / "sandbox.token"
    token.write_text(_sandbox_token(stack))
    command = [
        sys.executable, "-m", "agentd", "join", "--service", stack.url, "--token-file", str(token),
        "--state", str(stack.folder / "sandbox"), "--name", "one", "--profile", str(browser.profile),
    ]  # fmt: skip
    daemon = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        with pytest.raises(NotReadyError) as refused:
            stack.connect().open("ready/lamp", sandbox="any", wait_ready=SEAL_S / 10)
        early = refused.value.opened
        assert refused.value.waiting.keys() <= {"cdp", "agentd", "sandbox"}, refused.value.waiting
        assert str(refused.value).startswith(
            f"episode {early.id} is not ready after 3 s: it waits for "
        )
        early.close("too early", wait_s=SEAL_S)
        with browser:
            _open_and_look(stack, kind, lambda: look(playwright, browser, shop))
    finally:
        daemon.terminate()
        daemon.wait(60)


def _open_and_look(stack: Stack, kind: str, deed: Any) -> None:
    if kind == "sync":
        with RewardClient(stack.url, stack.service.token) as client:
            episode = client.open("ready/lamp", sandbox="any", wait_ready=60)
            episode.step("look", wait_s=SEAL_S)
            deed()
            episode.end_step(wait_s=SEAL_S)
            paid(episode.reward(0, wait_s=SEAL_S))
            episode.close(wait_s=SEAL_S)
        return

    async def begin() -> str:
        async with AsyncRewardClient(stack.url, stack.service.token) as client:
            episode = await client.open("ready/lamp", sandbox="any", wait_ready=60)
            await episode.step("look", step=0, wait_s=SEAL_S)
            return episode.id

    async def finish(id: str) -> None:
        async with AsyncRewardClient(stack.url, stack.service.token) as client:
            episode = client.episode(id)
            await episode.end_step(0, wait_s=SEAL_S)
            paid(await episode.reward(0, wait_s=SEAL_S))
            await episode.close(wait_s=SEAL_S)

    opened = _apart(begin())
    deed()  # Playwright's sync interface wants no running loop
    _apart(finish(opened))


def _apart(work: Coroutine[Any, Any, T]) -> T:
    """Run it in a thread: Playwright keeps a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _sandbox_token(stack: Stack) -> str:
    made = milestoned(
        stack.folder, "token", "create", "sandbox", "--data", str(stack.folder / "service")
    )
    assert made.returncode == 0, made.stderr
    return str(made.stdout)


@pytest.mark.slow
def test_a_browser_that_is_lost_takes_readiness_away_until_it_is_back(
    stack: Stack, shop: str, playwright: Playwright
) -> None:
    with Chromium() as browser:
        episode = stack.open(_task(shop))
        stack.watch(("--profile", str(browser.profile)))
        assert episode.wait_ready(60).waiting == {}
        assert (stack.state / "ready").exists()
        browser.kill()
        until = time.monotonic() + 60
        while episode.readiness().ready or (stack.state / "ready").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        with pytest.raises(NotReadyError, match=r"it waits for cdp \(") as refused:
            episode.wait_ready(0.5)
        assert set(refused.value.waiting) == {"cdp"}
        with pytest.raises(NotReadyError, match=r"it waits for cdp \("):
            ControlDir(stack.state).wait_ready(0.5)
        browser.start()
        assert episode.wait_ready(60).ready
        ControlDir(stack.state).wait_ready(30)
        episode.step("look", wait_s=SEAL_S)
        look(playwright, browser, shop)
        episode.end_step(wait_s=SEAL_S)
        paid(episode.reward(0, wait_s=SEAL_S))


@pytest.mark.slow
def test_what_the_task_needs_and_nobody_watches_is_named(stack: Stack, tmp_path: Path) -> None:
    task = {
        "id": "ready/file",
        "version": "1",
        "instruction": "Write it.",
        "milestones": [{"id": "file", "when": {"file_created": {"name": "a.txt"}}}],
    }
    episode = stack.open(task)
    stack.watch()
    with pytest.raises(NotReadyError) as refused:
        episode.wait_ready(5)
    assert refused.value.waiting == {"files": "not watched: the daemon was given no --files"}
    assert not (stack.state / "ready").exists()
