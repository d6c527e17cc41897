"""A worker that something fails under: what fails is put off, what runs runs once, what ends is
charged."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import pytest
from sqlalchemy import select

from api.cascade.evidence import EpisodeEvidence
from api.cascade.stages import Stages
from api.cascade.store import Verdicts
from api.core.errors import UnavailableError
from api.core.settings import StageSettings
from api.stages.base import Opinion, Question
from api.verdicts.escalations import Escalations
from api.verdicts.opinions import STAGE, Begun, Opinions
from api.verdicts.tables import budgets
from detectors.engine.engine import Engine
from detectors.model.codec import canonical, sha256
from detectors.model.types import Verdict
from detectors.task.task_json import task_to_json
from tests.api.service import Store, frames, running, until
from tests.cascade.stage import Endpoint
from tests.cascade.test_escalation import (
    SILENT,
    STAKE,
    answering,
    endpoint,
    final,
    judged,
    task,
    verdicts,
)
from tests.support.logs import episode, log, ruleset, went

__all__ = ["answering", "endpoint"]
NO = UnavailableError("the database can't be used now")


class Scripted:
    """A judge in this process that says one thing after the other, the last one for ever."""

    name: Literal["model", "judge"] = "judge"

    def __init__(self, *said: Opinion | Exception) -> None:
        self.said, self.threads = list(said), list[int]()

    def digest(self, question: Question) -> str:
        """Of the episode: nobody else asks the same."""
        self.threads.append(threading.get_ident())
        return sha256(canonical([question.episode, question.step]))

    async def ask(self, question: Question) -> Opinion:
        """The next."""
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, Exception):
            raise said
        return said


def says(score: float | None, cost: float, calls: int, *, again: bool = False) -> Opinion:
    """One opinion."""
    return Opinion(Verdict("judge", score, 0.9, "so it says", "m", cost), {"calls": calls}, again)


def service_of(store: Store, judge: Scripted, **settings: Any) -> Any:
    """A service with that judge."""
    stages = Stages({"judge": [judge]}, {"model": "the model is off: a test left it out"})
    return running(store, stages=stages, cascade=StageSettings(**settings))


@pytest.mark.slow_where("postgres")
@pytest.mark.parametrize(
    "error", [NO, RuntimeError("a fault of ours")], ids=["unavailable", "a fault"]
)
async def test_what_failed_is_tried_again_soon(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Not when a lease ends, and not never; the question is asked under its first bill."""
    keep, failed = Verdicts.keep, list[str]()

    async def flaky(self: Verdicts, said: Any, *more: Any) -> Any:
        if not failed:
            failed.append(said.episode)
            raise error
        return await keep(self, said, *more)

    monkeypatch.setattr(Verdicts, "keep", flaky)
    async with judged(store, endpoint, lease_s=600.0) as service:
        id, token = await service.open(task(budget={"episode": {"calls": 1}}))
        await service.tell(id, token, *episode([went("/flaky")]))
        assert (await final(service, id))["reward"] == STAKE
        assert failed == [id]


async def test_a_worker_outlives_a_queue_that_fails(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault in taking is logged, and the queue looked at again."""
    take, failed = Escalations.take, list[int]()

    async def flaky(self: Escalations, most: int, lease_s: float) -> Any:
        if not failed:
            failed.append(most)
            raise RuntimeError("a fault of ours")
        return await take(self, most, lease_s)

    monkeypatch.setattr(Escalations, "take", flaky)
    monkeypatch.setattr("api.cascade.worker.AGAIN_S", 0.1)
    async with judged(Store(tmp_path), endpoint) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode([went("/queue")]))
        assert (await final(service, id))["reward"] == STAKE
        assert failed


async def test_what_runs_is_not_begun_twice(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases can't be renewed and end: the same worker is handed the same row, and has it
    already."""

    async def fails(self: Any, *_: Any) -> None:
        raise NO

    take, handed = Escalations.take, list[int]()

    async def counted(self: Escalations, *args: Any) -> Any:
        rows = await take(self, *args)
        handed.extend(row.step for row in rows)
        return rows

    monkeypatch.setattr(Escalations, "take", counted)
    monkeypatch.setattr(Escalations, "renew", fails)
    monkeypatch.setattr(Opinions, "renew", fails)
    endpoint.say(hold=True)
    came = endpoint.calls()["came"]
    async with judged(store, endpoint, lease_s=0.2) as service:
        id, token = await service.open(task(route="blend", weights={"rule": 0.5, "judge": 0.5}))
        await service.tell(id, token, *episode([went("/twice")]))
        await until(lambda: len(handed) >= 4)
        endpoint.say(hold=False)
        assert (await final(service, id))["reward"] == 0.5 * (0.5 * STAKE)
        assert [one["kind"] for one in await verdicts(service, id)] == [
            "verdict.given",
            "step.decided",
        ]
        assert endpoint.calls()["came"] == came + 1


@pytest.mark.slow_where("digits")
@pytest.mark.slow_where("no JSON")
@pytest.mark.parametrize(
    "error", [TypeError("no JSON"), ZeroDivisionError(), ValueError("digits")], ids=str
)
async def test_a_stage_that_fails_is_no_answer(store: Store, error: Exception) -> None:
    """Asked again; when patience ends it is an abstention, so the item ends."""
    async with service_of(store, Scripted(error)) as service:
        id, token = await service.open(task(patience_s=0.3))
        await service.tell(id, token, *episode(SILENT))
        found = await final(service, id)
        assert (found["status"], found["reward"]) == ("unscored", None)
        assert f"the judge failed: {type(error).__name__}" in found["reason"]
    async with service_of(store, Scripted(error, says(1.0, 0.0, 1))) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode(SILENT))
        assert (await final(service, id))["reward"] == STAKE


