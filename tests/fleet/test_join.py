"""`agentd join` and `milestoned serve` as processes: episodes come and go, a killed daemon costs
what it must."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from milestoned_client import AsyncRewardClient

from tests.api.processes import ROOT, Process, milestoned
from tests.support.stack import PATIENT

TASK = {
    "id": "fleet/note",
    "version": "1",
    "instruction": "Leave a note.",
    "settings": PATIENT,
    "milestones": [{"id": "note", "when": {"file_created": {"path": "note.txt"}}}],
}
DEAD_S = "4"
"""A sandbox that is not heard of for so long is dead, in seconds: to a test that kills one."""
STARTS_S = "60"
"""Long enough for a daemon to be started again on a busy machine."""
PATIENCE_S = 60.0


class Fleet:
    """A service process, a client with its admin's token, and daemons that join."""

    def __init__(self, folder: Path, lost_s: str) -> None:
        self.folder = folder
        self.service = Process(folder / "service", "--sandbox-lost-s", lost_s)
        self.daemons: list[asyncio.subprocess.Process] = []
        self.http = httpx.AsyncClient()

    async def call(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.http.request(method, path, timeout=60, **more)
        assert answer.status_code < 400, answer.text
        return answer.json()

    def downloads(self, name: str) -> Path:
        return self.folder / name / "Downloads"

    async def join(self, name: str, *options: str) -> asyncio.subprocess.Process:
        home = self.folder / name
        self.downloads(name).mkdir(parents=True, exist_ok=True)
        daemon = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "agentd", "join", "--service", self.service.url, "--token-file",
            str(self.folder / "sandbox.token"), "--state", str(home / "state"), "--name", name,
            "--files", f"downloads={self.downloads(name)}", *options,
            cwd=ROOT, env=os.environ | {"PYTHONWARNINGS": "error"}, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self.daemons.append(daemon)
        return daemon

    async def open(self) -> str:
        opened = await self.call(
            "POST", "/v1/episodes", json={"task": TASK["id"], "sandbox": "any"}
        )
        return str(opened["episode"])

    async def held(self, episode: str) -> str:
        """The name of the sandbox that has the episode, once one has."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                said = await self.call(
                    "GET", f"/v1/episodes/{episode}/sandbox", params={"wait_ms": 20_000}
                )
                if said["state"] != "queued":
                    return str(said["sandbox"]["name"])

    async def until(self, name: str, state: str) -> None:
        """Wait until the sandbox is in that state."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = (await self.call("GET", "/v1/sandboxes"))["sandboxes"]
                if {one["name"]: one["state"] for one in found}.get(name) == state:
                    return
                await asyncio.sleep(0.1)

    async def step(self, episode: str, name: str, number: int, file: str | None) -> dict[str, Any]:
        """One step as a remote trainer asks for it, once the sandbox sees, with the agent's deed;
        its reward."""
        ready = await self.call("GET", f"/v1/episodes/{episode}/ready", params={"wait_ms": 50_000})
        assert ready["ready"], ready
        begun = await self.call(
            "POST", f"/v1/episodes/{episode}/steps", json={"step": number, "wait_ms": 20_000}
        )
        assert "seq" in begun, begun
        if file is not None:
            (self.downloads(name) / file).write_text("hello")
        await self.call(
            "POST", f"/v1/episodes/{episode}/steps/{number}:end", json={"wait_ms": 20_000}
        )
        reward: dict[str, Any] = await self.call(
            "GET", f"/v1/episodes/{episode}/steps/{number}/reward", params={"wait_ms": 20_000}
        )
        return reward


@asynccontextmanager
async def fleet(folder: Path, lost_s: str = STARTS_S) -> AsyncIterator[Fleet]:
    made = Fleet(folder, lost_s)
    made.service.start()
    try:
        token = milestoned(folder, "token", "create", "sandbox", "--data", str(made.service.data))
        assert token.returncode == 0, token.stderr
        (folder / "sandbox.token").write_text(token.stdout)
        made.http = httpx.AsyncClient(
            base_url=made.service.url, headers={"authorization": f"Bearer {made.service.admin}"}
        )
        await made.call("POST", "/v1/tasks", json=TASK)
        yield made
    finally:
        await made.http.aclose()
        for daemon in made.daemons:
            if daemon.returncode is None:
                daemon.kill()
            await daemon.communicate()
        made.service.stop_if_running()


async def cleared(folder: Path) -> None:
    """Wait until nothing is left there: the service knows a sandbox as idle a moment before it has
    cleared away."""
    async with asyncio.timeout(PATIENCE_S):
        while await asyncio.to_thread(os.listdir, folder):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)


