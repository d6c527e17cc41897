"""From a sealed step to its one final value: queued, asked, kept, told, over the wire and on both
databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from api.core.settings import StageSettings
from detectors.task.language import Budget
from tests.api.service import Service, Store, eventually, running
from tests.cascade.stage import MODEL, Endpoint, stages
from tests.support.logs import Said, episode, went

CART = {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "component": "nav"}
GOAL = {"id": "done", "when": {"goal": {"requires": ["cart"]}}}
BOTH = ["model", "judge"]
SILENT: list[Said] = [went("/elsewhere")]
STAKE = 0.01
"""What a score of 1 is worth in a silent step: half of the goal's 0.6, over thirty steps."""


def task(**escalation: Any) -> dict[str, Any]:
    """A task that escalates as said, without an audit unless it is asked for."""
    return {
        "id": "shop/judged",
        "version": str(sorted(escalation.items())),
        "instruction": "Put it into the cart.",
        "origin": "http://shop.test",
        "weights": {"nav": 0.4, "goal": 0.6},
        "milestones": [CART, GOAL],
        "limits": {"steps": 30},
        "escalation": {"audit": 0, "tiers": ["judge"], "share": 0.5, **escalation},
    }


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One endpoint for all tests."""
    with Endpoint(tmp_path_factory.mktemp("endpoint")) as found:
        yield found


@pytest.fixture(autouse=True)
def answering(endpoint: Endpoint) -> None:
    """It says yes, unless a test makes it say something else."""
    endpoint.say(
        status=200,
        answer={"score": 1.0, "confidence": 0.9, "cost": 0.01},
        ms=0,
        hold=False,
        text=None,
    )


@asynccontextmanager
async def judged(
    store: Store, endpoint: Endpoint, *tiers: Any, **settings: Any
) -> AsyncIterator[Service]:
    """A service with a judge at the endpoint."""
    async with running(
        store,
        stages=stages(endpoint.url, *(tiers or ("judge",))),
        cascade=StageSettings(**settings),
    ) as found:
        yield found


async def final(service: Service, id: str, step: int = 0) -> dict[str, Any]:
    """The step's final reward."""
    found = (await service.reward(id, step, wait_ms=20_000)).json()
    assert found["status"] in ("sealed", "unscored", "unobserved"), found
    return dict(found)


async def verdicts(service: Service, id: str) -> list[dict[str, Any]]:
    """The episode's log of verdicts."""
    return list((await service.get(f"/v1/episodes/{id}/verdicts")).json()["verdicts"])


async def test_a_silent_step_is_judged_once_and_sealed(store: Store, endpoint: Endpoint) -> None:
    """While it is asked about the trainer sees `escalating`; what is answered is the step's one
    value."""
    endpoint.say(hold=True)
    async with judged(store, endpoint) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode(SILENT, [went("/cart")]))
        waiting = (await service.reward(id, 0)).json()
        assert (waiting["status"], waiting["reward"], waiting["mask"]) == ("escalating", None, True)
        assert (await service.get(f"/v1/episodes/{id}")).json()["total"] is None
        endpoint.say(hold=False)
        found = await final(service, id)
        assert (found["status"], found["reward"], found["decided_by"]) == ("sealed", STAKE, "judge")
        assert found["milestones"][-1]["evidence"] == [3]
        assert [v["stage"] for v in found["verdicts"]] == ["rule", "judge"]
        assert (await service.reward(id, 0)).json() == found
        assert (await service.get(f"/v1/episodes/{id}")).json()["total"] == pytest.approx(
            1.0 + STAKE
        )
        kinds = [(one["seq"], one["kind"]) for one in await verdicts(service, id)]
        assert kinds == [(1, "verdict.given"), (2, "step.decided")]
        assert await service.rows("escalations") == 0


