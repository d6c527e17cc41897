"""Traces as messages of OTLP 1.x, in protobuf and as lines of OTLP/JSON. Extra: otel.

The messages are those of the package `opentelemetry-proto`.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Status
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from api.telemetry.attributes import Attributes, Value
from api.telemetry.spans import EpisodeTrace, Evaluation, TraceSpan

EVENT = "gen_ai.evaluation.result"
SCOPE = "milestoned"
_SAMPLED, _PARENT_IS_KNOWN, _PARENT_IS_REMOTE = 0x001, 0x100, 0x200
_IDS = ("traceId", "spanId", "parentSpanId")


def traces_request(
    traces: Iterable[EpisodeTrace], resource: Mapping[str, str], *, with_events: bool
) -> object:
    """Return the spans as an `ExportTraceServiceRequest`. ``with_events``: evaluations are events
    of their spans, for collectors that take no logs."""
    spans: list[SpanMessage] = []
    for trace in traces:
        events: dict[bytes, list[object]] = defaultdict(list)
        if with_events:
            for evaluation in trace.evaluations:
                events[evaluation.span_id].append(_event_message(evaluation))
        spans.extend(
            _span_message(trace.trace_id, span, events[span.span_id]) for span in trace.spans
        )
    scoped = ScopeSpans(scope=_scope(resource), spans=spans)
    return ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=_resource(resource), scope_spans=[scoped])]
    )


def logs_request(traces: Iterable[EpisodeTrace], resource: Mapping[str, str]) -> object:
    """Return the evaluations as an `ExportLogsServiceRequest`."""
    records = [
        LogRecord(
            time_unix_nano=evaluation.at_ns,
            observed_time_unix_nano=evaluation.at_ns,
            severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
            event_name=EVENT,
            trace_id=trace.trace_id,
            span_id=evaluation.span_id,
            flags=_SAMPLED,
            attributes=_attributes({**evaluation.attributes, "log.record.uid": evaluation.uid}),
        )
        for trace in traces
        for evaluation in trace.evaluations
    ]
    scoped = ScopeLogs(scope=_scope(resource), log_records=records)
    return ExportLogsServiceRequest(
        resource_logs=[ResourceLogs(resource=_resource(resource), scope_logs=[scoped])]
    )


def traces_response(body: bytes) -> Any:
    """Return what a collector answered, an `ExportTraceServiceResponse`. Raises `DecodeError`."""
    return ExportTraceServiceResponse.FromString(body)


def logs_response(body: bytes) -> Any:
    """Return what a collector answered, an `ExportLogsServiceResponse`. Raises `DecodeError`."""
    return ExportLogsServiceResponse.FromString(body)


def json_line(message: object) -> bytes:
    """Return a message as OTLP/JSON: ids in hexadecimal digits, enumerations as numbers, 64-bit
    integers as texts (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding)."""
    document = MessageToDict(message, use_integers_for_enums=True)
    _write_ids_in_hex(document)
    return orjson.dumps(document)


def _write_ids_in_hex(value: object) -> None:
    """Rewrite ids from base64 to hex, as OTLP's JSON has them; changes ``value``."""
    if isinstance(value, list):
        for item in value:
            _write_ids_in_hex(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in _IDS and isinstance(item, str):
                value[name] = base64.b64decode(item).hex()
            else:
                _write_ids_in_hex(item)


def _span_message(trace_id: bytes, span: TraceSpan, events: Sequence[Any]) -> SpanMessage:
    """Return a span as a message of OTLP."""
    flags = _SAMPLED | _PARENT_IS_KNOWN
    if span.has_remote_parent:
        flags |= _PARENT_IS_REMOTE
    message = SpanMessage(
        trace_id=trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_id or b"",
        flags=flags,
        name=span.name,
        kind=SpanMessage.SPAN_KIND_INTERNAL,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_attributes(span.attributes),
        events=events,
    )
    if span.error is not None:
        message.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=span.error))
    return message


def _event_message(evaluation: Evaluation) -> object:
    return SpanMessage.Event(
        time_unix_nano=evaluation.at_ns, name=EVENT, attributes=_attributes(evaluation.attributes)
    )


def _resource(attributes: Mapping[str, str]) -> Resource:
    return Resource(attributes=_attributes(attributes))


def _scope(resource: Mapping[str, str]) -> InstrumentationScope:
    return InstrumentationScope(name=SCOPE, version=resource.get("service.version", ""))


def _attributes(attributes: Attributes) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any(value)) for name, value in attributes.items()]


def _any(value: Value) -> AnyValue:
    """Return a value as OTLP's own type has it."""
    if isinstance(value, bool):  # before int, which it is too
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, tuple):
        return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
    return AnyValue(string_value=value)
