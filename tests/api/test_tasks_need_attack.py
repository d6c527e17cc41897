"""`serve --tasks-need-attack`: a task that pays an adversary of its own oracle is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from api.attack import registration
from api.attack.logs import as_lines
from tests.api.service import Store, running
from tests.attack.orders import LOOKED_AROUND, ORDERED, SOLVED, goal
from tests.support.logs import ORIGIN


def spec(when: Any, tests: Any) -> dict[str, Any]:
    task = {
        "id": "orders",
        "version": "1",
        "instruction": "Order as Ada Lovelace.",
        "origin": ORIGIN,
    }
    return {**task, "milestones": goal(when), "tests": tests}


ORACLE = [{"oracle": {"lines": as_lines(SOLVED).decode()}}]
REFUSED: dict[str, tuple[Any, Any, str, str]] = {
    "no tests": (ORDERED, [], "tests", "an oracle test"),
    "no oracle": (ORDERED, [{"adversarial": ORACLE[0]["oracle"]}], "tests", "an oracle test"),
    "it solves nothing": (
        ORDERED,
        [{"oracle": {"lines": as_lines(LOOKED_AROUND).decode()}}],
        "tests[0].oracle",
        "a recording that solves the task: it pays 0 and does not reach the goal",
    ),
    "it pays a claim": (
        {"answer_matches": {"text": {"money": 39, "currency": "EUR"}}},
        ORACLE,
        "tests[0].oracle",
        "an attack that nothing is paid by",
    ),
}


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_registry_that_attacks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(store, tasks_need_attack=True) as service:
        for name, (when, tests, path, wanted) in REFUSED.items():
            refused = await service.post("/v1/tasks", spec(when, tests))
            assert refused.status_code == 422, name
            (problem,) = refused.json()["errors"]
            assert problem["path"] == path, name
            assert problem["wanted"].startswith(wanted), name
        assert problem["value"].startswith("claim (an agent that only answers")
        monkeypatch.setattr(registration, "MAX_EVENTS", len(SOLVED) - 1)
        long = await service.post("/v1/tasks", spec(ORDERED, ORACLE))
        (problem,) = long.json()["errors"]
        assert (long.status_code, problem["wanted"]) == (422, f"at most {len(SOLVED) - 1}")
        monkeypatch.undo()
        taken = await service.post("/v1/tasks", spec(ORDERED, ORACLE))
        assert taken.status_code == 201, taken.text
