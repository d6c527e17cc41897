"""Traces out of the service: sent at the seal, whole after a crash, and never in a reward's way;
on both databases, to a receiver that decodes with `opentelemetry-proto`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from api.cascade.stages import Stages
from api.stages.base import Opinion, Question
from api.telemetry.collector import CollectorDownError
from api.telemetry.exporter import TraceExporter
from common.trace_context import PASSED_ON
from detectors.model.codec import canonical, sha256
from detectors.model.types import Verdict
from tests.api.service import TASK, Service, Store, eventually, running, until
from tests.cascade.test_escalation import task as judged_task
from tests.support.logs import Said, clicked, episode, sealed, went
from tests.telemetry.receiver import Answer, Receiver, plain

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GAP: Said = ("gap.began", {"source": "cdp", "reason": "lost"})
WHOLE = episode([went("/cart"), sealed(0)], [GAP, sealed(1)])
CLOSED = ["execute_tool step", "execute_tool step", "invoke_agent shop/cart"]

on_sqlite = pytest.mark.slow_where("postgres")
"""What is no matter of the database is tested on Postgres by `make test-all`."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as found:
        yield found


@asynccontextmanager
async def traced(store: Store, receiver: Receiver, **settings: Any) -> AsyncIterator[Service]:
    """A service that sends to the receiver, where a test says so."""
    async with running(store, telemetry=receiver.settings(**settings)) as service:
        await exporter(service).periodic.stop()
        yield service


def exporter(service: Service) -> TraceExporter:
    found: TraceExporter = service.app.state.parts.traces
    return found


async def send_all(service: Service) -> None:
    while await exporter(service).turn():
        pass


@on_sqlite
async def test_a_step_is_sent_at_its_seal_and_the_root_at_the_close(
    store: Store, receiver: Receiver
) -> None:
    async with traced(store, receiver) as service:
        id, token = await service.open()
        said = episode([went("/cart"), sealed(0)], [went("/"), clicked("Buy")], close=False)
        await service.tell(id, token, *said)
        await send_all(service)
        assert receiver.names == ["execute_tool step"]
        assert receiver.scores() == {"0 cart": 0.1, "0 step_reward": 0.1}
        await send_all(service)
        assert len(receiver.spans) == 1, "what is sent is not sent again"


@on_sqlite
async def test_a_closed_episode_is_one_trace_with_a_score_where_one_is_known(
    store: Store, receiver: Receiver
) -> None:
    async with traced(store, receiver, gzip=True, headers={"traces": {"x-key": "k"}}) as service:
        id, token = await service.open()
        await service.tell(id, token, *WHOLE, sizes=[2, 1, 2])
        await send_all(service)
        assert receiver.names == CLOSED
        *steps, root = receiver.spans
        assert {span.parent_span_id for span in steps} == {root.span_id}
        assert len({span.trace_id for span in receiver.spans}) == 1
        scores = receiver.scores()
        assert scores["0 cart"] == 0.1
        assert (scores["1 step_reward"], scores["- episode_reward"]) == (None, None)
        assert {record.span_id for record in receiver.records} <= {
            span.span_id for span in receiver.spans
        }
        assert plain(root.attributes)["gen_ai.conversation.id"] == id
        assert "milestoned.reward" not in plain(root.attributes)
        assert receiver.resources[0] == {"service.name": "milestoned"}
        keys = [headers.get("x-key") for path, headers in receiver.requests]
        assert keys == ["k", None], "a header is of the signal that it is for"
        assert await service.rows("trace_exports") == 0


async def test_a_service_that_is_killed_between_seal_and_export_loses_nothing(
    store: Store, receiver: Receiver
) -> None:
    async with traced(store, receiver) as service:
        id, token = await service.open()
        await service.tell(id, token, *WHOLE)
        assert receiver.spans == []
    async with traced(store, receiver) as service:
        await send_all(service)
        assert receiver.names == CLOSED


