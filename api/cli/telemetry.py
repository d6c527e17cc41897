"""Where traces go: options of `milestoned serve`, and the standard variables OTEL_*
(https://opentelemetry.io/docs/specs/otel/protocol/exporter/)."""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated
from urllib.parse import unquote, urlsplit

from cyclopts import Parameter

from api.core.settings import Protocol, TelemetrySettings
from common.command_line import option

_PREFIX = "OTEL_EXPORTER_OTLP_"
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PROTOCOLS: Mapping[str, Protocol] = {"http/protobuf": "http/protobuf", "http/json": "http/json"}
_TRUE = ("true", "1")
MISSING = "opentelemetry-proto is not installed; wanted `pip install 'milestoned[otel]'`"


@Parameter(name="*", group="Traces of OpenTelemetry")
@dataclass(frozen=True, kw_only=True)
class TelemetryOptions:
    """The collector of traces, and whether texts of agent and page go there."""

    otlp: Annotated[
        str,
        option(
            "send each episode's trace to this OTLP/HTTP collector, at /v1/traces and /v1/logs"
            " (default: what OTEL_EXPORTER_OTLP_ENDPOINT names, else nowhere)",
            "URL",
        ),
    ] = ""
    otlp_content: Annotated[
        bool, option("with actions, arguments, results and answers, as they are")
    ] = False

    def settings(self, env: Mapping[str, str]) -> TelemetrySettings:
        """Return them as the service has them. Raises `ValueError` for what can't be used."""
        if env.get("OTEL_SDK_DISABLED", "").lower() == "true" and not self.otlp:
            return TelemetrySettings()
        traces_url, logs_url = (
            _endpoint(self.otlp, env, "traces"),
            _endpoint(self.otlp, env, "logs"),
        )
        if not traces_url:
            return TelemetrySettings()
        if find_spec("opentelemetry") is None or find_spec("opentelemetry.proto") is None:
            if self.otlp:
                raise ValueError(f"--otlp: {MISSING}")
            # The variable may be there for other programs: it must not keep this one from serving.
            return TelemetrySettings(off=f"no traces are sent: {MISSING}")
        return TelemetrySettings(
            traces_url=traces_url,
            logs_url=logs_url,
            headers={
                signal: _pairs(_signal(env, signal, "HEADERS"), f"{_PREFIX}HEADERS")
                for signal in ("traces", "logs")
            },
            protocol=_protocol(_signal(env, "traces", "PROTOCOL")),
            timeout_s=_timeout_s(_signal(env, "traces", "TIMEOUT")),
            gzip=_signal(env, "traces", "COMPRESSION") == "gzip",
            certificate=_certificate(_signal(env, "traces", "CERTIFICATE")),
            resource=resource_of(env),
            content=self.otlp_content or env.get(_CONTENT, "").lower() in _TRUE,
        )


NO_TELEMETRY = TelemetryOptions()


def resource_of(env: Mapping[str, str]) -> dict[str, str]:
    """Return what traces say of this service: OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME. Raises
    `ValueError`."""
    given = _pairs(env.get("OTEL_RESOURCE_ATTRIBUTES", ""), "OTEL_RESOURCE_ATTRIBUTES")
    own = {"service.name": "milestoned", "service.version": version("milestoned")}
    named = {"service.name": name} if (name := env.get("OTEL_SERVICE_NAME")) else {}
    return {**own, **given, **named}


def _signal(env: Mapping[str, str], signal: str, name: str) -> str:
    """Return a variable of one signal, else the one of all signals, else an empty text."""
    return env.get(f"{_PREFIX}{signal.upper()}_{name}") or env.get(f"{_PREFIX}{name}") or ""


def _endpoint(base: str, env: Mapping[str, str], signal: str) -> str:
    """Return the address of one signal, empty where it is not sent."""
    if env.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp") == "none":
        return ""
    if base:
        return f"{_address('--otlp', base).rstrip('/')}/v1/{signal}"
    name = f"{_PREFIX}{signal.upper()}_ENDPOINT"
    if own := env.get(name, ""):
        return _address(name, own)
    name = f"{_PREFIX}ENDPOINT"
    base = env.get(name, "")
    return f"{_address(name, base).rstrip('/')}/v1/{signal}" if base else ""


def _address(name: str, url: str) -> str:
    """Return the address that ``name`` has. Raises `ValueError` where it is none."""
    try:
        place = urlsplit(url)
        is_address = place.scheme in ("http", "https") and bool(place.hostname)
    except ValueError:  # such as of half an IPv6 address
        is_address = False
    if not is_address:
        expected = "an http or https address, such as http://127.0.0.1:4318"
        raise ValueError(f"{name}: expected {expected}, got {url[:200]!r}")
    return url


def _pairs(text: str, name: str) -> dict[str, str]:
    """Return the pairs of ``key=value,key=value``, percent-decoded. Raises `ValueError`."""
    pairs = {}
    for pair in filter(str.strip, text.split(",")):
        key, mark, value = pair.partition("=")
        if not mark or not key.strip():
            raise ValueError(f"{name}: expected KEY=VALUE,KEY=VALUE, got a part without key or =")
        pairs[unquote(key.strip())] = unquote(value.strip())
    return pairs


def _protocol(text: str) -> Protocol:
    """Return the protocol that OpenTelemetry's variable names. Raises ValueError."""
    protocol = _PROTOCOLS.get(text or "http/protobuf")
    if protocol is None:
        expected = " or ".join(_PROTOCOLS)
        raise ValueError(f"{_PREFIX}PROTOCOL: expected {expected}, got {text[:40]!r}")
    return protocol


def _timeout_s(text: str) -> float:
    """Read a time limit in milliseconds, 10 seconds by default. Raises `ValueError`."""
    try:
        milliseconds = float(text or "10000")
    except ValueError:
        milliseconds = math.nan
    if not 0 < milliseconds <= 600_000:
        raise ValueError(
            f"{_PREFIX}TIMEOUT: expected milliseconds, at most 600000, got {text[:40]!r}"
        )
    return milliseconds / 1_000


def _certificate(text: str) -> str:
    """Return the file of trusted authorities. Raises `ValueError` where it is none."""
    try:
        ssl.create_default_context(cafile=text or None)
    except OSError:
        raise ValueError(
            f"{_PREFIX}CERTIFICATE: expected a file of certificates, got {text[:200]!r}"
        ) from None
    return text