async def test_identical_evidence_is_one_call_for_ever(store: Store, endpoint: Endpoint) -> None:
    """The second episode, and one after a restart, get the kept answer, at no cost."""
    said = task(patience_s=77)
    before = endpoint.calls()["came"]
    for _ in range(2):
        async with judged(store, endpoint) as service:
            ids = [await service.open(said) for _ in range(3)]
            for id, token in ids:
                await service.tell(id, token, *episode([went("/the-same")]))
            rewards = [await final(service, id) for id, _ in ids]
            assert [one["reward"] for one in rewards] == [STAKE] * 3
            costs = [
                one["verdict"]["cost"]
                for id, _ in ids
                for one in await verdicts(service, id)
                if "verdict" in one
            ]
    assert endpoint.calls()["came"] == before + 1
    assert costs == [0.0] * 3


async def test_a_cascade_asks_the_judge_only_where_the_model_is_unsure(
    store: Store, endpoint: Endpoint
) -> None:
    """Both are events of the log of verdicts, in order."""
    endpoint.say(answer={"score": 0.5, "confidence": 0.2})
    async with judged(store, endpoint, "model", "judge") as service:
        id, token = await service.open(task(tiers=BOTH, confident=0.1))
        await service.tell(id, token, *episode(SILENT))
        assert ((await final(service, id))["decided_by"], (await final(service, id))["reward"]) == (
            "model",
            0.5 * STAKE,
        )
        id, token = await service.open(task(tiers=BOTH, confident=0.5))
        await service.tell(id, token, *episode(SILENT))
        assert (await final(service, id))["status"] == "unscored"
        assert [
            one["verdict"]["stage"] for one in await verdicts(service, id) if "verdict" in one
        ] == [
            "model",
            "judge",
        ]


async def test_a_tier_that_is_off_abstains_and_says_so(store: Store, endpoint: Endpoint) -> None:
    """The base service has none: silence stays null, it never becomes 0."""
    async with running(store) as service:
        assert set(service.app.state.off) == {
            "the model is off: started without --model",
            "the judge is off: started without --judge",
        }
        id, token = await service.open(task(tiers=BOTH))
        await service.tell(id, token, *episode(SILENT))
        found = await final(service, id)
        assert (found["status"], found["reward"], found["mask"]) == ("unscored", None, True)
        assert "the judge is off: started without --judge" in found["reason"]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(
            {
                "answer": {"score": float("inf"), "confidence": 1.0},
                "text": '{"score": 1e999, "confidence": 1}',
            },
            id="inf",
        ),
        pytest.param({"answer": {"score": 7, "confidence": 1.0}}, id="7 of 10"),
        pytest.param({"answer": {"score": -1, "confidence": 1.0}}, id="-1"),
        pytest.param({"answer": {"score": "1", "confidence": 1.0}}, id="a text"),
        pytest.param({"answer": {"score": True, "confidence": 1.0}}, id="true"),
        pytest.param({"answer": {"score": 1.0, "confidence": 2}}, id="sure twice over"),
        pytest.param({"answer": {"score": 1.0, "confidence": 1.0, "cost": -5}}, id="money back"),
    ],
)
async def test_immunity_9_numbers_that_are_none_are_an_abstention(
    tmp_path: Path, endpoint: Endpoint, said: dict[str, Any]
) -> None:
    """Immunity 9: nothing is clipped or rounded into a score."""
    if "text" in said:
        said["answer"] = {}
    endpoint.say(**said)
    async with judged(Store(tmp_path), endpoint) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode([went(f"/{abs(hash(str(said)))}")]))
        found = await final(service, id)
        assert (found["status"], found["reward"]) == ("unscored", None)
        assert "wanted" in found["reason"]


async def test_immunity_9_a_spent_budget_abstains_and_counts(
    store: Store, endpoint: Endpoint
) -> None:
    """To the call: eight questions at once on a budget of three."""
    before = endpoint.calls()["came"]
    async with judged(store, endpoint, budgets={"tenant": Budget(calls=3)}) as service:
        id, token = await service.open(task(patience_s=78))
        await service.tell(id, token, *episode(*([went(f"/page-{n}")] for n in range(8))))
        found = [await final(service, id, step) for step in range(8)]
        assert sorted(one["status"] for one in found) == ["sealed"] * 3 + ["unscored"] * 5
        assert (
            sum("the tenant's budget of 3 calls is spent" in (one["reason"] or "") for one in found)
            == 5
        )
        metrics = (await service.get("/metrics")).text
        assert 'milestoned_escalations_total{stage="judge",state="spent"} 5.0' in metrics
    assert endpoint.calls()["came"] == before + 3