async def test_a_service_that_stops_does_not_look_at_its_queue_over_and_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its notifier's events are all set then."""
    looks: list[float] = []
    take = Escalations.take

    async def count(self: Escalations, most: int, lease_s: float) -> Any:
        looks.append(lease_s)
        return await take(self, most, lease_s)

    async with service_of(store, Scripted(says(1.0, 0.0, 1))) as service:
        monkeypatch.setattr(Escalations, "take", count)
        service.app.state.parts.notifier.stop()
        for _ in range(20):  # reads that take as long as a look
            await service.rows("escalations")
        assert len(looks) <= 1


async def test_an_attempt_without_an_answer_is_charged(store: Store) -> None:
    """Two of three votes were given when the endpoint went away: they are on the bill."""
    async with service_of(
        store, Scripted(says(None, 0.02, 2, again=True), says(1.0, 0.03, 3))
    ) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode(SILENT))
        assert (await final(service, id))["reward"] == STAKE
        rows = await service.app.state.parts.database.all(
            select(budgets).where(budgets.c.scope != STAGE)
        )
        assert [(row.calls, round(row.cost, 9), row.held) for row in rows] == [(5, 0.05, 0.0)] * 4


async def test_patience_ends_for_who_is_kept_waiting_by_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question is somebody else's, and stays so: at some time that is an abstention as well."""

    async def busy(*_: Any) -> Begun:
        return Begun("busy")

    monkeypatch.setattr(Opinions, "begin", busy)
    async with service_of(store, Scripted(says(1.0, 0.0, 1))) as service:
        id, token = await service.open(task(patience_s=0.3))
        await service.tell(id, token, *episode(SILENT))
        found = await final(service, id)
        assert (found["status"], "no answer in 0.3 s" in found["reason"]) == ("unscored", True)


@pytest.mark.parametrize("alone", [False, True], ids=["in a thread", "of one thread alone"])
async def test_a_question_is_read_where_it_holds_up_nobody(tmp_path: Path, alone: bool) -> None:
    """A scorer's text is a whole log, cleaned: not on the loop. A model that keeps readings is
    called there."""
    judge = Scripted(says(1.0, 0.0, 1))
    judge.one_thread = alone  # type: ignore[attr-defined]
    async with service_of(Store(tmp_path), judge) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode(SILENT))
        await final(service, id)
    assert (set(judge.threads) == {threading.get_ident()}) is alone


def test_what_a_milestone_and_a_goal_are_graded_by() -> None:
    """A milestone that is asked about at the end pays the share of its criteria; the goal all or
    nothing."""
    nice = {
        "id": "nice",
        "when": {"judge": {"rubric": ["It is kind.", "It is short."]}},
        "component": "form",
    }
    goal = {"id": "done", "when": {"goal": {"when": {"url_reached": {"url": "/cart"}}}}}
    rules = ruleset(nice, goal, escalation={"audit": 0, "escalate": ["unscored", "goal"]})
    seen = EpisodeEvidence(rules, Engine(rules, "ep_1"), task_to_json(rules.task))
    before = seen.rewards, seen.asks
    (frame,) = frames(log(*episode(SILENT)))
    seen.take(frame)
    found = {one.item: seen.question(one) for one in seen.asks[0]}
    assert {item: (q.about, q.graded) for item, q in found.items()} == {
        "nice": ("goal", "share"),
        "step": ("step", "share"),
        "goal": ("goal", "all"),
    }
    assert before == ({}, {}), "what another thread may go through is replaced, not changed"
