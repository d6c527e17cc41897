"""Servers of others take the traces as they are, each from an environment of its own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.core.settings import TelemetrySettings
from detectors.model.codec import sha256
from tests.api.service import Store, running
from tests.support.ports import free_port
from tests.telemetry.test_exporter import WHOLE, exporter, send_all

ROOT = Path(__file__).parents[2]
START_S = 240
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def environment(name: str) -> Path:
    """The folder of commands of an environment, or a skip."""
    venv = ROOT / f".venv-{name}"
    if not (venv / "ready").exists():
        pytest.skip(f".venv-{name} is missing: `make test-all` makes it")
    return venv / "bin"


@asynccontextmanager
async def server(health: str, *command: str, **env: str) -> AsyncIterator[None]:
    """A server of others, from when it answers at ``health`` on."""
    child = await asyncio.create_subprocess_exec(
        *command,
        env={"PATH": os.environ.get("PATH", ""), **env},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(START_S), httpx.AsyncClient(trust_env=False) as http:
            while not await answers(http, health):
                assert child.returncode is None, f"{command[0]} ended"
                await asyncio.sleep(0.01)
        yield
    finally:
        os.killpg(child.pid, 15)
        await child.wait()


async def answers(http: httpx.AsyncClient, address: str) -> bool:
    """Whether there is a server yet."""
    try:
        return (await http.get(address)).is_success
    except httpx.HTTPError:
        return False


async def tell(folder: Path, settings: TelemetrySettings) -> str:
    """Send the trace of an episode with a paid and an unknown step; return the episode's id."""
    async with running(Store(folder), telemetry=settings) as service:
        await exporter(service).periodic.stop()
        id, token = await service.open()
        await service.tell(id, token, *WHOLE)
        await send_all(service)
        assert await service.rows("trace_exports") == 0, "the collector took all of it"
    return id


def sending(base: str, headers: Mapping[str, str], *, logs: bool) -> TelemetrySettings:
    """Settings of a service that sends to this address."""
    return TelemetrySettings(
        traces_url=f"{base}/v1/traces",
        logs_url=f"{base}/v1/logs" if logs else "",
        headers={"traces": headers, "logs": headers},
        resource={"service.name": "milestoned"},
        timeout_s=60,
    )


async def test_mlflow_shows_trace_scores_and_what_is_not_known(tmp_path: Path) -> None:
    bin = environment("mlflow")
    port, data = free_port(), tmp_path / "mlflow"
    data.mkdir()
    base = f"http://127.0.0.1:{port}"
    words = ["server", "--backend-store-uri", f"sqlite:///{data}/mlflow.db", "--workers", "1"]
    env = {
        "HOME": str(data),
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PATH": f"{bin}:{os.environ['PATH']}",
    }
    async with server(f"{base}/health", str(bin / "mlflow"), *words, "--port", str(port), **env):
        headers = {"x-mlflow-experiment-id": "0"}
        id = await tell(tmp_path / "service", sending(base, headers, logs=False))
        reader = await asyncio.create_subprocess_exec(
            str(bin / "python"), "-m", "tests.telemetry.harness.mlflow_reads", base, id,
            cwd=ROOT, stdout=asyncio.subprocess.PIPE, env=env,
        )  # fmt: skip
        printed, _ = await reader.communicate()
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    assert found["state"] == "OK"
    assert found["session"] == id
    assert found["tags"] == {"milestoned.reward": "unknown", "milestoned.success": "unknown"}
    assert found["found_by_tag"] == [True]
    spans = {(span["name"], span["type"]): span for span in found["spans"]}
    assert {("invoke_agent shop/cart", "AGENT"), ("execute_tool step", "TOOL")} == spans.keys()
    steps = [span for span in found["spans"] if span["type"] == "TOOL"]
    assert [span["reward"] for span in steps] == [0.1, None]
    assert [span["events"] for span in steps] == [
        [["cart", 0.1], ["step_reward", 0.1]],
        [["step_reward", None]],
    ]
    assert found["assessments"] == [["step_reward", 0.1, True]]


async def test_phoenix_shows_agent_steps_and_session(tmp_path: Path) -> None:
    bin = environment("phoenix")
    port, grpc = free_port(), free_port()
    base = f"http://127.0.0.1:{port}"
    env = {
        "HOME": str(tmp_path), "PHOENIX_WORKING_DIR": str(tmp_path), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc), "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    async with server(f"{base}/healthz", str(bin / "phoenix"), "serve", **env):
        id = await tell(tmp_path / "service", sending(base, {}, logs=False))
        async with asyncio.timeout(60), httpx.AsyncClient(base_url=base, trust_env=False) as http:
            spans: list[dict[str, Any]] = []
            while len(spans) < 3:  # it writes what it took in batches
                answer = await http.get("/v1/projects/default/spans")
                spans = answer.json()["data"] if answer.is_success else []
                await asyncio.sleep(0.01)
    assert {span["context"]["trace_id"] for span in spans} == {sha256(id.encode())[:32]}
    assert {span["attributes"]["session.id"] for span in spans} == {id}
    kinds = {span["name"]: span["span_kind"] for span in spans}
    assert kinds == {"invoke_agent shop/cart": "AGENT", "execute_tool step": "TOOL"}
    rewards = {span["attributes"].get("milestoned.reward") for span in spans if span["parent_id"]}
    assert rewards == {0.1, None}
    assert {event["name"] for span in spans for event in span["events"]} == {
        "gen_ai.evaluation.result"
    }
