"""The edge's hint through a real daemon and a real service: it pays nothing, and a difference is a
finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.e2e.test_client import TASK
from tests.support.stack import SEAL_S, Stack


@pytest.mark.slow_where("other rules")
@pytest.mark.parametrize("weight", [0.5, 0.9], ids=["the service's rules", "other rules"])
def test_what_the_edge_computed_is_shown_beside_the_reward(
    stack: Stack, tmp_path: Path, weight: float
) -> None:
    folder, rules = tmp_path / "watched", tmp_path / "task.json"
    folder.mkdir()
    rules.write_bytes(orjson.dumps({**TASK, "weights": {**TASK["weights"], "file": weight}}))
    episode = stack.open(TASK)
    stack.watch(("--edge", str(rules)), files=[folder])
    episode.step("write")
    (folder / "report.txt").write_text("all is well")
    episode.end_step()
    paid = episode.reward(0, wait_s=SEAL_S).reward
    episode.close("done", wait_s=SEAL_S)
    headers = {"authorization": f"Bearer {stack.service.token}"}
    with httpx.Client(base_url=stack.url, headers=headers, trust_env=False) as http:
        said: dict[str, Any] = http.get(f"/v1/episodes/{episode.id}/steps/0/explanation").json()[
            "edge"
        ]
        verified = http.get("/v1/audit/verify", params={"episode": episode.id}).json()
    assert paid == 0.5
    assert (said["reward"], said["differs"]) == (weight, weight != paid)
    assert (verified["verified"], verified["differences"]) == (True, [])
