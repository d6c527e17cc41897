"""The daemon with the real service: one episode over HTTP, steps both ways, and the recording that
it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import httpx
import pytest
import uvicorn

from api.app import create_app
from api.core.settings import Settings
from api.replay.recordings import read_frames
from tests.agentd.support.process import DaemonProcess

TASK = {
    "id": "files/one",
    "version": "1",
    "instruction": "Save a file.",
    "milestones": [{"id": "saved", "when": {"file_created": {"name": "new.csv"}}}],
    "settings": {"quiet_ms": 0},
}


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@pytest.fixture
async def trainer(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the operator's token at a service of its own."""
    app = create_app(Settings(data=tmp_path / "service", admin_token="admin-token-of-this-test"))
    listener = socket.create_server(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve([listener]))
    headers = {"authorization": "Bearer admin-token-of-this-test"}
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=60, trust_env=False
    ) as client:
        yield client
    server.should_exit = True
    await serving


async def test_an_episode_with_the_service(trainer: httpx.AsyncClient, tmp_path: Path) -> None:
    """A step over the loopback port, one over the service's channel, a kill between: each is paid
    as it must be."""
    folder = tmp_path / "files"
    folder.mkdir()
    assert (await trainer.post("/v1/tasks", json=TASK)).status_code == 201
    opened = (await trainer.post("/v1/episodes", json={"task": "files/one"})).json()
    episode, path = opened["episode"], f"/v1/episodes/{opened['episode']}"
    url = str(trainer.base_url).rstrip("/")
    async with DaemonProcess(
        url, tmp_path, "--files", str(folder), token=opened["token"], episode=episode
    ) as daemon:
        await daemon.all_ready()
        await daemon.post("/v1/steps", {"action": "save"})
        (folder / "new.csv").write_text("a,b")
        await daemon.post("/v1/steps/0:end")
        reward = (await trainer.get(f"{path}/steps/0/reward", params={"wait_ms": 20_000})).json()
        assert (reward["status"], [m["id"] for m in reward["milestones"]]) == ("sealed", ["saved"])
        await daemon.kill()
        await daemon.start()
        await daemon.all_ready()
        begun = await trainer.post(f"{path}/steps", json={"action": "look"})
        assert (begun.status_code, begun.json()["step"]) == (200, 1), begun.text
        assert (await trainer.post(f"{path}/steps/1:end", json={})).status_code == 200
        reward = (await trainer.get(f"{path}/steps/1/reward", params={"wait_ms": 20_000})).json()
        assert (reward["status"], reward["reward"]) == ("sealed", 0.0)
        closed = await trainer.post(f"{path}:close", json={"reason": "done"})
        assert (closed.status_code, closed.json()["status"]) == (200, "closed"), closed.text
        code, said = await daemon.ended()
        assert code == 0, said
    recording = (await trainer.get(f"{path}/recording")).content
    segments = list(read_frames(recording, path))
    assert segments[-1].events[-1].kind == "episode.closed"
