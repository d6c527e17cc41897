"""What the OpenAPI document promises, tried by Schemathesis: no 5xx, and no answer that it does not
tell of.

A service runs as a process. Each operation is called with data that fits its schema and with data
that does not; ids are those of what is really there, half of the time, so that calls reach what
lies behind the look-up. Not called: `/stream` and the daemon's WebSocket, which do not end
(tests/api/test_stream.py, test_openenv.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.processes import Process
from tests.api.service import TASK, Store, events, frames
from tests.support.logs import clicked, episode, went

load_all_checks()
schemathesis.serializer.alias("application/zstd", "application/octet-stream")
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ENDLESS = r"/stream$"


@pytest.fixture
def process(store: Store) -> Iterator[Process]:
    """A running service over an empty database."""
    found = Process(store.folder / "data", *(("--database", store.url) if store.url else ()))
    found.start()
    yield found
    found.stop_if_running()


class World:
    """What there is to be called for: a task, an open and a closed episode."""

    def __init__(self, process: Process) -> None:
        self.url, self.token = process.url, process.admin
        self.headers = {"authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=process.url, headers=self.headers, timeout=60) as http:
            http.post("/v1/tasks", json=TASK).raise_for_status()
            opened = [http.post("/v1/episodes", json={"task": TASK["id"]}).json() for _ in range(2)]
            said = frames(events(opened[0]["episode"], *episode([went("/cart")], [clicked("Buy")])))
            for frame in said:
                own = {"authorization": f"Bearer {opened[0]['token']}"}
                http.post(
                    f"/v1/episodes/{opened[0]['episode']}/events", content=frame, headers=own
                ).raise_for_status()
            sandbox = {"name": "box", "instance": "i" * 16, "agentd": _version(http), "wire": 1}
            self.sandbox = (
                http.post("/v1/sandboxes", json=sandbox).raise_for_status().json()["sandbox"]
            )
        self.episodes = [one["episode"] for one in opened]
        self.append = opened[1]["token"]

    def place(self, case: Case, real: bool, which: int) -> None:
        """Put ids of what is there into ``case`` where ``real``, and let nothing wait for long."""
        known = {
            "episode": self.episodes[which],
            "task": TASK["id"],
            "id": TASK["id"],
            "sandbox": self.sandbox,
        }
        if real:
            _put(case.path_parameters, known)
            _put(case.body, known)
        for told in (case.query, case.body):
            if isinstance(told, dict) and isinstance(told.get("wait_ms"), int | str):
                told["wait_ms"] = 0 if isinstance(told["wait_ms"], int) else "0"
        if case.query is not None and "wait_ms" not in case.query and "/adapters/" in case.path:
            case.query["wait_ms"] = 0

    def token_for(self, case: Case, which: int) -> str:
        """The admin's token, or the daemon's where only that may call."""
        daemons = case.path.endswith(("/commands", "/events")) and which == 1
        return self.append if daemons else self.token


def _version(http: httpx.Client) -> str:
    return str(http.get("/openapi.json").json()["info"]["version"])


def _put(told: Any, known: dict[str, str]) -> None:
    if isinstance(told, dict):
        for name, value in told.items():
            if name in known and isinstance(value, str | None):
                told[name] = known[name]
            else:
                _put(value, known)
    elif isinstance(told, list):
        for one in told:
            _put(one, known)


def tried(process: Process, examples: int, modes: Sequence[GenerationMode]) -> int:
    """Call every operation with ``examples`` cases of each of ``modes``; how many calls that
    were."""
    world = World(process)
    schema = schemathesis.openapi.from_url(f"{process.url}/openapi.json").exclude(
        path_regex=ENDLESS
    )
    count = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in modes:
            if mode is GenerationMode.NEGATIVE and not _takes_anything(operation):
                continue

            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(
                case=operation.as_strategy(generation_mode=mode),
                real=st.booleans(),
                which=st.integers(0, 1),
            )
            def calls(case: Case, real: bool, which: int) -> None:
                nonlocal count
                world.place(case, real, which)
                headers = {"authorization": f"Bearer {world.token_for(case, which)}"}
                response = case.call(headers=headers, timeout=30)
                case.validate_response(response, checks=CHECKS)
                count += 1

            with suppress(Unsatisfiable) if mode is GenerationMode.NEGATIVE else nullcontext():
                calls()  # there may be nothing that does not fit
    return count


def _takes_anything(operation: Any) -> bool:
    return bool(operation.body or operation.query or operation.path_parameters)


@pytest.mark.slow_where("postgres")
def test_no_5xx_and_no_answer_that_is_not_told_of(process: Process) -> None:
    assert tried(process, 2, [GenerationMode.POSITIVE]) > 80


@pytest.mark.slow_where("postgres")
def test_no_query_parameter_is_empty_to_an_answer_that_is_not_told_of(process: Process) -> None:
    world = World(process)
    known = {
        "episode": world.episodes[0],
        "task": TASK["id"],
        "sandbox": world.sandbox,
        "step": "1",
    }
    with httpx.Client(base_url=process.url, headers=world.headers) as http:
        paths = http.get("/openapi.json").json()["paths"]
        asked = [
            (path, one["name"], operation["responses"])
            for path, operations in paths.items()
            if (operation := operations.get("get")) and not path.endswith(("/stream", "/commands"))
            for one in operation.get("parameters", [])
            if one["in"] == "query"
        ]
        wrong = []
        for path, name, told in asked:
            place = path.format_map(defaultdict(lambda: "none", known))
            got = http.get(
                place, params={"wait_ms": "0", name: ""} if name != "wait_ms" else {name: ""}
            )
            if str(got.status_code) not in told:
                wrong.append(f"{path}?{name}= answers {got.status_code}")
    assert len(asked) > 20
    assert not wrong


@pytest.mark.slow
def test_no_5xx_and_no_answer_that_is_not_told_of_at_length(process: Process) -> None:
    assert tried(process, 30, [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]) > 2_000
