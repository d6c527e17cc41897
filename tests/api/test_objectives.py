"""Objectives at every door that tells rewards: the answers, the trajectory, the tables, the clients, the page, `explain`."""

from __future__ import annotations

from typing import Any

from milestoned_client.models import Reward
from milestoned_client.results import read_model

from api.exporting.parquet import SCHEMAS
from api.exporting.rows import _reward
from api.rewards.explaining import of_events
from detectors.model.rewards import reward_to_json
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.service import ADMIN, TASK, Service, events
from tests.support.logs import Said, clicked, episode, run, went

CARE = {"id": "help", "component": "care", "when": {"element_clicked": {"name": "Help"}}}
WITH_CARE: dict[str, Any] = {
    **TASK,
    "id": "shop/careful",
    "objectives": {"care": 2},
    "milestones": [*TASK["milestones"], CARE],
}
GAP: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "lost"}),
    ("gap.ended", {"source": "cdp"}),
]
SAID = episode([went("/cart"), clicked("Help")], GAP, [clicked("Buy")])
CARED = [{"care": 2.0}, {"care": None}]


async def test_they_stand_beside_the_reward_in_each_answer(service: Service) -> None:
    id, token = await service.open(WITH_CARE)
    await service.tell(id, token, *SAID)
    one_by_one = [(await service.reward(id, step)).json() for step in (0, 1)]
    steps = (await service.get(f"/v1/episodes/{id}/trajectory")).json()["steps"]
    asked = {"items": [{"episode": id, "step": step} for step in (0, 1)]}
    together = (await service.post("/v1/rewards:query", asked)).json()["rewards"]
    for told in (one_by_one, [step["reward"] for step in steps[:2]], together):
        assert [one["objectives"] for one in told] == CARED
        assert [one["reward"] for one in told] == [0.1, None]
        assert all("care" not in one["components"] for one in told)
    assert read_model(Reward, one_by_one[0]).objectives == CARED[0]
    for step, words in ((0, "care <strong>+2"), (1, "care <strong>not known")):
        headers = {"accept": "text/html", "cookie": f"milestoned={ADMIN}"}
        page = await service.get(f"/episodes/{id}/detail?step={step}", None, headers=headers)
        assert words in page.text


async def test_of_a_task_without_any_nothing_is_told(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    told = (await service.reward(id, 0)).json()
    assert "objectives" not in told
    headers = {"accept": "text/html", "cookie": f"milestoned={ADMIN}"}
    page = await service.get(f"/episodes/{id}/detail?step=0", None, headers=headers)
    assert (page.status_code, "Objectives" in page.text) == (200, False)
    assert read_model(Reward, told).objectives is None


def test_tables_have_them() -> None:
    rules = compile_task(task_from_json(WITH_CARE))
    result: Any = {"episode": "ep_1", "ruleset": rules.digest}
    rows = [_reward(result, reward_to_json(one), None, None, None) for one in run(rules, *SAID)]
    assert [row["objectives"] for row in rows[:2]] == [[("care", 2.0)], [("care", None)]]
    assert set(rows[0]) <= set(SCHEMAS["rewards"].names) | {"step"}


def test_an_explanation_names_the_objective() -> None:
    rules = compile_task(task_from_json(WITH_CARE))
    explained, _ = of_events(rules, events("ep_1", *SAID), "ep_1")
    (care,) = [one for one in explained if one.id == "help"]
    assert care.waits[-1] == "adds 2 to the objective care, nothing to the reward"
    assert care.became == ("gave the objective care +2 in step 0 (events 4)",)
