"""Goal before steps: a failed episode spares the judge's calls about its steps; what no tier is sure
of goes to people."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from api.auth.store import OPERATOR
from api.verdicts.escalations import Escalations, GoalState
from tests.api.service import Service, Store, eventually
from tests.cascade.judged import lines, milestoned, recorded
from tests.cascade.stage import Endpoint, stages
from tests.cascade.test_escalation import final, judged, task, verdicts
from tests.rescoring.corpus import written
from tests.support.logs import Said, episode, went

SPARED = "the episode failed, so nobody was asked about its steps (goal_first)"
YES = {"score": 1.0, "confidence": 0.9}
NO = {"score": 0.0, "confidence": 0.9}
UNSURE = {"score": 1.0, "confidence": 0.3}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with Endpoint(tmp_path_factory.mktemp("endpoint")) as found:
        yield found


def silent(name: str) -> list[Said]:
    """Two addresses that no rule looks for, as one step."""
    return [went(f"/{name}/elsewhere")]


async def told(service: Service, spec: dict[str, Any], *steps: Sequence[Said]) -> str:
    """An episode of silent steps, or of these, told to its end."""
    id, token = await service.open(spec)
    await service.tell(id, token, *episode(*steps))
    return id


async def words(service: Service, id: str) -> dict[tuple[int, str], str]:
    """What the log of verdicts has, by step and item."""
    return {
        (one["step"], one["item"]): one["verdict"]["why"]
        for one in await verdicts(service, id)
        if "verdict" in one
    }


async def test_an_episode_that_fails_by_its_rules_costs_no_call(
    store: Store, endpoint: Endpoint
) -> None:
    """Its silent steps are null with that reason, never 0."""
    endpoint.say(answer=YES, hold=False)
    async with judged(store, endpoint) as service:
        before = endpoint.calls()["came"]
        id = await told(service, task(goal_first=True), silent("a"), silent("b"))
        found = await final(service, id, 0)
        assert (found["status"], found["reward"], found["mask"]) == ("unscored", None, True)
        assert SPARED in found["reason"]
        assert set((await words(service, id)).values()) == {SPARED}
        assert endpoint.calls()["came"] == before


async def test_an_episode_that_succeeds_is_asked_about_in_full(
    store: Store, endpoint: Endpoint
) -> None:
    """The steps wait for the goal, and are asked about after it."""
    endpoint.say(answer=YES, hold=False)
    async with judged(store, endpoint) as service:
        id = await told(service, task(goal_first=True), silent("c"), [went("/cart")])
        found = await final(service, id, 0)
        assert (found["status"], found["decided_by"]) == ("sealed", "judge")


@pytest.mark.parametrize(("answer", "spares"), [(NO, True), (YES, False)])
async def test_where_the_judge_decides_the_goal_it_is_asked_first(
    tmp_path: Path, endpoint: Endpoint, answer: dict[str, float], spares: bool
) -> None:
    """One call where it says that the episode failed; else all."""
    endpoint.say(answer=answer, hold=False)
    async with judged(Store(tmp_path), endpoint) as service:
        before = endpoint.calls()["came"]
        spec = task(goal_first=True, escalate=["unscored", "goal"], decisive="none")
        name = f"judged-{spares}"
        id = await told(service, spec, silent(name), silent(f"{name}-2"), silent(f"{name}-3"))
        rewards = [await final(service, id, step) for step in range(2)]
        assert [SPARED in (one["reason"] or "") for one in rewards] == [spares] * 2
        calls = endpoint.calls()["came"] - before
        assert calls <= 2 if spares else calls >= 3


async def test_a_goal_that_is_decided_while_a_step_looks_for_it_keeps_no_step_waiting(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has read that the goal is open, and puts the step off after it was decided."""
    look = Escalations.goal_of

    async def decided(queue: Escalations, episode: str) -> bool:
        return (await look(queue, episode)).known

    async def look_late(self: Escalations, episode: str) -> GoalState:
        found = await look(self, episode)
        if not found.known:
            await eventually(lambda: decided(self, episode))
        return found

    monkeypatch.setattr(Escalations, "goal_of", look_late)
    endpoint.say(answer=YES, hold=False)
    async with judged(store, endpoint) as service:
        spec = task(goal_first=True, escalate=["unscored", "goal"], decisive="none")
        id = await told(service, spec, silent("late"), silent("late-2"))
        assert (await final(service, id, 0))["decided_by"] == "judge"


async def test_without_the_setting_steps_are_asked_about_at_once(
    store: Store, endpoint: Endpoint
) -> None:
    """The order is the task's choice."""
    endpoint.say(answer=YES, hold=False)
    async with judged(store, endpoint) as service:
        id = await told(service, task(), silent("d"), silent("e"))
        assert (await final(service, id, 0))["decided_by"] == "judge"


async def test_asking_again_keeps_the_order(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rescore --ask-again` spares the steps of a failed episode too."""
    endpoint.say(answer=YES, hold=False)
    files = tmp_path / "files"
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        await recorded(service, task(), files / "0.mrec", silent("f"), silent("g"))
    other = written(tmp_path / "other.yaml", task(goal_first=True))
    monkeypatch.setattr("api.cli.rescore.stages_of", lambda _: stages(endpoint.url, "judge"))
    before = endpoint.calls()["came"]
    out = tmp_path / "out.jsonl"
    given = [files, "--task", other, "--against", files / "0.yaml", "--ask-again", "--out", out]
    assert await asyncio.to_thread(milestoned, "rescore", *given) == 1
    assert endpoint.calls()["came"] == before
    said = lines(out)[1]["said"]
    assert {one["verdict"]["why"] for one in said if "verdict" in one} == {SPARED}


async def test_what_no_tier_is_sure_of_goes_to_people(tmp_path: Path, endpoint: Endpoint) -> None:
    """A verdict below the task's bar decides nothing: the step is null, and people are asked."""
    endpoint.say(answer=UNSURE, hold=False)
    async with judged(Store(tmp_path), endpoint) as service:
        id = await told(service, task(), silent("h"))
        assert (await final(service, id, 0))["status"] == "unscored"
        asked = await service.app.state.parts.preferences.unsettled(OPERATOR)
        assert (id, 0, "step", "shop/judged", "nobody was sure") in asked


async def test_what_an_audit_drew_is_asked_after_that(tmp_path: Path, endpoint: Endpoint) -> None:
    """So that labels are also of items that somebody was sure of."""
    endpoint.say(answer=YES, hold=False)
    async with judged(Store(tmp_path), endpoint) as service:
        await told(service, task(audit=1.0), [went("/cart")], silent("i"))
        endpoint.say(answer=UNSURE)
        unsure = await told(service, task(audit=1.0, patience_s=9), silent("j"))
        await final(service, unsure, 0)
        reasons = [one[-1] for one in await service.app.state.parts.preferences.unsettled(OPERATOR)]
        assert reasons[0] == "nobody was sure"
        assert reasons[-1] == "an audit drew it by lot"
