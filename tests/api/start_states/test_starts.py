"""The guard as users have it: route, client, page, report and mask; of one tenant's task alone."""

from __future__ import annotations

from typing import Any

import httpx
from milestoned_client import AsyncRewardClient

from api.audit.report_text import as_html, as_report_text
from tests.api.audit.audited import sign
from tests.api.service import ADMIN, TASK, Service
from tests.api.start_states.test_comparison import FILES, file
from tests.support.logs import Said, episode, went

COUNT = 6
TEXT = "this episode began with the file downloads/report.pdf; 6 of 6 others did not"
SPAM = {
    "id": "spam",
    "when": {"url_reached": {"url": "/spam"}},
    "penalty": 0.5,
}
GUARDED = {**TASK, "milestones": [*TASK["milestones"], SPAM]}


async def told(service: Service, before: list[Said], *steps: list[Said], **more: Any) -> str:
    id, token = await service.open({**GUARDED, **more})
    await service.tell(id, token, *episode(*(steps or [[went("/cart")]]), before=before))
    return id


async def begun(service: Service) -> str:
    """An episode that began with another's file, after six that did not; all are counted."""
    for _ in range(COUNT):
        await told(service, FILES)
    left_over = await told(service, [*FILES, file("report.pdf")])
    await sign(service)
    return left_over


async def test_a_left_over_file_is_found_wherever_starts_are_told(service: Service) -> None:
    id = await begun(service)
    found = (await service.get(f"/v1/episodes/{id}/start")).json()
    assert [one["text"] for one in found["findings"]] == [TEXT]
    assert (found["others"], found["facts"]["files"]["count"]) == (COUNT, 3)
    report = (await service.get("/v1/audit/report")).json()
    (start,) = report["starts"]
    assert (start["episode"], start["episodes"], start["task"]) == (id, 1, TASK["id"])
    assert TEXT in as_report_text(report)
    assert TEXT in as_html(report)
    headers = {"accept": "text/html", "cookie": f"milestoned={ADMIN}"}
    for path in (f"/episodes/{id}", "/audit"):
        page = await service.get(path, None, headers=headers)
        assert page.status_code == 200
        assert TEXT in page.text
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        start = await client.episode(id).start_state()
        assert [one.text for one in start.findings] == [TEXT]
    usual = await told(service, FILES)
    assert (await service.get(f"/v1/episodes/{usual}/start")).json()["findings"] == []
    page = await service.get(f"/episodes/{usual}", None, headers=headers)
    assert "It began unlike the others" not in page.text


async def test_such_an_episode_is_null_by_choice_and_no_penalty_is_spared(service: Service) -> None:
    id = await begun(service)
    sealed = (await service.reward(id, 0)).content
    for body, reward in (({}, 0.1), ({"mask_causes": ["start_state"]}, None)):
        answer = await service.post("/v1/score", {"samples": [{"episode": id}], **body})
        (score,) = answer.json()["results"]
        assert score["reward"] == reward
    assert (score["failure_kind"], score["failure_reason"]) == (
        "milestoned:masked",
        f"masked by its start: {TEXT}",
    )
    path = f"/v1/episodes/{id}/trajectory"
    (step,) = (await service.get(f"{path}?mask_causes=start_state")).json()["steps"]
    assert (step["reward"]["status"], step["reward"]["reward"]) == ("masked", None)
    assert (await service.get(f"{path}?drop_causes=start_state")).json()["steps"] == []
    assert (await service.reward(id, 0)).content == sealed
    before = [*FILES, file("other.pdf")]
    spammed = await told(service, before, [went("/spam")])
    answer = await service.post(
        "/v1/score", {"samples": [{"episode": spammed}], "mask_causes": ["start_state"]}
    )
    assert answer.json()["results"][0]["reward"] == -0.5


async def test_only_the_same_version_of_the_same_tenant_s_task_is_compared(
    service: Service,
) -> None:
    await begun(service)
    other = await told(service, [file("report.pdf")], version="2")
    found = (await service.get(f"/v1/episodes/{other}/start")).json()
    assert (found["others"], found["findings"]) == (0, [])


async def test_before_the_first_step_nothing_is_known(service: Service) -> None:
    id, token = await service.open(GUARDED)
    await service.tell(id, token, *episode(before=FILES, close=False))
    found = (await service.get(f"/v1/episodes/{id}/start")).json()
    assert (found["digest"], found["facts"], found["findings"]) == (None, None, [])
