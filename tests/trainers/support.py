"""Runs a harness in the trainers' environment against a running service, and the daemons that it
asks for."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from tests.api.daemon import Daemon
from tests.api.processes import ROOT, Process
from tests.api.service import TASK, Service
from tests.api.test_fleet import Sandbox
from tests.api.test_score import BACK, DEAD
from tests.support.logs import Said, clicked, went

Effects = Mapping[int, Sequence[Said]]
"""What is seen in each step of an episode."""
PATIENCE_S = 600.0
"""Heavy trainers take a minute to be imported where others work too."""
EFFECTS: Mapping[int, Sequence[Said]] = {0: [went("/cart")], 1: [clicked("Buy")]}
"""What is seen in the steps of a good episode of the shop: both its milestones."""
GONE: Mapping[int, Sequence[Said]] = {0: [went("/cart"), DEAD]}
HALF: Mapping[int, Sequence[Said]] = {0: [went("/cart")], 1: [], 2: [DEAD]}
"""The browser dies in the last step, and what the close decides is not known either: two of four are."""
PARTLY: Mapping[int, Sequence[Said]] = {0: [DEAD, BACK], 1: [went("/cart")], 2: [clicked("Buy")]}
"""The browser is not seen in the first of three steps."""


async def run_ors(
    name: str,
    process: Process,
    package: str,
    venv: str = "trainers",
    effects: Mapping[int, Sequence[Said]] = EFFECTS,
    **more: str,
) -> Any:
    """Run a harness of the Open Reward Standard against the port of its own that the service has
    for it."""
    address = json.loads((process.data / "service.json").read_bytes())
    more = {"ORS_URL": f"http://127.0.0.1:{address['ors_port']}", **more}
    return await run_harness(name, process, package, effects=effects, venv=venv, more=more)


async def run_harness(
    name: str,
    process: Process,
    *words: str,
    effects: Effects | Sequence[Effects] = EFFECTS,
    venv: str = "trainers",
    more: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """The `result` of ``tests.trainers.harness.NAME`` in ``.venv-VENV``, with ``more`` in its
    environment; skips where that was not made.

    ``effects``: of every episode that it opens, or of each in turn.
    """
    python = ROOT / f".venv-{venv}" / "bin" / "python"
    if not (python.parents[1] / "ready").exists():
        pytest.skip(
            f".venv-{venv} is missing: `make test{'' if venv == 'trainers' else '-all'}` makes it"
        )
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": os.environ.get("HOME", "/"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client'}",
        "MILESTONED_URL": process.url,
        "MILESTONED_TOKEN": process.admin,
        **more,
    }
    child = await asyncio.create_subprocess_exec(
        os.fspath(python),
        "-m",
        f"tests.trainers.harness.{name}",
        *words,
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=16 * 1024 * 1024,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await _hear(child, process, effects)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _hear(
    child: asyncio.subprocess.Process, process: Process, effects: Effects | Sequence[Effects]
) -> Any:
    assert child.stdout is not None
    assert child.stderr is not None
    errors = asyncio.create_task(child.stderr.read())
    daemons: list[asyncio.Task[None]] = []
    found: dict[str, Any] = {}
    async with operator(process) as service:
        async for line in child.stdout:
            if not line.startswith(b'{"'):  # a trainer's own words
                continue
            said = json.loads(line)
            if "skip" in said:
                pytest.skip(said["skip"])
            if "episode" in said:
                seen = effects if isinstance(effects, Mapping) else effects[len(daemons)]
                daemon = Daemon(service, said["episode"], said["token"], seen)
                daemons.append(asyncio.create_task(daemon.run()))
            found |= said
        status = await child.wait()
        await errors
        for one in daemons:
            if status:  # nobody closes its episode any more
                one.cancel()
            else:
                await one
    assert status == 0, f"the harness ended with {status}:\n{(await errors).decode()[-4000:]}"
    return found["result"]


class operator:  # noqa: N801  # it is used like a function
    """A client of the wire with the operator's token."""

    def __init__(self, process: Process) -> None:
        headers = {"authorization": f"Bearer {process.admin}"}
        self._http = httpx.AsyncClient(base_url=process.url, timeout=60, headers=headers)

    async def __aenter__(self) -> Service:
        return Service(self._http, None)

    async def __aexit__(self, *_about: object) -> None:
        await self._http.aclose()


async def serve_fleet(process: Process, name: str, effects: Mapping[int, Sequence[Said]]) -> None:
    """A sandbox of the fleet: takes one episode after the other, until it is cancelled."""
    async with operator(process) as service:
        sandbox = Sandbox(service, name, process.admin)
        (await sandbox.register()).raise_for_status()
        done = None
        while True:
            lease = (await sandbox.beat(wait_ms=2_000, done=done))["lease"]
            if lease is not None:
                done = lease["episode"]
                await Daemon(service, done, lease["token"], effects).run()


async def opened(service: Service) -> tuple[str, str]:
    """An episode of the shop, and its daemon's token."""
    answer = (await service.http.post("/v1/episodes", json={"task": TASK["id"]})).json()
    return answer["episode"], answer["token"]


async def episode_of(service: Service, effects: Mapping[int, Sequence[Said]]) -> str:
    """An episode that is over: its steps are those of ``effects``."""
    id, token = await opened(service)
    running = asyncio.create_task(Daemon(service, id, token, effects).run())
    for step in effects:
        (
            await service.http.post(
                f"/v1/episodes/{id}/steps", json={"step": step, "wait_ms": 9_000}
            )
        ).raise_for_status()
        (
            await service.http.post(f"/v1/episodes/{id}/steps/{step}:end", json={"wait_ms": 9_000})
        ).raise_for_status()
    await service.http.post(f"/v1/episodes/{id}:close", json={"wait_ms": 9_000})
    await running
    return id
