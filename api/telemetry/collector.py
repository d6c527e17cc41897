"""Sends traces to a collector by OTLP/HTTP, and takes no answer on trust."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
import orjson
import structlog
from google.protobuf.message import DecodeError

from api.core.settings import TelemetrySettings
from api.telemetry.otlp import (
    json_line,
    logs_request,
    logs_response,
    traces_request,
    traces_response,
)
from api.telemetry.spans import EpisodeTrace
from common.plain_answers import ASYNC_HOOKS, HEADERS
from detectors.model.safe_json import mapping

MAX_ANSWER = 64 * 1024
"""Bytes of an answer that are read."""
_DOWN = (401, 403, 404, 405, 408, 429, 502, 503, 504)
"""Statuses that say nothing of what was sent: the same can be taken later."""
_NO_SUCH_SIGNAL = (404, 405, 501)
Signal = Literal["traces", "logs"]
log = structlog.get_logger(__name__)


class CollectorDownError(Exception):
    """The collector takes nothing now; all of it is sent again later."""


class TraceRefusedError(Exception):
    """The collector refused what was sent; other parts of traces may go."""


class Collector:
    """One collector, over connections that are kept open."""

    def __init__(self, settings: TelemetrySettings) -> None:
        self._settings = settings
        self._takes_logs = bool(settings.logs_url)
        trusted = ssl.create_default_context(cafile=settings.certificate or None)
        self._client = httpx.AsyncClient(
            timeout=settings.timeout_s,
            trust_env=False,
            verify=trusted,
            headers=HEADERS,
            event_hooks=ASYNC_HOOKS,
        )

    async def send(self, traces: Sequence[EpisodeTrace]) -> None:
        """Send parts of traces; they are the collector's once this returns.

        A collector that takes spans and knows no logs gets spans alone from then on. Raises
        `CollectorDownError`, `TraceRefusedError`.
        """
        settings = self._settings
        with_events = not settings.logs_url
        if any(trace.spans for trace in traces):
            request = traces_request(traces, settings.resource, with_events=with_events)
            await self._post("traces", settings.traces_url, request)
        if self._takes_logs and any(trace.evaluations for trace in traces):
            await self._post("logs", settings.logs_url, logs_request(traces, settings.resource))

    async def close(self) -> None:
        """Close the connections that are kept open."""
        await self._client.aclose()

    async def _post(self, signal: Signal, url: str, request: object) -> None:
        """Post to the collector, and read what it refused; one without logs is asked for none any
        more. Raises `CollectorDownError`."""
        place = urlsplit(url)
        where = f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                status, media_type, body = await self._exchange(signal, url, request)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            # A time limit is an OSError too.
            raise CollectorDownError(f"{where}: {str(error) or type(error).__name__}") from error
        if signal == "logs" and status in _NO_SUCH_SIGNAL:
            self._takes_logs = False
            log.warning(
                "The collector takes no logs: evaluations are sent as attributes of spans alone."
                " With OTEL_LOGS_EXPORTER=none they are events of spans.",
                where=where,
                status=status,
            )
            return
        if 200 <= status < 300:
            self._read_answer(signal, where, media_type, body)
            return
        why = f"{where}: expected 2xx, got {status}"
        if status in _DOWN or 300 <= status < 400:
            raise CollectorDownError(why)
        raise TraceRefusedError(why)

    async def _exchange(self, signal: Signal, url: str, request: Any) -> tuple[int, str, bytes]:
        """Return status, media type and the beginning of the body of the answer."""
        settings = self._settings
        if settings.protocol == "http/json":
            content, media_type = json_line(request), "application/json"
        else:
            content, media_type = request.SerializeToString(), "application/x-protobuf"
        headers = {**settings.headers.get(signal, {}), "content-type": media_type}
        if settings.gzip:
            content = await asyncio.to_thread(gzip.compress, content)
            headers["content-encoding"] = "gzip"
        async with self._client.stream("POST", url, content=content, headers=headers) as answer:
            body = b""
            async for part in answer.aiter_raw():
                body += part
                if len(body) > MAX_ANSWER:
                    break
            answered = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            return answer.status_code, answered, body

    def _read_answer(self, signal: Signal, where: str, media_type: str, body: bytes) -> None:
        """Read what was taken. An answer that is none of OTLP's comes from something else, such as
        a proxy's page. Raises `CollectorDownError`."""
        rejected, message = 0, ""
        try:
            if media_type == "application/json":
                rejected, message = _read_json(signal, body)
            elif body or media_type not in ("", "text/plain"):
                rejected, message = _read_protobuf(signal, media_type, body)
        except (ValueError, TypeError, AttributeError, DecodeError) as error:
            raise CollectorDownError(
                f"{where}: expected an answer of OTLP, got something else: {str(error)[:200]}"
            ) from error
        if rejected or message:
            log.warning(
                "The collector took not all of a trace; it is not sent again.",
                where=where,
                rejected=rejected,
                why=message[:500],
            )


def _read_json(signal: Signal, body: bytes) -> tuple[int, str]:
    """Return how many items a collector rejected, and why. Raises for what is no answer of OTLP."""
    partial = mapping(orjson.loads(body or b"{}").get("partialSuccess"))
    rejected = partial.get("rejectedSpans" if signal == "traces" else "rejectedLogRecords")
    return int(rejected or 0), str(partial.get("errorMessage", ""))


def _read_protobuf(signal: Signal, media_type: str, body: bytes) -> tuple[int, str]:
    """Return the same of an answer in Protobuf. Raises likewise."""
    if media_type != "application/x-protobuf":
        raise ValueError(f"content-type: got {media_type[:80]!r}")
    if signal == "traces":
        spans = traces_response(body).partial_success
        return spans.rejected_spans, spans.error_message
    records = logs_response(body).partial_success
    return records.rejected_log_records, records.error_message
