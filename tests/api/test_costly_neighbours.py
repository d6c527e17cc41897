"""Over the wire of a real service: what a tenant's expressions cost keeps no other tenant waiting,
and is an alarm."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.api.processes import Process, milestoned
from tests.api.service import TASK, events, frames
from tests.support.logs import Said, episode, finished, went

ANSWERED_S = 2.0
"""Each call of the other tenant is answered within this time, on a machine that does other things as well."""
DEEP: Any = 1
for _ in range(90):
    DEEP = {"a": DEEP, "b": 1}
ROWS = [[f"file{n}", f"{n}"] for n in range(800)]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    """A service with one process beside it."""
    found = Process(tmp_path / "data", "--workers", "1")
    found.start()
    yield found
    found.stop_if_running()


def cel(expression: str) -> dict[str, Any]:
    return {"cel": {"kind": "form.submitted", "expression": expression}}


CONDITIONS: dict[str, dict[str, Any]] = {
    "a list in a list": cel("data.fields.map(a, data.fields.map(b, a)).size() > 0"),
    "a concatenation that grows": cel(
        "data.fields.map(a, data.fields + data.fields + data.fields).size() > 0"
    ),
    "descents": {
        "state_accepted": {
            "method": "POST",
            "url": "http://shop.test/a",
            "facts": [{"path": "$..*..*..*..*"}],
        }
    },
}
SUBMITTED: Said = (
    "form.submitted",
    {
        "tab": "T",
        "frame": "T",
        "form": {"name": "f", "action": "http://shop.test/a", "method": "post"},
        "fields": ROWS,
        "trusted": True,
    },
)
POSTED = finished(
    "POST", "/a", 200, body={"text": orjson.dumps(DEEP).decode(), "mime": "application/json"}
)


def call(
    http: httpx.Client, method: str, path: str, status: int, **more: Any
) -> tuple[float, httpx.Response]:
    """How long it took, and the answer, which is ``status``."""
    began = time.monotonic()
    answer = http.request(method, path, **more)
    took = time.monotonic() - began
    assert answer.status_code == status, answer.text
    return took, answer


def opened(http: httpx.Client, task: dict[str, Any]) -> tuple[str, dict[str, str]]:
    http.post("/v1/tasks", json=task).raise_for_status()
    said = call(http, "POST", "/v1/episodes", 201, json={"task": task["id"]})[1].json()
    return said["episode"], {"authorization": f"Bearer {said['token']}"}


def one_round(http: httpx.Client, id: str, token: dict[str, str], made: list[bytes]) -> list[float]:
    """What the other tenant does all the time; how long each call took."""
    times = [
        call(http, "GET", "/v1/tasks/shop/cart", 200)[0],
        call(http, "GET", f"/v1/episodes/{id}", 200)[0],
        call(http, "POST", "/v1/rewards:query", 200, json={"items": [{"episode": id, "step": 0}]})[
            0
        ],
        call(http, "GET", "/healthz", 200)[0],
    ]
    if made:
        times.append(
            call(
                http, "POST", f"/v1/episodes/{id}/events", 200, content=made.pop(0), headers=token
            )[0]
        )
    return times


@pytest.mark.parametrize("copies", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_what_one_tenant_asks_for_keeps_no_other_tenant_waiting(
    process: Process, copies: int
) -> None:
    def client(token: str) -> httpx.Client:
        return httpx.Client(
            base_url=process.url, headers={"authorization": f"Bearer {token}"}, timeout=120
        )

    made = [
        milestoned(
            process.data, "token", "create", "admin", "--tenant", name, "--data", str(process.data)
        )
        for name in ("costly", "other")
    ]
    tokens = [next(word for word in one.stdout.split() if word.startswith("mt_")) for one in made]
    with client(tokens[0]) as costly, client(tokens[1]) as other, ThreadPoolExecutor(8) as senders:
        mine, mine_token = opened(other, TASK)
        calm = episode(*[[went("/cart"), went("/")]] * 40)
        its = frames(events(mine, *calm), [4] * 60)

        sent = []
        for name, condition in CONDITIONS.items():
            cart = {"id": "cart", "when": {"url_reached": {"url": "/cart"}}}
            milestones = [cart, {"id": "costly", "when": condition}]
            task = TASK | {"id": f"costly/{name.replace(' ', '-')}", "milestones": milestones}
            id, token = opened(costly, task)
            said = [went("/cart"), *[POSTED if name == "descents" else SUBMITTED] * copies]
            (frame,) = frames(events(id, *episode(said, [went("/b")])))
            sent.append((id, token, frame))

        over = threading.Event()

        def send(id: str, token: dict[str, str], frame: bytes) -> None:
            call(costly, "POST", f"/v1/episodes/{id}/events", 200, content=frame, headers=token)

        waiting = [senders.submit(send, *one) for one in sent]
        times: list[float] = []
        while not over.is_set():
            times += one_round(other, mine, mine_token, its)
            if all(one.done() for one in waiting):
                over.set()
        for one in waiting:
            one.result()
        assert max(times) < ANSWERED_S, f"{max(times):.2f} s of {len(times)} calls"

        for id, token, frame in sent:
            took, _ = call(
                costly, "POST", f"/v1/episodes/{id}/events", 200, content=frame, headers=token
            )
            assert took < ANSWERED_S, "the same segment again is answered at once"
            _, answer = call(costly, "GET", f"/v1/episodes/{id}/steps/0/reward", 200)
            reward = answer.json()
            assert (reward["reward"], reward["mask"]) == (None, True)
            assert "is over its budget; milestone costly may have come true" in reward["reason"]
            assert (
                call(costly, "GET", f"/v1/episodes/{id}/steps/1/reward", 200)[1].json()["reward"]
                is not None
            )
        with client(process.admin) as admin:
            metrics = call(admin, "GET", "/metrics", 200)[1].text
        for matcher in ("CEL", "JSON Path"):
            assert (
                f'milestoned_matcher_failures_total{{error="BudgetError",matcher="{matcher}"}}'
                in metrics
            )
