"""`milestoned export --form otlp`: lines that the messages of `opentelemetry-proto` read back."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from api.cli.main import main
from tests.api.service import TASK
from tests.rescoring.corpus import record, written

IDS = ("traceId", "spanId", "parentSpanId")


def export(*arguments: object) -> int:
    return main(["export", *map(str, arguments), "--form", "otlp"])


def to_base64(value: Any) -> Any:
    """OTLP/JSON with its ids as protobuf's own JSON has them."""
    if isinstance(value, list):
        return [to_base64(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64encode(bytes.fromhex(item)).decode() if name in IDS else to_base64(item)
        for name, item in value.items()
    }


def read(file: Path, message: Any) -> list[Any]:
    lines = file.read_bytes().splitlines()
    return [ParseDict(to_base64(orjson.loads(line)), message()) for line in lines]


def values(attributes: Any) -> dict[str, Any]:
    """The plain attributes of a span or record."""
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value"))
        for one in attributes
        if one.value.WhichOneof("value") != "array_value"
    }


def test_recordings_become_lines_that_opentelemetrys_own_messages_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, task = record(tmp_path / "corpus", 7), written(tmp_path / "task.yaml", TASK)
    out = tmp_path / "out"
    assert export(corpus, "--task", task, "--out", out, "--opened-at", "2026-11-25T21:20:00Z") == 0
    assert "7 traces, 28 spans, " in capsys.readouterr().out
    traces = read(out / "traces.jsonl", ExportTraceServiceRequest)
    logs = read(out / "logs.jsonl", ExportLogsServiceRequest)
    assert (len(traces), len(logs)) == (7, 7)
    spans = [list(line.resource_spans[0].scope_spans[0].spans) for line in traces]
    assert {span.trace_id for line in spans for span in line} != {b""}
    assert len({span.trace_id for line in spans for span in line}) == 7
    root = spans[0][-1]
    assert (root.name, root.start_time_unix_nano) == ("invoke_agent shop/cart", 1795641600 * 10**9)
    assert {span.parent_span_id for span in spans[0][:-1]} == {root.span_id}
    records = [list(line.resource_logs[0].scope_logs[0].log_records) for line in logs]
    assert {one.event_name for line in records for one in line} == {"gen_ai.evaluation.result"}
    # The seventh is blind from its second step on.
    evaluated = [[values(one.attributes) for one in line] for line in records]
    (blind,) = [line for line in evaluated if line[0]["milestoned.episode"] == "ep_00006"]
    unknown = [one for one in blind if one.get("error.type") == "unobserved"]
    assert unknown
    assert all("gen_ai.evaluation.score.value" not in one for one in unknown)
    assert all(one["gen_ai.evaluation.explanation"] for one in unknown[:2])
    assert all(isinstance(one["gen_ai.evaluation.score.value"], float) for one in evaluated[0])


def test_the_same_recordings_give_the_same_bytes(tmp_path: Path) -> None:
    corpus, task = record(tmp_path / "corpus", 2), written(tmp_path / "task.yaml", TASK)
    for name in ("a", "b"):
        assert export(corpus, "--task", task, "--out", tmp_path / name) == 0
    for file in ("traces.jsonl", "logs.jsonl"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--form", "tables", "--content"], "--content: got it with --form tables"),
        (
            ["--form", "sft", "--opened-at", "2026-01-01T00:00:00Z"],
            "--opened-at: got 2026-01-01T00:00:00Z with --form sft",
        ),
        (["--form", "otlp", "--opened-at", "yesterday"], "expected a time such as"),
        (["--form", "otlp", "--opened-at", "2026-01-01T00:00:00"], "expected a time such as"),
        (["--form", "otlp", "--gamma", "0.1", "--gamma", "1"], "--gamma: got 2 values"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "missing.mrec", "--out", str(tmp_path), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_bad_recording_leaves_no_half_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, task = record(tmp_path / "corpus", 2), written(tmp_path / "task.yaml", TASK)
    last = sorted(corpus.rglob("*.mrec"))[-1]
    last.write_bytes(last.read_bytes()[:-20])
    assert export(corpus, "--task", task, "--out", tmp_path / "out") == 2
    assert last.name in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
