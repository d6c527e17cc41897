"""How a write that a guard forbids ended: taken, refused, or not known, and then the step is null."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.logs import ORIGIN, episode, ruleset, run

GUARD = {"other_request_made": {"url": "/*", "allowed": ["/allowed"]}}
PENALTY = 0.5
ENDS: list[tuple[str, dict[str, Any], float | None]] = [
    ("request.finished", {"status": 200}, -PENALTY),
    ("request.finished", {"status": 302}, -PENALTY),
    ("request.finished", {"status": 400}, 0.0),
    ("request.finished", {"status": 200, "cached": True}, 0.0),
    ("request.finished", {"status": 200, "served_from": "worker"}, 0.0),
    ("request.failed", {"sent": True}, None),
    ("request.failed", {"sent": True, "canceled": True}, -PENALTY),
    ("request.failed", {"sent": True, "status": 200}, -PENALTY),
    ("request.failed", {"sent": True, "status": 403}, 0.0),
    ("request.failed", {"sent": True, "url": f"{ORIGIN}/allowed"}, 0.0),
    ("request.failed", {"sent": True, "method": "GET"}, 0.0),
    ("request.failed", {"sent": False, "canceled": True}, 0.0),
    ("request.failed", {}, 0.0),
]


@pytest.mark.parametrize(("kind", "end", "worth"), ENDS)
def test_a_write_is_fined_unless_it_is_known_not_to_have_been_taken(
    kind: str, end: dict[str, Any], worth: float | None
) -> None:
    asked = {"tab": "T", "frame": "T", "request": "r", "method": "POST", "url": f"{ORIGIN}/delete"}
    error = {"error": "x"} if kind == "request.failed" else {"hops": [], "type": "Fetch"}
    rules = ruleset({"id": "fined", "penalty": PENALTY, "when": GUARD})
    (reward,) = run(rules, *episode([(kind, {**asked, **error, **end})]))
    assert reward.reward == worth