async def said_by(daemon: asyncio.subprocess.Process, how: signal.Signals | None = None) -> str:
    """All that the daemon said, once it has ended."""
    if how is not None:
        daemon.send_signal(how)
    _, said = await asyncio.wait_for(daemon.communicate(), PATIENCE_S)
    return said.decode()


async def test_a_sandbox_does_one_episode_after_the_other_and_leaves_when_told(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path) as made:
        daemon = await made.join("one")
        for _ in range(2):
            episode = await made.open()
            assert await made.held(episode) == "one"
            assert (await made.step(episode, "one", 0, None))["reward"] == 0.0
            assert (await made.step(episode, "one", 1, "note.txt"))["reward"] > 0
            assert (await made.call("POST", f"/v1/episodes/{episode}:close"))["status"] == "closed"
            (made.downloads("one") / "note.txt").unlink()
        await made.until("one", "idle")
        await cleared(tmp_path / "one" / "state" / "episodes")
        await said_by(daemon, signal.SIGTERM)
        assert daemon.returncode == 0
        await made.until("one", "left")


@pytest.mark.slow
async def test_a_daemon_killed_and_started_again_in_time_goes_on(tmp_path: Path) -> None:
    async with fleet(tmp_path) as made:
        daemon = await made.join("one")
        episode = await made.open()
        await made.held(episode)
        assert (await made.step(episode, "one", 0, None))["reward"] == 0.0
        await said_by(daemon, signal.SIGKILL)
        await made.join("one")
        reward = await made.step(episode, "one", 1, "note.txt")
        assert (reward["status"], reward["reason"]) == ("sealed", None)
        assert (await made.call("POST", f"/v1/episodes/{episode}:close"))["status"] == "closed"


@pytest.mark.slow
async def test_a_dead_sandbox_s_episode_is_masked_and_its_daemon_is_told_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path, DEAD_S) as made:
        daemon = await made.join("one")
        episode = await made.open()
        await made.held(episode)
        sealed = await made.step(episode, "one", 0, "note.txt")
        begun = await made.call(
            "POST", f"/v1/episodes/{episode}/steps", json={"step": 1, "wait_ms": 20_000}
        )
        assert "seq" in begun
        daemon.send_signal(signal.SIGSTOP)
        reward = await made.call(
            "GET", f"/v1/episodes/{episode}/steps/1/reward", params={"wait_ms": 50_000}
        )
        assert (reward["reward"], reward["mask"], reward["status"], reward["done"]) == (
            None,
            True,
            "unobserved",
            True,
        )
        assert "was not heard of for 4 s" in reward["reason"]
        assert (await made.call("GET", f"/v1/episodes/{episode}/steps/0/reward")) == sealed
        await made.until("one", "lost")
        (made.downloads("one") / "late.txt").write_text("too late")
        daemon.send_signal(signal.SIGCONT)
        await made.until("one", "idle")
        after = await made.open()
        assert await made.held(after) == "one"
        said = await said_by(daemon, signal.SIGTERM)
        assert "The service ended the episode without this sandbox; its journal is kept." in said
        assert "was not heard of for 4 s" in said
        assert (
            tmp_path / "one" / "state" / "episodes" / f"{episode}.given-up" / "journal.sqlite3"
        ).exists()
        assert (await made.call("GET", f"/v1/episodes/{episode}/steps/0/reward")) == sealed


@pytest.mark.slow_where("once")
@pytest.mark.parametrize(
    ("token", "code", "says"),
    [("mt_nobody", 3, "wanted one of scope sandbox"), (None, 0, "")],
    ids=["a wrong token", "once"],
)
async def test_how_a_daemon_ends(tmp_path: Path, token: str | None, code: int, says: str) -> None:
    async with fleet(tmp_path) as made:
        if token is not None:
            (tmp_path / "sandbox.token").write_text(token)
        daemon = await made.join("one", "--once")
        if token is None:
            async with AsyncRewardClient(made.service.url, made.service.admin) as client:
                episode = await client.open(TASK["id"], sandbox="any")
                lease = await episode.sandbox(wait_s=20.0)
                assert (lease.state, (lease.sandbox or {})["name"]) == ("held", "one")
                assert (await episode.close(wait_s=20.0)).status == "closed"
        said = await said_by(daemon)
        assert daemon.returncode == code, said
        assert says in said
