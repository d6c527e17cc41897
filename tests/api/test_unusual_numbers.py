"""Numbers that JSON has not, or that nobody could write again, are refused with their field; never
500, never null."""

from __future__ import annotations

import sys
import time

import pytest

from api.rewards.ledger import EACH, MAX_CACHED_BYTES, Ledger
from api.tasks.task_files import BadTaskError, check_task
from detectors.task.value_types import MAX_MILESTONES
from tests.api.service import ADMIN, TASK, Service

NUMBERS = {
    "no number": b"NaN",
    "no end": b"Infinity",
    "too large": b"1e999",
    "too large to be written": b"1" * 400,
    "many digits": b"9" * 5_000,
    "negative": b"-" + b"9" * 30,
    "half a pair": b'"\\ud800"',
}
ESCAPED = (
    "/v1/tasks/a%00b",
    "/v1/episodes/%00",
    "/v1/tasks/a?version=%00",
    "/v1/episodes/%ed%a0%80",
    "/v1/episodes?after=" + "9" * 5_000,
)


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
async def test_they_are_refused_in_every_body(service: Service, number: bytes) -> None:
    await service.post("/v1/tasks", TASK)
    episode = (await service.post("/v1/episodes", {"task": TASK["id"]})).json()["episode"]
    task = TASK["id"].encode()
    for path, body in (
        ("/v1/episodes", b'{"task": "%s", "labels": {"a": %s}}' % (task, number)),
        ("/v1/episodes", b'{"task": "%s", "seed": %s}' % (task, number)),
        (f"/v1/episodes/{episode}/steps", b'{"action": {"x": [%s]}, "wait_ms": 0}' % number),
        (f"/v1/episodes/{episode}/steps", b'{"step": %s, "wait_ms": 0}' % number),
        (
            f"/v1/episodes/{episode}/tools:call",
            b'{"call": "a", "tool": "b", "arguments": {"x": %s}, "wait_ms": 0}' % number,
        ),
        (
            f"/v1/episodes/{episode}/tools:return",
            b'{"call": "a", "ok": true, "result": %s, "wait_ms": 0}' % number,
        ),
        ("/v1/rescores", b'{"select": {}, "task": {"id": %s}}' % number),
        ("/v1/tasks", b'{"id": "a", "version": %s}' % number),
    ):
        answer = await service.call(
            "POST", path, ADMIN, content=body, headers={"content-type": "application/json"}
        )
        assert answer.status_code == 422, (path, answer.text)
        assert len(answer.text) < 2_000


async def test_the_field_is_named(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    body = b'{"task": "%s", "labels": {"temperature": NaN}}' % TASK["id"].encode()
    answer = await service.call("POST", "/v1/episodes", ADMIN, content=body)
    assert "labels.temperature: got nan, wanted a finite number" in answer.json()["detail"]


@pytest.mark.parametrize("path", ESCAPED)
async def test_odd_letters_and_numbers_in_addresses_are_no_fault_of_the_service(
    service: Service, path: str
) -> None:
    answer = await service.get(path)
    assert 200 <= answer.status_code < 500, answer.text


def task_of(many: int) -> dict[str, object]:
    """A task of so many milestones."""
    milestones = [{"id": f"m{n}", "when": {"url_reached": {"url": f"/{n}"}}} for n in range(many)]
    return {
        "id": "a",
        "version": "1",
        "instruction": "x",
        "origin": "http://s.test",
        "milestones": milestones,
    }


@pytest.mark.parametrize(
    ("many", "limit"),
    [
        (MAX_MILESTONES + 1, r"milestones: got '2001 items', wanted at most 2000"),
        (10 * MAX_MILESTONES, r"wanted at most 2000|100000 values"),
    ],
)
def test_a_task_of_too_many_milestones_is_refused_at_once(many: int, limit: str) -> None:
    began = time.process_time()
    with pytest.raises(BadTaskError, match=limit):
        check_task(task_of(many))
    assert time.process_time() - began < 2


def test_a_check_is_linear_in_the_milestones() -> None:
    """20,000 took 28 s: four times as many took sixteen times as long."""
    times = []
    for many in (MAX_MILESTONES // 4, MAX_MILESTONES):
        tries = []
        for _ in range(3):
            began = time.process_time()
            check_task(task_of(many))
            tries.append(time.process_time() - began)
        times.append(min(tries))
    assert times[1] < 8 * times[0]


async def test_remembered_rewards_are_bounded_in_bytes(service: Service) -> None:
    ledger = Ledger(None, 10**9)  # type: ignore[arg-type]
    body = b"x" * (1 << 20)
    for step in range(200):
        ledger.remember("ep", step, body)
    assert ledger.bytes <= MAX_CACHED_BYTES
    kept = [one for step in range(200) if (one := ledger.remembered("ep", step)) is not None]
    assert len(kept) == MAX_CACHED_BYTES // (len(body) + EACH)
    assert all(one is not body and sys.getsizeof(one) < len(body) + EACH for one in kept)
    ledger.remember("ep", 199, b"")
    ledger.forget()
    assert ledger.bytes == 0