@on_sqlite
async def test_what_is_sent_again_after_a_crash_are_the_same_spans(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    async with traced(store, receiver) as service:
        id, token = await service.open()
        await service.tell(id, token, *WHOLE)
        with monkeypatch.context() as patch:
            # The collector has it, and the process ends before that is noted.
            patch.setattr(exporter(service)._exports, "note", die)
            with pytest.raises(asyncio.CancelledError):
                await exporter(service).turn()
        first = [span.SerializeToString(deterministic=True) for span in receiver.spans]
        uids = [plain(record.attributes)["log.record.uid"] for record in receiver.records]
        receiver.spans.clear()
        receiver.records.clear()
    async with traced(store, receiver) as service:
        await send_all(service)
        again = [span.SerializeToString(deterministic=True) for span in receiver.spans]
        assert again == first
        assert [plain(record.attributes)["log.record.uid"] for record in receiver.records] == uids


PROXY_PAGE = Answer(200, "text/html", b"<html>Please log in</html>")
FAULTS: dict[str, Answer | None] = {
    "down": None,
    "busy": Answer(503),
    "too many": Answer(429),
    "wrong key": Answer(401),
    "no such path": Answer(404),
    "elsewhere": Answer(302),
    "slow": Answer(delay_s=1.0),
    "a proxy's page": PROXY_PAGE,
    "no protobuf": Answer(200, "application/x-protobuf", b"\xff\xff\xff\xff"),
    "no JSON": Answer(200, "application/json", b"[1"),
    "a list": Answer(200, "application/json", b"[1]"),
    "endless": Answer(200, "application/x-protobuf", b"\x0a" * 200_000),
}
TIMEOUTS_S = {"slow": 0.5}
"""How long a collector may take to answer, where that is what it is about."""


@on_sqlite
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_collector_with_a_fault_is_in_no_rewards_way_and_loses_nothing(
    store: Store, receiver: Receiver, fault: str
) -> None:
    if store.url and fault not in ("down", "slow"):
        pytest.skip("what a collector answers is the same over both databases")
    async with traced(store, receiver, timeout_s=TIMEOUTS_S.get(fault, 10.0)) as service:
        answer = FAULTS[fault]
        if answer is None:
            receiver.stop()
        else:
            receiver.answers["/v1/traces"] = answer
        id, token = await service.open()
        await service.tell(id, token, *WHOLE)
        began_at = time.monotonic()
        assert (await service.reward(id, 0)).json()["reward"] == 0.1
        assert time.monotonic() - began_at < 5
        with pytest.raises(CollectorDownError):
            await exporter(service).turn()
        assert await service.rows("trace_exports") == 1
        receiver.answers.clear()
        if answer is None:
            receiver.start()
        receiver.spans.clear()
        await send_all(service)
        assert receiver.names == CLOSED


async def test_a_part_that_is_refused_holds_up_no_other_episode(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = receiver.take
    async with traced(store, receiver) as service:
        ids = []
        for _ in range(3):
            id, token = await service.open()
            await service.tell(id, token, *WHOLE)
            ids.append(id)

        def picky(path: str, headers: dict[str, str], body: bytes) -> Answer:
            return Answer(400) if ids[1].encode() in body else taken(path, headers, body)

        receiver.take = picky  # type: ignore[method-assign]
        await send_all(service)
        assert {plain(span.attributes)["milestoned.episode"] for span in receiver.spans} == {
            ids[0],
            ids[2],
        }
        assert await service.rows("trace_exports") == 1
        assert (await service.metrics())['milestoned_trace_parts_total{state="refused"}'] == 1
        receiver.take = taken  # type: ignore[method-assign]

        async def sent() -> bool:
            await send_all(service)
            return await service.rows("trace_exports") == 0

        await eventually(sent)
        assert receiver.names.count("invoke_agent shop/cart") == 3


@on_sqlite
async def test_a_collector_of_spans_alone_gets_them_and_none_waits(
    store: Store, receiver: Receiver
) -> None:
    receiver.answers["/v1/logs"] = Answer(404, "application/json", b'{"detail":"Not Found"}')
    async with traced(store, receiver) as service:
        for _ in range(2):
            id, token = await service.open()
            await service.tell(id, token, *WHOLE)
            await send_all(service)
        assert receiver.names == CLOSED * 2
        assert [path for path, _ in receiver.requests].count("/v1/logs") == 1
        assert plain(receiver.spans[0].attributes)["milestoned.reward"] == 0.1


@on_sqlite
async def test_without_logs_evaluations_are_events_of_their_spans(
    store: Store, receiver: Receiver
) -> None:
    async with traced(store, receiver, logs_url="") as service:
        id, token = await service.open()
        await service.tell(id, token, *WHOLE)
        await send_all(service)
    assert {path for path, _ in receiver.requests} == {"/v1/traces"}
    names = [
        [plain(event.attributes)["gen_ai.evaluation.name"] for event in span.events]
        for span in receiver.spans
    ]
    assert names == [
        ["cart", "step_reward"],
        ["step_reward"],
        ["step_reward", "episode_reward", "episode_success"],
    ]


HEADERS: dict[str, tuple[list[str], str | None]] = {
    "the opener's": ([f"00-{TRACE}-{SPAN}-01"], TRACE),
    "none": ([], None),
    "malformed": (["00-nothing"], None),
    "two": ([f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01"], None),
}


@on_sqlite
@pytest.mark.parametrize("case", HEADERS)
async def test_the_trace_is_the_openers(store: Store, receiver: Receiver, case: str) -> None:
    headers, expected = HEADERS[case]
    async with traced(store, receiver) as service:
        assert (await service.post("/v1/tasks", TASK)).status_code == 201
        sent = [("traceparent", value) for value in headers]
        sent.append(("authorization", "Bearer mt_admin-of-the-tests"))
        opened = await service.http.post("/v1/episodes", json={"task": TASK["id"]}, headers=sent)
        assert opened.status_code == 201, opened.text
        id, token = opened.json()["episode"], opened.json()["token"]
        await service.tell(id, token, *WHOLE)
        await send_all(service)
        root = receiver.spans[-1]
        own = bytes.fromhex(sha256(id.encode())[:32])
        assert root.trace_id == (own if expected is None else bytes.fromhex(expected))
        assert root.parent_span_id == (b"" if expected is None else bytes.fromhex(SPAN))


@on_sqlite
async def test_of_a_trace_that_is_not_sampled_nothing_is_sent(
    store: Store, receiver: Receiver
) -> None:
    async with traced(store, receiver) as service:
        await service.post("/v1/tasks", TASK)
        asked = {"headers": {"traceparent": f"00-{TRACE}-{SPAN}-00"}}
        opened = (await service.post("/v1/episodes", {"task": TASK["id"]}, **asked)).json()
        await service.tell(opened["episode"], opened["token"], *WHOLE)
        await send_all(service)
        assert receiver.requests == []


@on_sqlite
async def test_who_opens_again_with_another_span_gets_the_same_episode_in_the_first_trace(
    store: Store, receiver: Receiver
) -> None:
    """A trainer that retries has a new span for each try."""
    async with traced(store, receiver) as service:
        await service.post("/v1/tasks", TASK)
        ids = set()
        for span in (SPAN, "00f067aa0ba902b7"):
            headers = {"idempotency-key": "once", "traceparent": f"00-{TRACE}-{span}-01"}
            opened = await service.post("/v1/episodes", {"task": TASK["id"]}, headers=headers)
            ids.add(opened.json()["episode"])
        assert len(ids) == 1
        row = await service.app.state.parts.episodes.get(ids.pop())
        assert row.traceparent == f"00-{TRACE}-{SPAN}-01"


class GatedJudge:
    """A judge that answers once it may."""

    name = "judge"

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.traces: list[str | None] = []

    def digest(self, question: Question) -> str:
        """Of the question."""
        return sha256(canonical([question.episode, question.step, question.about]))

    async def ask(self, question: Question) -> Opinion:
        """Say yes, later."""
        self.traces.append(PASSED_ON.get())
        await self.may.wait()
        return Opinion(Verdict("judge", 1.0, 0.9, "the cart is full", "m@1"))

    async def close(self) -> None:
        """Hold nothing."""


async def test_a_step_that_is_asked_about_is_sent_once_it_is_answered_and_what_follows_with_it(
    store: Store, receiver: Receiver
) -> None:
    judge = GatedJudge()
    stages = Stages({"judge": [judge]}, {"model": "off"})  # type: ignore[list-item]
    async with running(store, stages=stages, telemetry=receiver.settings()) as service:
        await exporter(service).periodic.stop()
        assert (await service.post("/v1/tasks", judged_task())).status_code == 201
        asked = {"headers": {"traceparent": f"00-{TRACE}-{SPAN}-01"}}
        opened = (await service.post("/v1/episodes", {"task": "shop/judged"}, **asked)).json()
        id, token = opened["episode"], opened["token"]
        other, other_token = await service.open()
        await service.tell(id, token, *episode([went("/elsewhere")], [went("/cart")]))
        await service.tell(other, other_token, *WHOLE)
        await send_all(service)
        sent = {plain(span.attributes)["milestoned.episode"] for span in receiver.spans}
        assert sent == {other}, "an episode that waits holds up no other"
        await until(lambda: bool(judge.traces))
        assert judge.traces == [f"00-{TRACE}-{SPAN}-01"], "it is asked in the opener's trace"
        judge.may.set()

        async def answered() -> bool:
            return bool((await service.reward(id, 0, wait_ms=5_000)).json()["status"] == "sealed")

        await eventually(answered)
        receiver.records.clear()
        await send_all(service)
        assert receiver.scores()["0 step_reward"] == 0.01
        assert receiver.names[-3:] == [
            "execute_tool step",
            "execute_tool step",
            "invoke_agent shop/judged",
        ]
        judged = plain(receiver.records[1].attributes)
        assert (
            judged["milestoned.reward_decided_by"],
            judged["milestoned.verdict.judge.score"],
        ) == ("judge", 1.0)
        assert "the cart is full" not in str(receiver.records)


@on_sqlite
async def test_a_deleted_episode_is_sent_no_more(store: Store, receiver: Receiver) -> None:
    async with traced(store, receiver) as service:
        id, token = await service.open()
        await service.tell(id, token, *WHOLE)
        gone = await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "asked for"})
        assert gone.status_code == 200
        await send_all(service)
        assert receiver.requests == []


@on_sqlite
async def test_the_service_sends_by_itself(store: Store, receiver: Receiver) -> None:
    async with running(store, telemetry=receiver.settings()) as service:
        id, token = await service.open()
        await service.tell(id, token, *WHOLE)

        async def sent() -> bool:
            return receiver.names == CLOSED

        await eventually(sent)


@on_sqlite
async def test_a_long_episode_goes_in_parts_and_each_step_once(
    store: Store, receiver: Receiver
) -> None:
    steps = [[went("/"), sealed(step)] for step in range(150)]
    async with traced(store, receiver) as service:
        id, token = await service.open()
        await service.tell(id, token, *episode(*steps), sizes=[7] * 60)
        await send_all(service)
    assert len(receiver.spans) == len({span.span_id for span in receiver.spans}) == 151
    numbers = [plain(span.attributes).get("milestoned.step") for span in receiver.spans]
    assert numbers == [*range(150), None]


async def test_replicas_send_each_trace_once(
    store: Store, receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not store.url:
        pytest.skip("a data folder of SQLite's has one service")
    folder = tmp_path_factory.mktemp("replica")
    async with traced(store, receiver) as one, traced(Store(folder, store.url), receiver) as other:
        for _ in range(5):
            id, token = await one.open()
            await one.tell(id, token, *WHOLE)
        await asyncio.gather(send_all(one), send_all(other))
        await send_all(one)
    assert receiver.names.count("invoke_agent shop/cart") == 5


@on_sqlite
async def test_nothing_is_queued_where_nothing_is_sent(store: Store) -> None:
    async with running(store) as service:
        await service.open()
        assert await service.rows("trace_exports") == 0
        assert service.app.state.parts.traces is None
