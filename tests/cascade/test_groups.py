"""`POST /v1/groups:score`: episodes of one task, ordered by what the rules paid, ties by the tiers."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import httpx
import pytest
from milestoned_client import AsyncRewardClient

from api.cascade.stages import Stages
from api.stages.base import Opinion, Question
from detectors.model.types import Verdict
from tests.api.service import ADMIN, Service, Store, eventually, running
from tests.cascade.test_escalation import CART, GOAL
from tests.support.logs import Said, episode, went

NEVER = {"audit": 0, "escalate": "never", "tiers": ["model", "judge"], "confident": 0.6}
GAP: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "r"}),
    ("gap.ended", {"source": "cdp"}),
]
ON, OFF, AWAY = [went("/cart")], [went("/a")], [went("/b")]


def task(escalation: dict[str, Any] | None = NEVER, version: str = "1") -> dict[str, Any]:
    """A task whose first milestone pays 0.4; tiers are asked about nothing but ties."""
    return {
        "id": "shop/group",
        "version": version,
        "instruction": "Put it into the cart.",
        "origin": "http://shop.test",
        "weights": {"nav": 0.4, "goal": 0.6},
        "milestones": [CART, GOAL],
        "limits": {"steps": 30},
        **({"escalation": escalation} if escalation else {}),
    }


class PageStage:
    """Scores an episode by the last address in its log; asks nobody."""

    def __init__(
        self, name: Literal["model", "judge"], scores: dict[str, tuple[float | None, float]]
    ) -> None:
        self.name, self._scores = name, scores
        self.asked: list[str] = []
        self.answering = asyncio.Event()
        self.answering.set()

    def digest(self, question: Question) -> str:
        """Of the address and the episode."""
        return f"{self.name}:{question.episode}:{self._path(question)}"

    async def ask(self, question: Question) -> Opinion:
        """One opinion, once it may answer."""
        assert (question.about, question.terminal) == ("goal", True)
        self.asked.append(self._path(question))
        await self.answering.wait()
        score, confidence = self._scores[self._path(question)]
        verdict = Verdict(self.name, score, confidence, "by its address", f"{self.name}@1")
        return Opinion(verdict, {"events": [3]})

    def _path(self, question: Question) -> str:
        urls = [event.data["url"] for event in question.events if event.kind == "page.navigated"]
        return str(urls[-1]).removeprefix("http://shop.test")


def stages(*listed: PageStage) -> Stages:
    """The stages of a service; of the other it says that it is off."""
    names = {stage.name for stage in listed}
    off = {name: f"the {name} is off" for name in ("model", "judge") if name not in names}
    return Stages({stage.name: [stage] for stage in listed}, off)


async def told(
    service: Service, spec: dict[str, Any], *steps: list[Said], close: bool = True
) -> str:
    """An episode, told step by step."""
    id, token = await service.open(spec)
    await service.tell(id, token, *episode(*steps, close=close))
    return id


async def scored(service: Service, episodes: list[str], **more: Any) -> dict[str, Any]:
    """The group."""
    answer = await service.post("/v1/groups:score", {"episodes": episodes, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def column(group: dict[str, Any], name: str) -> list[Any]:
    """A member of every result."""
    return [one[name] for one in group["results"]]


async def test_rules_order_and_unknown_is_left_out(store: Store) -> None:
    async with running(store) as service:
        spec = task(None)
        ids = [
            await told(service, spec, OFF),
            await told(service, spec, ON),
            await told(service, spec, GAP),
            await told(service, spec, AWAY),
        ]
        group = await scored(service, ids)
        assert group["complete"] is True
        assert group["known"] == 3
        assert column(group, "rank") == [2, 1, None, 2]
        assert column(group, "score") == [0.25, 1.0, None, 0.25]
        assert column(group, "mask_sample") == [False, False, True, False]
        assert column(group, "milestones")[:2] == [[], ["cart", "done"]]
        gained = [value for value in column(group, "advantage") if value is not None]
        assert len(gained) == 3
        assert sum(gained) == pytest.approx(0.0)
        (tie,) = group["ties"]
        assert (tie["episodes"], tie["by"]) == ([ids[0], ids[3]], [])
        assert tie["reason"] == "no tier was asked: the task has no escalation"
        by_reward = await scored(service, ids, advantages="reward", scale="none")
        assert column(by_reward, "advantage") == pytest.approx([-1 / 3, 2 / 3, None, -1 / 3])


ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any], list[int], list[str]]] = {
    "the model tells them apart": (
        {"/a": (0.9, 0.9), "/b": (0.1, 0.9)},
        {},
        [1, 2],
        ["model"],
    ),
    "the model abstains of one, the judge tells": (
        {"/a": (None, 0.0), "/b": (0.1, 0.9)},
        {"/a": (0.2, 0.9), "/b": (0.8, 0.9)},
        [2, 1],
        ["judge"],
    ),
    "the model says the same, the judge tells": (
        {"/a": (0.5, 0.9), "/b": (0.5, 0.9)},
        {"/a": (0.8, 0.9), "/b": (0.2, 0.9)},
        [1, 2],
        ["judge"],
    ),
    "the model is not sure enough, the judge says the same": (
        {"/a": (0.9, 0.5), "/b": (0.1, 0.9)},
        {"/a": (1.0, 0.9), "/b": (1.0, 0.9)},
        [1, 1],
        [],
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_ties_are_broken_in_the_order_of_the_tiers(store: Store, case: str) -> None:
    by_model, by_judge, ranks, by = ANSWERS[case]
    model, judge = PageStage("model", by_model), PageStage("judge", by_judge)
    async with running(store, stages=stages(model, judge)) as service:
        ids = [await told(service, task(), OFF), await told(service, task(), AWAY)]
        before = [(await service.reward(id, 0)).content for id in ids]
        group = await scored(service, ids, wait_ms=20_000)
        assert column(group, "rank") == ranks
        assert group["complete"] is True
        (tie,) = group["ties"]
        assert tie["by"] == by
        assert (tie["reason"] is None) == bool(by)
        assert {verdict["evidence"][0] for verdict in tie["verdicts"]} == {3}
        assert [one["tier"] for one in tie["verdicts"] if one["used"]] == by * 2
        assert await scored(service, ids, wait_ms=20_000) == group
        assert [(await service.reward(id, 0)).content for id in ids] == before
        assert (len(model.asked), len(judge.asked)) == (2, 2 * bool(by_judge))


async def test_a_group_waits_and_says_so(store: Store) -> None:
    """Nothing is ranked by what is not settled: an open episode, a tier that has not answered."""
    model = PageStage("model", {"/a": (0.9, 0.9), "/b": (0.1, 0.9)})
    model.answering.clear()
    async with running(store, stages=stages(model)) as service:
        ids = [await told(service, task(), OFF), await told(service, task(), AWAY, close=False)]
        group = await scored(service, ids)
        assert group["complete"] is False
        assert column(group, "rank") == column(group, "advantage") == [None, None]
        assert column(group, "failure_kind") == [None, "milestoned:settling"]
        ids[1] = await told(service, task(), AWAY)
        group = await scored(service, ids, wait_ms=50)
        assert group["complete"] is False
        assert column(group, "mask_sample") == [True, True]
        assert group["ties"][0]["reason"] == "the model has not answered in time"
        model.answering.set()

        async def complete() -> bool:
            return bool((await scored(service, ids))["complete"])

        await eventually(complete)
        assert sorted(model.asked) == ["/a", "/b"], "each was asked once"
        untouched = await scored(service, ids, ask_tiers=False)
        assert column(untouched, "rank") == [1, 1]
        assert untouched["ties"][0]["reason"] == "no tier was asked: the request says so"


async def test_the_client_and_what_is_refused(store: Store) -> None:
    async with running(store) as service:
        spec = task(None)
        ids = [await told(service, spec, ON), await told(service, spec, OFF)]
        other = await told(service, task(None, version="2"), ON)
        transport = httpx.ASGITransport(service.app)
        async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
            group = await client.score_group(ids, wait_s=0)
            assert [member.rank for member in group.results] == [1, 2]
            assert group.results[0].milestones == ("cart", "done")
            assert group.ties == ()
        refused = {
            (ids[0],): "should have at least 2 items",
            (ids[0], ids[0]): f"episodes.1: {ids[0]} is named twice; expected each once",
            (ids[0], other): f"episodes.1: {other} is of task shop/group 2",
        }
        for episodes, why in refused.items():
            answer = await service.post("/v1/groups:score", {"episodes": list(episodes)})
            assert answer.status_code == 422, answer.text
            assert why in answer.text, answer.text
        missing = await service.post("/v1/groups:score", {"episodes": [ids[0], "ep_nobody"]})
        assert missing.status_code == 404
