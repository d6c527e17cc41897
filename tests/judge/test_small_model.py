"""The judge against a real model behind a real server. It judges at chance, so only the protocol is
proved."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from api.stages.judge.answers import SCHEMA, answer_schema, read_answer
from api.stages.judge.ballot import Bill
from api.stages.judge.calibration import JudgeCalibration
from api.stages.judge.prompt import prompt_digest
from tests.judge.serving import MODEL_PYTHON, ROOT, Served, judge_at, serving
from tests.judge.sessions import CRITERIA, session

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MODEL_PYTHON.exists(), reason="make test-all sets .venv-judge up"),
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """SmolLM2-135M-Instruct."""
    command = (str(MODEL_PYTHON), str(ROOT / "tests" / "judge" / "small_model.py"))
    with serving(tmp_path_factory.mktemp("small"), command) as served:
        yield served


async def test_a_real_model_is_asked_and_its_answer_is_read(small: Served) -> None:
    """It holds the schema, so each vote is read and held against the evidence; tokens are
    counted."""
    judge = judge_at(small.url, "smollm2", timeout_s=300.0, retries=0)
    began = time.monotonic()
    opinion = await judge.ask(session(success=True, terminal=False, about="step"))
    took = time.monotonic() - began
    await judge.close()
    record = opinion.record
    print(f"\n{record['calls']} calls, {record['tokens']}, {took:.1f} s: {opinion.verdict.why}")
    assert (record["rung"], opinion.again) == ("json_schema", False)
    assert record["outcome"] in (
        "agreed",
        "disagreed",
        "unclear",
    ), "an unreadable answer would be the server's"
    assert all(set(vote["criteria"]) == {"c1", "c2"} for vote in record["votes"])
    assert record["tokens"]["counted"]
    assert record["tokens"]["in"] > 400


async def test_a_calibration_holds_for_a_real_model(small: Served) -> None:
    """Of a kind of verdict of which nothing is known it is not sure at all, so it decides
    nothing."""
    made = JudgeCalibration("smollm2", prompt_digest("ˆ", SCHEMA), 0.05, (), (), {})
    judge = judge_at(small.url, "smollm2", timeout_s=300.0, retries=0, calibration=made)
    opinion = await judge.ask(session(success=True, terminal=False, about="step"))
    await judge.close()
    assert (opinion.verdict.score, opinion.verdict.confidence) == (None, 0.0)
    assert opinion.record["calibration"] == made.digest


async def test_it_can_look_things_up(small: Served) -> None:
    """Turns are answered in their schema too, and kept."""
    judge = judge_at(small.url, "smollm2", timeout_s=300.0, retries=0, tools=True, turns=1)
    opinion = await judge.ask(session(success=True, terminal=False, about="step"))
    await judge.close()
    assert not opinion.again
    assert [set(turn) for turn in opinion.record["votes"][0]["trace"]] == [
        {"thought", "action", "observation"}
    ]


async def test_each_rung_is_served(small: Served) -> None:
    """The server takes both forms of a schema, and what it writes under either is an answer."""
    judge = judge_at(small.url, "smollm2", timeout_s=300.0, retries=0)
    messages = [
        {"role": "user", "content": "Answer for c1 and c2 that it is unclear, with no evidence."}
    ]
    await judge.endpoint.ask(messages, answer_schema(CRITERIA), Bill().add)
    assert judge.endpoint.way is not None
    for rung in ("json_schema", "json_object+schema"):
        judge.endpoint.way = type(judge.endpoint.way)(rung)  # type: ignore[arg-type]
        reply = await judge.endpoint.ask(messages, answer_schema(CRITERIA), Bill().add)
        assert set(read_answer(reply.text, CRITERIA).votes) == {"c1", "c2"}, rung
    await judge.close()


async def test_a_model_that_is_too_slow_is_no_verdict(small: Served) -> None:
    """A time-out against a real server: nothing is said, and it is asked again later."""
    judge = judge_at(small.url, "smollm2", timeout_s=0.05, retries=1)
    opinion = await judge.ask(session())
    await judge.close()
    assert (opinion.verdict.score, opinion.again) == (None, True)
