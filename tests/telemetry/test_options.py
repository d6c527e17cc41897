"""Where traces go: the options of `serve` and the standard variables, and how what is wrong is
refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from api.cli import telemetry
from api.cli.main import main
from api.cli.telemetry import TelemetryOptions

BASE = "http://collector:4318"
URLS: dict[str, tuple[str, dict[str, str], tuple[str, str]]] = {
    "nowhere": ("", {}, ("", "")),
    "the option": (BASE, {}, (f"{BASE}/v1/traces", f"{BASE}/v1/logs")),
    "a path before it": (f"{BASE}/otel/", {}, (f"{BASE}/otel/v1/traces", f"{BASE}/otel/v1/logs")),
    "the variable": (
        "",
        {"OTEL_EXPORTER_OTLP_ENDPOINT": BASE},
        (f"{BASE}/v1/traces", f"{BASE}/v1/logs"),
    ),
    "a signal's own, as it is": (
        "",
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{BASE}/t"},
        (f"{BASE}/t", ""),
    ),
    "the option before the variables": (
        BASE,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://y"},
        (f"{BASE}/v1/traces", f"{BASE}/v1/logs"),
    ),
    "no logs": (BASE, {"OTEL_LOGS_EXPORTER": "none"}, (f"{BASE}/v1/traces", "")),
    "no traces": (
        "",
        {"OTEL_EXPORTER_OTLP_ENDPOINT": BASE, "OTEL_TRACES_EXPORTER": "none"},
        ("", ""),
    ),
    "off": ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": BASE, "OTEL_SDK_DISABLED": "true"}, ("", "")),
}


@pytest.mark.parametrize("case", URLS.values(), ids=URLS)
def test_where_traces_go(case: tuple[str, Mapping[str, str], tuple[str, str]]) -> None:
    option, env, expected = case
    settings = TelemetryOptions(otlp=option).settings(env)
    assert (settings.traces_url, settings.logs_url) == expected


def test_what_else_the_variables_say() -> None:
    env = {
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic%20abc, x-a = 1",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-mlflow-experiment-id=0",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
        "OTEL_SERVICE_NAME": "rewards",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=lab,service.name=x",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
    }
    settings = TelemetryOptions(otlp=BASE).settings(env)
    assert settings.headers == {
        "traces": {"x-mlflow-experiment-id": "0"},
        "logs": {"authorization": "Basic abc", "x-a": "1"},
    }
    assert (settings.timeout_s, settings.gzip, settings.protocol) == (2.5, True, "http/json")
    assert settings.content
    assert settings.resource["service.name"] == "rewards"
    assert settings.resource["deployment.environment.name"] == "lab"
    assert "Basic abc" not in repr(settings), "a key is in no log"


WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "no address": ("collector:4318", {}, "--otlp: expected an http or https address, such as http://127.0.0.1:4318, got 'collector:4318'"),
    "half an address": ("http://[::1", {}, "--otlp: expected an http or https address"),
    "no address in the variable": ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector"}, "OTEL_EXPORTER_OTLP_ENDPOINT: expected an http"),
    "another protocol": (BASE, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "expected http/protobuf or http/json, got 'grpc'"),
    "no time": (BASE, {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "expected milliseconds"),
    "no pairs": (BASE, {"OTEL_EXPORTER_OTLP_HEADERS": "secret-without-equals"}, "expected KEY=VALUE"),
    "no authority": (BASE, {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere/ca.pem"}, "OTEL_EXPORTER_OTLP_CERTIFICATE: expected a file of certificates, got '/nowhere/ca.pem'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_before_anything_starts(
    case: tuple[str, Mapping[str, str], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    option, env, message = case
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(["serve", "--otlp", option, "--port", "0"]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "secret-without-equals" not in printed


def test_without_the_extra_the_option_is_refused_and_the_variable_is_said_to_do_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(telemetry, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"--otlp: .*pip install 'milestoned\[otel\]'"):
        TelemetryOptions(otlp=BASE).settings({})
    settings = TelemetryOptions().settings({"OTEL_EXPORTER_OTLP_ENDPOINT": BASE})
    assert settings.traces_url == ""
    assert "no traces are sent" in settings.off