@pytest.mark.slow_where("postgres")
async def test_a_budget_of_money_is_not_exceeded(store: Store, endpoint: Endpoint) -> None:
    """Every call costs a cent; five fit into 0.055, however many come at once."""
    before = endpoint.calls()["came"]
    async with judged(store, endpoint) as service:
        id, token = await service.open(task(budget={"day": {"cost": 0.055}}))
        await service.tell(id, token, *episode(*([went(f"/money-{n}")] for n in range(9))))
        found = [await final(service, id, step) for step in range(9)]
        assert sorted(one["status"] for one in found) == ["sealed"] * 5 + ["unscored"] * 4
    assert endpoint.calls()["came"] == before + 5


async def test_an_endpoint_that_is_down_is_asked_again(store: Store, endpoint: Endpoint) -> None:
    """A fault is no answer; only when the task's patience ends it counts as an abstention."""
    endpoint.say(status=503)
    async with judged(store, endpoint) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode([went("/down")]))
        await eventually(lambda: tried(service))
        assert (await service.reward(id, 0)).json()["status"] == "escalating"
        endpoint.say(status=200)
        assert (await final(service, id))["reward"] == STAKE
        endpoint.say(status=503)
        id, token = await service.open(task(patience_s=0.2))
        await service.tell(id, token, *episode([went("/for-good")]))
        found = await final(service, id)
        assert (found["status"], found["mask"]) == ("unscored", True)
        assert "no answer in 0.2 s: it answered 503" in found["reason"]


async def tried(service: Service) -> bool:
    """Whether an item was put off."""
    rows = await service.app.state.parts.database.all(text("SELECT attempts FROM escalations"))
    return any(row.attempts for row in rows)


async def test_no_more_run_at_once_than_the_endpoint_bears(
    store: Store, endpoint: Endpoint
) -> None:
    """Twenty questions, two at a time."""
    endpoint.say(ms=5)
    async with judged(store, endpoint, at_once=2) as service:
        httpx_calls = endpoint.calls()
        id, token = await service.open(task(patience_s=79))
        await service.tell(id, token, *episode(*([went(f"/narrow-{n}")] for n in range(20))))
        assert [(await final(service, id, step))["reward"] for step in range(20)] == [STAKE] * 20
    assert endpoint.calls()["came"] == httpx_calls["came"] + 20


async def test_the_goal_is_judged_and_the_episode_says_so(store: Store, endpoint: Endpoint) -> None:
    """A judge's yes where the rules say no: reward, success and total follow; streams end after
    it."""
    endpoint.say(hold=True)
    async with judged(store, endpoint) as service:
        id, token = await service.open(task(escalate="goal"))
        await service.tell(id, token, *episode(SILENT))
        row = (await service.get(f"/v1/episodes/{id}")).json()
        assert (row["status"], row["success"], row["total"]) == ("closed", None, None)
        streamed = asyncio.create_task(
            service.get(f"/v1/episodes/{id}/stream", params={"kinds": "reward"})
        )
        endpoint.say(hold=False)
        found = await final(service, id)
        assert (found["reward"], found["success"], found["done"]) == (0.6, True, True)
        row = (await service.get(f"/v1/episodes/{id}")).json()
        assert (row["success"], row["total"]) == (True, 0.6)
        assert '"status":"sealed"' in (await streamed).text


async def test_what_an_audit_s_lot_draws_is_judged_without_effect(
    store: Store, endpoint: Endpoint
) -> None:
    """The step is sealed at once; the word is in the log of verdicts."""
    async with judged(store, endpoint) as service:
        id, token = await service.open(task(escalate="never", audit=1))
        await service.tell(id, token, *episode(SILENT))
        assert (await service.reward(id, 0)).json()["reward"] == 0.0
        found = await eventually(lambda: verdicts(service, id))
        assert [(one["kind"], one["audit"], one["verdict"]["by"]) for one in found] == [
            ("verdict.given", True, MODEL)
        ]
        assert (await service.reward(id, 0)).json()["reward"] == 0.0
