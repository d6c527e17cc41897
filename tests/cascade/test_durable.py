"""The queue outlives whoever works at it: a kill in mid-judgement, two replicas, budgets held to
the call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.api.service import ADMIN, Store, events, frames
from tests.cascade.stage import Child, Endpoint
from tests.cascade.test_escalation import STAKE, task
from tests.support.logs import episode, went

pytestmark = pytest.mark.slow
AUTH = {"authorization": f"Bearer {ADMIN}"}


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    """A judge of this test's own, so that its bills are."""
    with Endpoint(tmp_path) as found:
        yield found


class Replica(Child):
    """One service over ``store``."""

    def __init__(self, store: Store, name: str, endpoint: Endpoint, **settings: Any) -> None:
        told = orjson.dumps({"database": store.url, **settings}).decode()
        data = store.folder / "data" / name
        super().__init__(
            "tests.cascade.serving", store.folder / f"{name}.port", str(data), endpoint.url, told
        )

    def get(self, path: str, **query: Any) -> Any:
        """A GET's JSON."""
        return (
            httpx.get(f"{self.url}{path}", params=query, headers=AUTH, timeout=60)
            .raise_for_status()
            .json()
        )

    def post(self, path: str, body: Any) -> Any:
        """A POST's JSON."""
        return (
            httpx.post(f"{self.url}{path}", json=body, headers=AUTH, timeout=60)
            .raise_for_status()
            .json()
        )

    def tell(self, spec: dict[str, Any], *pages: str) -> str:
        """A new episode that goes to each page in a step of its own."""
        self.post("/v1/tasks", spec)
        opened = self.post("/v1/episodes", {"task": spec["id"]})
        (frame,) = frames(events(opened["episode"], *episode(*([went(page)] for page in pages))))
        token = {"authorization": f"Bearer {opened['token']}"}
        url = f"{self.url}/v1/episodes/{opened['episode']}/events"
        httpx.post(url, content=frame, headers=token, timeout=60).raise_for_status()
        return str(opened["episode"])

    def final(self, id: str, step: int) -> dict[str, Any]:
        """The step's final reward; fails where it takes longer than any wait."""
        found = self.get(f"/v1/episodes/{id}/steps/{step}/reward", wait_ms=45_000)
        assert found["status"] in ("sealed", "unscored"), found
        return dict(found)


def test_a_kill_in_mid_judgement_bills_once(store: Store, endpoint: Endpoint) -> None:
    """Killed while the judge thinks and started again: one bill, one call of the budget, one word,
    one value."""
    endpoint.say(hold=True)
    service = Replica(store, "a", endpoint, lease_s=1.0)
    with service:
        id = service.tell(task(budget={"episode": {"calls": 1}}), "/one")
        while not endpoint.calls()["now"]:
            pass
        service.kill()
        assert endpoint.bills() == {}
    with service:
        assert service.get(f"/v1/episodes/{id}/steps/0/reward")["status"] == "escalating"
        endpoint.say(hold=False)
        assert service.final(id, 0)["reward"] == STAKE
        said = service.get(f"/v1/episodes/{id}/verdicts")["verdicts"]
        assert [one["kind"] for one in said] == ["verdict.given", "step.decided"]
        assert said[0]["verdict"]["cost"] == 0.01
        assert list(endpoint.bills().values()) == [1]


def test_budgets_hold_to_the_call_under_sixteen_workers_on_two_replicas(
    store: Store, endpoint: Endpoint
) -> None:
    """Eight calls at once on each replica; forty questions, twenty-five of them allowed, none more
    is put."""
    if not store.url:
        pytest.skip("a database in a file has one service")
    endpoint.say(ms=3)
    settings = {"at_once": 8, "budgets": {"tenant": {"calls": 25}}}
    with (
        Replica(store, "a", endpoint, **settings) as one,
        Replica(store, "b", endpoint, **settings) as two,
    ):
        ids = [
            (one, two)[n % 2].tell(task(), *(f"/{n}/{page}" for page in range(10)))
            for n in range(4)
        ]
        found = [
            (two, one)[n % 2].final(id, step) for n, id in enumerate(ids) for step in range(10)
        ]
    assert sorted(reward["status"] for reward in found) == ["sealed"] * 25 + ["unscored"] * 15
    assert endpoint.calls()["came"] == len(endpoint.bills()) == 25
