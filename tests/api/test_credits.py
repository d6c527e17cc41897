"""`credit_to: cause` as users have it: routes, client, export and replay, over sealed rewards that
do not change."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from milestoned_client import AsyncRewardClient, Reward

from api.cli.main import main
from tests.api.service import ADMIN, Service
from tests.rescoring.corpus import written
from tests.support.logs import Said, clicked, created, episode, went

TASK: dict[str, Any] = {
    "id": "shop/download",
    "version": "1",
    "instruction": "Download the list.",
    "origin": "http://shop.test",
    "weights": {"nav": 0.4, "file": 0.6},
    "milestones": [
        {"id": "page", "when": {"url_reached": {"url": "/a"}}, "component": "nav"},
        {
            "id": "kept",
            "when": {"file_created": {"name": "a.csv"}},
            "component": "file",
            "credit_to": "cause",
        },
    ],
}
DOWNLOAD: Said = (
    "download.began",
    {"tab": "T", "frame": "T", "url": "u", "name": "a.csv", "download": "g"},
)
GAP: list[Said] = [
    ("gap.began", {"source": "files", "reason": "r"}),
    ("gap.ended", {"source": "files"}),
]
STEPS: list[list[Said]] = [
    [clicked("CSV"), DOWNLOAD],
    [went("/a")],
    [created("a.csv", via="download")],
]
PAID, CAUSED = [0.0, 0.4, 0.6], [0.6, 0.4, 0.0]
BLIND = [[*STEPS[0], *GAP], *STEPS[1:]]
"""The step that set it in motion is not known: what it caused stays where it was paid."""
CASES: dict[str, tuple[list[list[Said]], list[Any], list[Any]]] = {
    "a download": (STEPS, PAID, CAUSED),
    "the cause is not known": (BLIND, [None, 0.4, 0.6], [None, 0.4, 0.6]),
}
HALF_BLIND = [STEPS[0], [*STEPS[1], *GAP], STEPS[2]]
"""A step between cause and pay is not known: both ends are, and so is what is moved."""
CASES["a step between is not known"] = (HALF_BLIND, [0.0, None, 0.6], [0.6, None, 0.0])
VIEWS = ("as_paid", "cause")


async def told(service: Service, steps: list[list[Said]], close: bool = True) -> str:
    """An episode of the task."""
    id, token = await service.open(TASK)
    await service.tell(id, token, *episode(*steps, close=close))
    return id


async def trajectory(service: Service, id: str, **query: str) -> list[Any]:
    """Its transitions."""
    answer = await service.get(f"/v1/episodes/{id}/trajectory", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["steps"])


async def queried(service: Service, id: str, **body: str) -> list[Any]:
    """Its rewards, asked for at once."""
    items = [{"episode": id, "step": step} for step in range(3)]
    return list(
        (await service.post("/v1/rewards:query", {"items": items, **body})).json()["rewards"]
    )


@pytest.mark.parametrize("case", CASES)
async def test_a_view_credits_the_step_that_set_it_in_motion_and_changes_no_sealed_reward(
    service: Service, case: str
) -> None:
    steps, paid, caused = CASES[case]
    id = await told(service, steps)
    sealed = [(await service.reward(id, step)).content for step in range(3)]
    for view, wanted in zip(VIEWS, (paid, caused), strict=True):
        found = await trajectory(service, id, credit_to=view)
        assert [one["credit"] for one in found] == wanted
        assert [one["reward"]["reward"] for one in found] == paid
        rewards = await queried(service, id, credit_to=view)
        assert [one["reward"] for one in rewards] == paid
        assert [one.get("credit", one["reward"]) for one in rewards] == wanted
        assert sum(one or 0.0 for one in wanted) == pytest.approx(sum(one or 0.0 for one in paid))
    assert [one["credit"] for one in await trajectory(service, id)] == paid, (
        "as paid, unless it is asked for"
    )
    assert "credit" not in (await queried(service, id))[0]
    assert [(await service.reward(id, step)).content for step in range(3)] == sealed


async def test_while_an_episode_is_open_its_credit_is_not_known(service: Service) -> None:
    """What comes later may still be credited to any of its steps."""
    id = await told(service, STEPS, close=False)
    found = await trajectory(service, id, credit_to="cause")
    assert [one["credit"] for one in found] == [None] * 3
    assert [one["credit"] for one in await queried(service, id, credit_to="cause")] == [None] * 3
    assert [one["credit"] for one in await trajectory(service, id)] == [0.0, 0.4, None]


async def test_an_unknown_view_is_refused_and_another_episode_s_problem_stays_its_own(
    service: Service,
) -> None:
    id = await told(service, STEPS)
    answer = await service.get(f"/v1/episodes/{id}/trajectory", params={"credit_to": "both"})
    assert answer.status_code == 422
    assert "credit_to: got 'both', wanted one of as_paid, cause" in answer.json()["detail"]
    refused = await service.post("/v1/rewards:query", {"items": [], "credit_to": "both"})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "credit_to")
    items = [{"episode": "ep_nobody", "step": 0}, {"episode": id, "step": 0}]
    lost, found = (
        await service.post("/v1/rewards:query", {"items": items, "credit_to": "cause"})
    ).json()["rewards"]
    assert (lost["error"]["status"], found["credit"]) == (404, 0.6)


async def test_the_client_has_both_views(service: Service) -> None:
    id = await told(service, STEPS)
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        whole = await client.episode(id).trajectory(credit_to="cause")
        assert [one.credit for one in whole] == CAUSED
        assert [one.credit for one in await client.episode(id).trajectory()] == PAID
        many = await client.rewards([(id, step) for step in range(3)], credit_to="cause")
        assert [one.credit for one in many if isinstance(one, Reward)] == CAUSED


async def test_export_and_replay_have_both_views(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    id = await told(service, STEPS)
    file, task = tmp_path / "one.mrec", tmp_path / "one.yaml"
    file.write_bytes((await service.get(f"/v1/episodes/{id}/recording")).content)
    written(task, TASK)
    settings = service.app.state.parts.settings
    stored = [
        "--stored",
        "--data",
        str(settings.data),
        *(["--database", settings.database] if settings.database else []),
    ]
    for view, wanted in zip(VIEWS, (PAID, CAUSED), strict=True):
        for source in ([str(file), "--task", str(task)], stored):
            asked = [
                "export",
                *source,
                "--out",
                str(tmp_path / view),
                "--gamma",
                "1",
                "--credit-to",
                view,
            ]
            assert await asyncio.to_thread(main, asked) == 0
            rewards = pq.read_table(tmp_path / view / "rewards.parquet").to_pylist()
            assert [(one["reward"], one["credit"]) for one in rewards] == list(
                zip(PAID, wanted, strict=True)
            )
            returns = pq.read_table(tmp_path / view / "returns.parquet").to_pylist()
            assert [one["return_to_go"] for one in returns] == pytest.approx(
                [sum(wanted[n:]) for n in range(3)]
            )
        capsys.readouterr()
        asked = ["replay", str(file), "--task", str(task), "--credit-to", view]
        assert await asyncio.to_thread(main, [*asked, "--json"]) == 0
        lines = [orjson.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [one.get("credit", one["reward"]) for one in lines] == wanted
        assert await asyncio.to_thread(main, asked) == 0
        assert capsys.readouterr().out.count("credited") == (3 if view == "cause" else 0)
