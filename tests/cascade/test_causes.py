"""A judge is asked why an episode failed where its events leave that open, if the task wants it: what it
has proven is the cause, and no reward changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from api.blame.judged import CRITERIA, judged_cause
from api.cascade.stages import Stages
from api.core.settings import StageSettings
from api.stages.base import Opinion, Question
from detectors.engine.resolution import CAUSE
from detectors.model.codec import canonical, sha256
from detectors.model.errors import DetectorError
from detectors.model.types import Verdict
from detectors.task.task_json import task_from_json
from tests.api.blame.test_causes import doc, shows
from tests.api.service import Service, Store, eventually, running
from tests.cascade.test_escalation import task as judged_task
from tests.support.logs import Said, episode, went

ASKING = judged_task(escalate=["cause"])
HALF = [*shows("/"), *shows("/a", 403), *shows("/b")]
"""A single refusal between good pages: the events leave it open."""
Votes = list[dict[str, str]]


def votes(*met: str, unclear: str = "") -> Votes:
    """Two votes that say the same."""
    one = dict.fromkeys(CRITERIA, "no") | dict.fromkeys(met, "yes")
    return [one | ({unclear: "unclear"} if unclear else {})] * 2


class CauseJudge:
    """A judge that says what a test says; ``asked``: of which criteria it was asked."""

    name = "judge"

    def __init__(self, said: Votes, score: float | None = 0.1) -> None:
        self._said, self._score = said, score
        self.asked: list[tuple[str, list[str]]] = []

    def digest(self, question: Question) -> str:
        return sha256(canonical([question.episode, question.step, question.about]))

    async def ask(self, question: Question) -> Opinion:
        self.asked.append((question.about, [one.id for one in question.criteria]))
        cast: list[Any] = [
            {"criteria": {name: {"met": met, "evidence": ["e3"]} for name, met in vote.items()}}
            for vote in self._said
        ]
        return Opinion(Verdict("judge", self._score, 0.9, "", "model@1"), {"votes": cast})


async def told(service: Service, spec: dict[str, Any], *steps: list[Said]) -> str:
    """An episode that is over and of which nothing waits for an answer."""
    id, token = await service.open(spec)
    await service.tell(id, token, *episode(*steps))

    async def is_answered() -> bool:
        return not await service.rows("escalations")

    await eventually(is_answered)
    return id


def serving(store: Store, judge: Any) -> Any:
    stages = Stages({"judge": [judge]}, {"model": "off"})
    return running(store, stages=stages, cascade=StageSettings())


async def blamed(service: Service, id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await service.get(f"/v1/episodes/{id}/blame")).json()
    return found


async def test_what_events_leave_open_a_judge_decides_and_no_reward_changes(store: Store) -> None:
    judge = CauseJudge(votes("site_refused"))
    async with serving(store, judge) as service:
        id = await told(service, ASKING, HALF)
        found = await blamed(service, id)
        assert (found["cause"], found["decided_by"], found["evidence"]) == (
            *("site_refused", "judge"),
            [3],
        )
        assert "the judge model@1 found: A page or an answer of the site shows" in found["reason"]
        assert judge.asked == [("goal", list(CRITERIA))]
        plain = await told(service, judged_task(escalate="never"), HALF)
        assert (await blamed(service, plain))["cause"] == "unknown", "nobody is asked unasked"
        paid = [(await service.reward(one, 0)).json()["reward"] for one in (id, plain)]
        assert paid[0] == paid[1] is not None
        body = {"samples": [{"episode": id}], "mask_causes": ["site_refused"]}
        (masked,) = (await service.post("/v1/score", body)).json()["results"]
        assert (masked["reward"], masked["failure_kind"]) == (None, "milestoned:masked")
        assert (await service.reward(id, 0)).json()["reward"] == paid[0], "a mask is a view"


ABSTAINS: Mapping[str, tuple[Votes, float | None]] = {
    "no score": (votes("captcha"), None),
    "none is met": (votes(), 0.0),
    "two are met": (votes("captcha", "agent"), 0.3),
    "votes differ": ([votes("captcha")[0], votes("agent")[0]], 0.1),
    "no votes": ([], 0.1),
}


@pytest.mark.parametrize("case", ABSTAINS)
def test_a_judge_that_is_not_sure_of_one_cause_decides_none(case: str) -> None:
    said, score = ABSTAINS[case]
    cast = [{"criteria": {name: {"met": met} for name, met in vote.items()}} for vote in said]
    verdict: dict[str, Any] = {"score": score, "by": "model@1"}
    event: dict[str, Any] = {
        "item": CAUSE,
        "verdict": verdict,
        "record": {"votes": cast},
        "evidence": [3],
    }
    assert judged_cause([event]) is None
    sure = {**event, "verdict": {**verdict, "score": 0.1}}
    sure["record"] = {"votes": [{"criteria": {"agent": {"met": "yes"}}}]}
    assert judged_cause([{**sure, "item": "goal"}]) is None, "another question's"
    found = judged_cause([event, sure])
    assert found is not None
    assert (found.cause, found.evidence) == ("agent", [3])


async def test_what_the_events_decide_and_what_succeeded_is_not_asked(store: Store) -> None:
    judge = CauseJudge(votes("captcha"))
    async with serving(store, judge) as service:
        refused = await told(service, ASKING, [doc("/cart", 503)])
        good = await told(service, ASKING, [went("/cart")])
        found = [await blamed(service, id) for id in (refused, good)]
    assert [one["cause"] for one in found] == ["site_refused", None]
    assert found[0]["decided_by"] == "events"
    assert judge.asked == []


def test_only_a_judge_says_why() -> None:
    with pytest.raises(DetectorError, match="judge in tiers beside it"):
        task_from_json(judged_task(escalate=["cause"], tiers=["model"]))
