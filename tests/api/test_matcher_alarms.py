"""What the operator sees of a text that a matcher failed on: a metric and a line of the log, and no
step is null."""

from __future__ import annotations

from decimal import InvalidOperation
from typing import Any

import pytest
from structlog.testing import capture_logs

from detectors.matchers import third_party
from tests.api.service import Service
from tests.support.logs import answered, clicked, episode

TASK: dict[str, Any] = {
    "id": "amount",
    "version": "1",
    "origin": "http://shop.test",
    "instruction": "Say what it costs.",
    "weights": {"answer": 1},
    "milestones": [
        {"id": "right", "when": {"answer_matches": {"text": {"money": 3}}}, "component": "answer"},
        {
            "id": "bad",
            "when": {"element_clicked": {"name": "Delete"}},
            "component": "ui",
            "penalty": 0.5,
        },
    ],
}
METRIC = 'milestoned_matcher_failures_total{error="InvalidOperation",matcher="Money"}'


async def test_a_matcher_that_fails_is_counted_and_logged(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each event, however often its segment is sent; the agent's words are in neither."""

    def decimal(text: str, locale: str) -> Any:
        raise InvalidOperation(text)

    monkeypatch.setattr(third_party, "decimal", decimal)
    id, token = await service.open(TASK)
    with capture_logs() as lines:
        [frame] = await service.tell(id, token, *episode([clicked("Delete"), answered("3.00")]))
        assert (await service.append(id, frame, token)).status_code == 200
    assert [line for line in lines if line.get("alarm") == "matcher_failed"] == [
        {
            "event": "A matcher failed on a text from agent or page; it counts as no match.",
            "log_level": "warning",
            "alarm": "matcher_failed",
            "episode": id,
            "seq": 4,
            "rule": "answer_matches",
            "matcher": "Money",
            "error": "InvalidOperation",
        }
    ]
    assert (await service.metrics())[METRIC] == 1
    reward = (await service.reward(id, 0)).json()
    assert (reward["reward"], reward["mask"], reward["status"]) == (-0.5, False, "sealed")
