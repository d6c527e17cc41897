"""What a task expects to stand at the start, and when another start is a finding."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from api.start_states.expected import compare_expected
from detectors.model.errors import DetectorError
from detectors.task.task_json import task_from_json, task_to_json
from tests.api.daemon import Daemon
from tests.api.service import TASK, Service
from tests.api.start_states.test_comparison import FILES, file, lost, state
from tests.api.start_states.test_starts import GUARDED, told
from tests.api.test_ors import call, create
from tests.support.logs import Said, went

SHOP = "http://shop.test"
CASES: dict[str, tuple[dict[str, list[str]], list[Said], list[str]]] = {
    "nothing is expected": ({}, FILES, []),
    "a file that is there": ({"files": ["downloads/a.txt"]}, FILES, []),
    "a file that is not there": (
        {"files": ["downloads/c.txt"]},
        FILES,
        [
            "this episode began without the file downloads/c.txt, which the task expects",
        ],
    ),
    "a file of the last episode": (
        {"absent_files": ["downloads/a.txt"]},
        FILES,
        [
            "this episode began with the file downloads/a.txt, which the task expects not to be"
            " there",
        ],
    ),
    "a file that went before the first step": (
        {"absent_files": ["downloads/a.txt"]},
        [*FILES, file("a.txt", "file.deleted")],
        [],
    ),
    "a tab by its path": ({"tabs": ["/cart"]}, [went("/cart?n=1")], []),
    "a tab by its address": ({"tabs": [f"{SHOP}/cart"]}, [went("/cart")], []),
    "another page": (
        {"tabs": ["/cart"]},
        [went("/login")],
        [f"this episode began without a tab at {SHOP}/cart, which the task expects"],
    ),
    "files that nothing observed": ({"files": ["downloads/c.txt"]}, [], []),
    "files while their source observed nothing": (
        {"absent_files": ["downloads/a.txt"]},
        [*FILES, lost("files")],
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_expected_start(case: str) -> None:
    start, before, texts = CASES[case]
    found = compare_expected({"origin": SHOP, "start": start}, state(*before))
    assert [one["text"] for one in found] == texts
    assert all(one["agree"] is None for one in found), "no other episode says so"


def task(**more: Any) -> dict[str, Any]:
    return {**TASK, **more}


def test_a_task_says_what_it_expects_and_keeps_its_digest_where_it_says_nothing() -> None:
    expects = task(start={"files": ["downloads/a.txt"]}, infeasible=False)
    document = task_to_json(task_from_json(expects))
    assert (document["start"], document["infeasible"]) == ({"files": ["downloads/a.txt"]}, False)
    assert {"start", "infeasible"}.isdisjoint(task_to_json(task_from_json(TASK)))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"start": {"files": "a.txt"}}, "files"),
        ({"start": {"folders": []}}, "folders"),
        ({"start": {"on_mismatch": "mask"}}, "report or refuse"),
        ({"infeasible": "yes"}, "true or false"),
    ],
)
def test_what_it_may_not_say(more: dict[str, Any], message: str) -> None:
    with pytest.raises(DetectorError, match=message):
        task_from_json(task(**more))


async def test_the_first_episode_of_a_task_is_found_and_masked_by_choice(service: Service) -> None:
    """Where no other episode began yet, what the task expects still says that this start is
    wrong."""
    id = await told(service, FILES, start={"absent_files": ["downloads/a.txt"]})
    (found,) = (await service.get(f"/v1/episodes/{id}/start")).json()["findings"]
    assert (found["difference"], found["name"]) == ("extra", "downloads/a.txt")
    (plain,) = (await service.get(f"/v1/episodes/{id}/trajectory")).json()["steps"]
    query = {"mask_causes": "start_state"}
    answer = await service.get(f"/v1/episodes/{id}/trajectory", params=query)
    (masked,) = answer.json()["steps"]
    assert plain["reward"]["reward"] is not None
    assert (masked["reward"]["reward"], masked["reward"]["status"]) == (None, "masked")
    assert "which the task expects not to be there" in masked["reward"]["reason"]


async def test_a_refused_start_is_told_where_rewards_are_and_is_no_zero(service: Service) -> None:
    """On the API, in the scores of trainers (which HUD, Harbor and others make theirs of), in the
    trajectory, and in a call of the Open Reward Standard."""
    service.app.state.parts.open_reward.lifecycle.start_ms = 0
    start = {"absent_files": ["downloads/a.txt"], "on_mismatch": "refuse"}
    why = "this episode began with the file downloads/a.txt, which the task expects not to be there"
    id = await told(service, FILES, start=start)
    found = (await service.get(f"/v1/episodes/{id}/start")).json()
    assert (found["refused"], [one["text"] for one in found["findings"]]) == (True, [why])
    reward = (await service.reward(id, 0)).json()
    assert (reward["reward"], reward["mask"], reward["status"]) == (None, True, "unobserved")
    assert why in reward["reason"]
    (score,) = (await service.post("/v1/score", {"samples": [{"episode": id}]})).json()["results"]
    assert (score["reward"], score["mask_sample"], score["success"]) == (None, True, None)
    assert why in score["failure_reason"]
    other, token = await service.open({**GUARDED, "start": start})
    daemon = Daemon(service, other, token, {0: [went("/cart")]})
    daemon.said += FILES
    await daemon.obey()
    watching = asyncio.create_task(daemon.run())
    await create(service, episode=other)
    await call(service, "step")
    output = (await call(service, "answer", text="done")).output
    await watching
    assert (output["reward"], output["metadata"]["mask"]) == (None, True)
    assert why in output["metadata"]["reason"]
    usual = await told(service, [], start=start)
    assert (await service.get(f"/v1/episodes/{usual}/start")).json()["refused"] is False
    assert (await service.reward(usual, 0)).json()["reward"] is not None
