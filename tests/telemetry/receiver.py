"""A collector on a loopback port that reads what comes with `opentelemetry-proto`, and can be made
to behave badly."""

from __future__ import annotations

import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from api.core.settings import TelemetrySettings

PROTOBUF = "application/x-protobuf"


class Answer(NamedTuple):
    """What is answered; ``delay_s`` before it."""

    status: int = 200
    media_type: str = PROTOBUF
    body: bytes = b""
    delay_s: float = 0.0


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes as plain values; arrays as lists."""
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind)


class Receiver:
    """Keeps the spans and log records of every request that it took."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.records: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answers: dict[str, Answer] = {}
        """By path, instead of taking it."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append((self.path, headers))
                answer = receiver.answers.get(self.path) or receiver.take(self.path, headers, body)
                time.sleep(answer.delay_s)
                self.send_response(answer.status)
                self.send_header("content-type", answer.media_type)
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing of what is asked."""

        self._handler = Handler
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Read what came, keep it, and say so as OTLP does."""
        assert headers["content-type"] == PROTOBUF
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            for resource in traces.resource_spans:
                self.resources.append(plain(resource.resource.attributes))
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
            return Answer(body=ExportTraceServiceResponse().SerializeToString())
        logs = ExportLogsServiceRequest.FromString(body)
        for resource in logs.resource_logs:
            self.records += [one for scope in resource.scope_logs for one in scope.log_records]
        return Answer(body=ExportLogsServiceResponse().SerializeToString())

    @property
    def names(self) -> list[str]:
        """The names of the spans, as they came."""
        return [span.name for span in self.spans]

    def scores(self) -> dict[str, Any]:
        """The score (None where there is none) of each evaluation, by step and name."""
        found = {}
        for record in self.records:
            values = plain(record.attributes)
            name = f"{values.get('milestoned.step', '-')} {values['gen_ai.evaluation.name']}"
            found[name] = values.get("gen_ai.evaluation.score.value")
        return found

    def settings(self, **more: Any) -> TelemetrySettings:
        """Settings of a service that sends here."""
        base = f"http://127.0.0.1:{self.port}"
        urls = {"traces_url": f"{base}/v1/traces", "logs_url": f"{base}/v1/logs"}
        return TelemetrySettings(**{**urls, "resource": {"service.name": "milestoned"}, **more})

    def start(self) -> None:
        """Listen, on the same port again after `stop`."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections from now on."""
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
