"""Masks by cause in answers of the Open Reward Standard: what a session that names causes is paid,
call by call, and what stands whatever it names."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.ors.bracket import BracketSettings, StepBrackets
from tests.api.blame.test_causes import GOAL, HOME, PENALTY, shows
from tests.api.daemon import Daemon
from tests.api.service import ADMIN, Service, Store, running
from tests.api.test_ors import SID, call, create, said, score_group
from tests.api.test_ors_proxy import Flaky
from tests.support.logs import Said, clicked, episode, went

TASK: dict[str, Any] = {
    "id": "shop/cart",
    "version": "1",
    "instruction": "Put it into the cart.",
    "origin": "http://shop.test",
    "milestones": [*GOAL, PENALTY],
}
SPAM = clicked("Spam")


@dataclass(frozen=True)
class Case:
    """What is seen in the two steps before the answer, and the causes that the session names.

    ``paid``: of the calls that end step 0, end step 1 and give the answer; ``cause``: of the calls
    that are null, in the reason.
    """

    seen: Mapping[int, Sequence[Said]]
    causes: Sequence[str]
    paid: tuple[float | None, float | None, float | None]
    cause: str | None = None


REFUSED = {0: shows("/", 403)}
CASES: Mapping[str, Case] = {
    "no cause is named": Case(REFUSED, [], (0.0, 0.0, 0.0)),
    "another cause is named": Case(REFUSED, ["captcha"], (0.0, 0.0, 0.0)),
    "every step and the end failed for it": Case(
        REFUSED, ["site_refused"], (None, None, None), "site_refused"
    ),
    "the steps before the refusal were answered before, and stand": Case(
        {0: HOME, 1: shows("/a", 503)}, ["site_refused"], (0.0, None, None), "site_refused"
    ),
    "one of several causes": Case(
        {0: HOME, 1: shows("/a", 429)},
        ["captcha", "rate_limited"],
        (0.0, None, None),
        "rate_limited",
    ),
    "it was over before the end: neither the last step nor the episode failed for it": Case(
        {0: shows("/", 503), 1: HOME}, ["site_refused"], (None, 0.0, 0.0), "site_refused"
    ),
    "what was paid stands, and so does a success": Case(
        {0: shows("/", 503), 1: shows("/cart")}, ["site_refused"], (None, 0.3, 0.0), "site_refused"
    ),
    "a penalty stands, and so does the whole episode's end": Case(
        {0: [*HOME, SPAM], 1: [went("/x")]}, ["unknown"], (-0.5, 0.0, 0.0)
    ),
}


@pytest.fixture
async def service(sqlite_schema: Path, tmp_path: Path) -> AsyncIterator[Service]:
    """A service on SQLite: what is asked of the database is the same on Postgres."""
    shutil.copy(sqlite_schema, tmp_path / "milestoned.db")
    async with running(Store(tmp_path)) as service:
        yield service


async def rollout(
    service: Service, seen: Mapping[int, Sequence[Said]], causes: Sequence[str]
) -> tuple[str, list[dict[str, Any]]]:
    """An episode in session s-1 of two steps and an answer, and the outputs of its calls."""
    id, token = await service.open(TASK)
    daemon = Daemon(service, id, token, seen)
    await daemon.obey()
    obeying = asyncio.create_task(daemon.run())
    await create(service, episode=id, mask_causes=list(causes))
    outputs = [
        (await call(service, name)).output for name in ("step", "end_step", "step", "end_step")
    ]
    outputs.append((await call(service, "answer", text="Done.")).output)
    await obeying
    return id, outputs


@pytest.mark.parametrize("case", CASES)
async def test_a_call_is_null_for_its_cause(service: Service, case: str) -> None:
    given = CASES[case]
    id, (_, first, _, second, last) = await rollout(service, given.seen, given.causes)
    ends = (first, second, last)
    assert tuple(output["reward"] for output in ends) == pytest.approx(given.paid)
    for output in ends:
        metadata = output["metadata"]
        is_masked = output["reward"] is None
        assert (metadata["mask"], metadata["status"] == "masked") == (is_masked, is_masked)
        if is_masked:
            assert f"masked by its cause {given.cause} (events " in metadata["reason"]
    assert last["finished"] is True
    sealed = [(await service.reward(id, step)).json()["reward"] for step in range(3)]
    assert None not in sealed, "a mask is a view"


async def test_a_group_leaves_masked_candidates_out(service: Service) -> None:
    ids = []
    for seen in (REFUSED, {0: shows("/cart")}, {0: HOME}):
        id, _ = await rollout(service, seen, [])
        await service.post("/ors/delete", {}, headers=SID)
        ids.append(id)
    candidates = [said("", episode=id) for id in ids]
    for causes, wanted in (([], [0.25, 1.0, 0.25]), (["site_refused"], [None, 1.0, 0.0])):
        await create(service, task="shop/cart", sandbox="none", mask_causes=causes)
        found = json.loads((await score_group(service, *candidates)).text)["scores"]
        assert [score["reward"] for score in found] == wanted
        await service.post("/ors/delete", {}, headers=SID)
    assert (found[0]["metadata"]["status"], found[0]["metadata"]["mask"]) == ("masked", True)


@pytest.mark.parametrize("cause", ["agent", "infeasible", "made-up", ""])
async def test_a_cause_that_can_t_be_masked_is_refused(service: Service, cause: str) -> None:
    await service.open(TASK)
    spec = {"task": "shop/cart", "mask_causes": [cause]}
    answer = await service.post("/ors/create", {"task_spec": spec}, headers=SID)
    assert answer.status_code == 422
    assert "mask_causes" in answer.text


PROXIED: Mapping[str, tuple[list[list[Said]], tuple[str, ...], float | None, str]] = {
    "no cause is named": ([shows("/", 403)], (), 0.0, "sealed"),
    "it failed for it": ([shows("/", 403)], ("site_refused",), None, "masked"),
    "it failed for another": ([shows("/", 403)], ("captcha",), 0.0, "sealed"),
    "a penalty stands": ([[*shows("/", 403), SPAM]], ("site_refused",), -0.5, "sealed"),
    "a success stands": ([shows("/cart")], ("unknown",), 0.3, "sealed"),
}


@pytest.mark.parametrize("case", PROXIED)
async def test_the_last_call_behind_a_proxy_is_null_for_the_episode_s_cause(
    service: Service, case: str
) -> None:
    steps, causes, paid, status = PROXIED[case]
    await service.post("/v1/tasks", TASK)
    transport = Flaky(service)
    headers = {"authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(
        base_url="http://service.test", transport=transport, headers=headers
    ) as client:
        brackets = StepBrackets(client, BracketSettings(TASK["id"], mask_causes=causes))
        id = await brackets.open("s")
        await service.tell(id, transport.token, *episode(*steps))
        found = await brackets.end("s", is_last=True)
    assert found.reward == pytest.approx(paid)
    assert found.metadata["status"] == status
    assert found.metadata["mask"] is (paid is None)
