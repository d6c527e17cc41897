"""The dialects of trainers beside the core endpoint, and the Python client beside bare HTTP: what
each adds."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from milestoned_client import RewardClient, Sample
from milestoned_client.adapters import scoring
from milestoned_client.adapters.settings import AdapterSettings
from websockets.sync.client import connect

from benchmarks.figures import NEITHER, at_most
from benchmarks.measure import estimate_difference, estimate_median
from benchmarks.report import PartReport
from lab.demo.parts import DemoService, start_service
from lab.demo.processes import DemoProcesses

ROUNDS, QUICK_ROUNDS, WARM = 400, 80, 20
TASK: dict[str, Any] = {
    "id": "bench/answer",
    "version": "1",
    "instruction": "What is six times seven?",
    "weights": {"answer": 1.0},
    "milestones": [{"id": "said", "when": {"answer_matches": {"text": {"number": 42}}}}],
}
LABEL = TASK["id"]
SPOKEN = {
    "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "42"}]}
    ]
}
CORE, RESET, STEP = "/v1/score", "reset", "/openenv/ws, step"
BODIES: dict[str, dict[str, Any]] = {
    CORE: {"samples": [{"label": LABEL, "answer": "42"}]},
    "/get_reward": {"query": ["42"], "prompts": [""], "labels": [LABEL]},
    "/adapters/slime/score": {"prompt": "", "response": "42", "label": LABEL},
    "/nemo/verify": {
        "responses_create_params": {"input": []},
        "task_id": LABEL,
        "response": SPOKEN,
    },
}
"""The same sample, as each asks for it."""


def main(report: PartReport) -> None:
    """Report the figures: one sample a request, one connection, every round asks each once."""
    rounds = report.choose(ROUNDS, QUICK_ROUNDS)
    with tempfile.TemporaryDirectory() as folder, DemoProcesses(Path(folder) / "logs") as parts:
        service = start_service(parts, Path(folder) / "service")
        with RewardClient(service.url, service.token) as client:
            client.register_task(TASK)
            taken = _interleaved(_runs(service, client), rounds)
    core = taken.pop(CORE)
    del taken[RESET]
    report.head(f"adapters: one sample a request, one connection, {rounds} rounds")
    report.add(f"{CORE}, bare HTTP", estimate_median(core), "ms", NEITHER)
    reference = f"the core endpoint, {CORE}"
    for name, times in taken.items():
        added = estimate_difference(times, core)
        report.add(f"{name} adds", added, "ms", at_most(1), reference)


def _runs(service: DemoService, client: RewardClient) -> dict[str, Callable[[], Any]]:
    """What is timed, by name; RESET is not: its answer ends the episode, so each step needs one
    before it."""
    bare = httpx.Client(base_url=service.url, headers={"authorization": f"Bearer {service.token}"})
    posts: dict[str, Callable[[], Any]] = {
        path: _post(bare, path, body) for path, body in BODIES.items()
    }
    sample, settings = (
        [Sample(label=LABEL, answer="42")],
        AdapterSettings(service.url, service.token),
    )
    address = service.url.replace("http", "ws", 1)
    socket = connect(
        f"{address}/openenv/ws", additional_headers={"authorization": f"Bearer {service.token}"}
    )
    return {
        **posts,
        RESET: lambda: _send(socket, f'{{"type": "reset", "data": {{"task_id": "{LABEL}"}}}}'),
        STEP: lambda: _send(socket, '{"type": "step", "data": {"action": {"answer": "42"}}}'),
        "Python client, score": lambda: client.score(sample),
        "Python adapters, score_now": lambda: scoring.score_now(sample, settings),
    }


def _post(bare: httpx.Client, path: str, body: dict[str, Any]) -> Callable[[], Any]:
    return lambda: bare.post(path, json=body).raise_for_status()


def _send(socket: Any, message: str) -> None:
    socket.send(message)
    answer = socket.recv()
    if '"observation"' not in answer:
        raise RuntimeError(f"{message} was answered {answer[:400]!r}")


def _interleaved(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each; every round does each once, so that noise hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(WARM + rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if number >= WARM:
                taken[name].append((time.perf_counter() - start) * 1000)
    return taken
