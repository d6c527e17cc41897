"""Masks by cause as trainers have them, over the wire and both clients: sealed rewards never change,
and no mask takes away a penalty that was observed."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from milestoned_client import AsyncRewardClient, Sample

from api.blame.masking import MASK_CAUSES
from tests.api.blame.test_causes import CASES, GOAL, HOME, PENALTY, doc, gap, shows, tool
from tests.api.service import ADMIN, Service
from tests.support.logs import Said, answered, clicked, episode, went

TASK: dict[str, Any] = {
    "id": "shop/cart",
    "version": "1",
    "instruction": "Put it into the cart.",
    "origin": "http://shop.test",
    "outcome": {"failure": -1},
    "milestones": [*GOAL, PENALTY],
}
SPAM = clicked("Spam")
EPISODES: dict[str, tuple[list[list[Said]], str, float | None]] = {
    "refused at first contact, so that not even the failure counts": (
        [shows("/", 403), []],
        "site_refused",
        None,
    ),
    "of nothing but another cause": ([shows("/", 429), []], "captcha", -1.0),
    "refused later: the agent may have provoked it, and its failure counts": (
        [HOME, shows("/a", 429)],
        "rate_limited",
        -1.0,
    ),
    "a penalty before the refusal": ([[*shows("/", 403), SPAM], []], "site_refused", -1.5),
    "a penalty, then a refusal on demand": ([HOME, [SPAM], shows("/a", 429)], "rate_limited", -1.5),
    "a success": ([shows("/", 403), shows("/cart")], "site_refused", 1.3),
}
"""Steps, the cause that is masked, and what the episode is worth then."""


async def told(service: Service, steps: list[list[Said]], **task: Any) -> str:
    """An episode of the task."""
    id, token = await service.open({**TASK, **task})
    await service.tell(id, token, *episode(*steps))
    return id


async def sealed_of(service: Service, id: str, steps: int) -> list[bytes]:
    """The sealed rewards, as they are sent."""
    return [(await service.reward(id, step)).content for step in range(steps)]


async def score(service: Service, id: str, *causes: str, **sample: Any) -> dict[str, Any]:
    """The score of one sample."""
    body = {"samples": [{"episode": id, **sample}], "mask_causes": causes}
    answer = await service.post("/v1/score", body)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["results"][0]
    return result


async def trajectory(service: Service, id: str, **query: str) -> list[dict[str, Any]]:
    """Its transitions."""
    answer = await service.get(f"/v1/episodes/{id}/trajectory", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["steps"])


@pytest.mark.parametrize("case", EPISODES)
async def test_an_episode_is_null_for_its_cause_unless_something_was_taken(
    service: Service, case: str
) -> None:
    steps, cause, worth = EPISODES[case]
    id = await told(service, steps)
    before = await sealed_of(service, id, len(steps))
    plain = await score(service, id)
    masked = await score(service, id, cause)
    assert masked["reward"] == (None if worth is None else pytest.approx(worth)), masked
    if worth is None:
        assert (masked["mask_sample"], masked["failure_kind"]) == (True, "milestoned:masked")
        assert masked["failure_reason"] == (
            "masked by its cause site_refused (events 4): event 4: status 403"
        )
        assert plain["reward"] == -1.0
    else:
        assert masked == plain
    assert await sealed_of(service, id, len(steps)) == before


async def test_a_step_is_null_with_its_cause_and_what_was_taken_or_paid_stands(
    service: Service,
) -> None:
    steps = [HOME, shows("/a", 503), [SPAM], [went("/cart")], [doc("/b", 429)], [gap("files")]]
    id = await told(service, steps, outcome={"failure": 0})
    before = await sealed_of(service, id, len(steps))
    plain = await trajectory(service, id)
    masked = await trajectory(service, id, mask_causes="site_refused,rate_limited")
    rewards = [one["reward"] for one in masked]
    assert [one["status"] for one in rewards[:5]] == [
        "sealed",
        "masked",
        "sealed",
        "sealed",
        "masked",
    ]
    assert [one["mask"] for one in rewards[:5]] == [False, True, False, False, True]
    assert rewards[1]["reward"] is None
    assert set(rewards[1]["components"].values()) == {None}
    assert (
        rewards[1]["reason"] == "masked by its cause site_refused (events 7): event 7: status 503"
    )
    assert masked[1]["credit"] is None
    assert rewards[2] == plain[2]["reward"]
    left = await trajectory(service, id, drop_causes="site_refused", mask_causes="rate_limited")
    assert [one["step"] for one in left] == [one["step"] for one in plain if one["step"] != 1], (
        "a penalised step can't be dropped"
    )
    assert await trajectory(service, id) == plain
    assert await sealed_of(service, id, len(steps)) == before
    for step, wanted in enumerate(rewards[:5]):
        found = await score(service, id, "site_refused", "rate_limited", step=step)
        assert found["reward"] == wanted["reward"]
        assert found["failure_kind"] == ("milestoned:masked" if wanted["mask"] else None)


@pytest.mark.parametrize("said", [answered("FAIL"), tool("report_infeasible")])
async def test_the_agent_s_word_and_its_own_failure_can_t_be_masked(
    service: Service, said: Said
) -> None:
    id = await told(service, [HOME, [said]])
    found = (await service.get(f"/v1/episodes/{id}/blame")).json()
    assert (found["cause"], found["decided_by"]) == ("infeasible", "agent")
    assert (await score(service, id, *MASK_CAUSES))["reward"] == -1.0
    for cause in ("agent", "infeasible", "nobody"):
        answer = await service.get(f"/v1/episodes/{id}/trajectory?mask_causes={cause}")
        assert answer.status_code == 422
        assert answer.json()["detail"] == (
            f"mask_causes: expected some of {', '.join(MASK_CAUSES)}, got {cause!r}"
        )
        body = {"samples": [], "mask_causes": [cause]}
        assert (await service.post("/v1/score", body)).status_code == 422


async def test_no_page_s_text_is_in_a_reason(service: Service) -> None:
    hostile = "<script>ignore all that</script>"
    steps = [shows(f"/{hostile}", 403), [("tab.crashed", {"tab": hostile})], [gap("x; event 1: ")]]
    id = await told(service, steps)
    text = (await service.get(f"/v1/episodes/{id}/blame")).text
    assert "script" not in text


async def test_a_group_leaves_masked_episodes_out(service: Service) -> None:
    ids = [await told(service, steps) for steps in ([shows("/", 403)], [HOME], [shows("/cart")])]
    body = {"episodes": ids, "mask_causes": ["site_refused"]}
    group = (await service.post("/v1/groups:score", body)).json()
    assert [one["mask_sample"] for one in group["results"]] == [True, False, False]
    assert group["results"][0]["failure_kind"] == "milestoned:masked"
    assert (group["complete"], group["known"]) == (True, 2)


async def test_the_client_has_causes_and_masks(service: Service) -> None:
    id = await told(service, CASES["refused at first contact"][0])
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        found = await client.episode(id).blame()
        assert (found.cause, found.decided_by, found.evidence) == ("site_refused", "events", (4,))
        assert found.first_failure is not None
        assert found.first_failure.step == 0
        assert found.steps[0].cause == "site_refused"
        (plain,) = await client.score([Sample(episode=id)])
        (masked,) = await client.score([Sample(episode=id)], mask_causes=["site_refused"])
        assert (plain.reward, masked.reward, masked.mask_sample) == (-1.0, None, True)
        steps = await client.episode(id).trajectory(mask_causes=["site_refused", "captcha"])
        assert steps[0].reward is not None
        assert steps[0].reward.status == "masked"
        assert await client.episode(id).trajectory(drop_causes=["site_refused"]) == []
