"""Whatever stands in a path, a query or a body at the control port: no 500, and the journal can be
read back.

Each route is in the table, with a body that it takes; a route that is not fails the test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from agentd.session.control_port import Health, make_app
from tests.agentd.support.sight import Sight
from tests.agentd.test_steps import Stage
from tests.support.hostile_values import IN_ADDRESSES, IN_JSON

BODIES: dict[tuple[str, str], dict[str, Any] | None] = {
    ("POST", "/v1/steps"): {"step": 0, "action": {"click": "x"}},
    ("POST", "/v1/steps/{step}:end"): {},
    ("POST", "/v1/answers"): {"text": "a"},
    ("POST", "/v1/tools:call"): {"call": "c", "tool": "t", "arguments": {}},
    ("POST", "/v1/tools:return"): {"call": "c", "ok": True, "result": None, "error": None},
    ("POST", "/v1/close"): {"reason": "done", "truncated": False},
    ("GET", "/v1/ready"): None,
    ("GET", "/healthz"): None,
}


class Sent(NamedTuple):
    """A request; ``path`` as it stands in the address."""

    method: str
    path: str
    body: bytes = b""


def requests() -> Iterator[Sent]:
    for (method, route), body in BODIES.items():
        path, plain = (
            route.replace("{step}", "0"),
            b"" if body is None else json.dumps(body).encode(),
        )
        for text in IN_ADDRESSES.values():
            yield Sent(method, f"{path}?wait_ms={text}", plain)
            yield Sent(method, f"{path}?wait={text}&{text}={text}", plain)
            if "{" in route:
                yield Sent(method, route.replace("{step}", text), plain)
        for text in () if body is None else IN_JSON.values():
            yield Sent(method, path, text.encode())
            yield Sent(method, path, f'{{"x": {text}}}'.encode())
            for member in body or ():
                yield Sent(
                    method,
                    path,
                    json.dumps({**(body or {}), member: "@"}).replace('"@"', text).encode(),
                )
        yield from (
            Sent(method, path, raw) for raw in (b"", b"\x00", b"\xff\xfe", plain[:-1], b'"')
        )


def test_every_route_is_in_the_table(tmp_path: Path) -> None:
    app = make_app(Stage(tmp_path).conductor, "word", Health(dict, Sight()))
    there = {(method, route.path) for route in app.routes for method in route.methods}  # type: ignore[attr-defined]
    assert {one for one in there if one[0] != "HEAD"} == set(BODIES)


async def test_nothing_that_is_sent_is_a_fault_of_the_daemon(tmp_path: Path) -> None:
    """Closed and opened anew often enough that a close by the way does not hide the rest."""
    faults = []
    for number, sent in enumerate(requests()):
        if number % 20 == 0:
            (tmp_path / str(number)).mkdir()
            stage = Stage(tmp_path / str(number))
            app = make_app(stage.conductor, "word", Health(dict, Sight()))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            await stage.conductor.begin(0)
        async with httpx.AsyncClient(
            transport=transport, headers={"authorization": "Bearer word"}
        ) as client:
            answer = await client.request(
                sent.method, f"http://port{sent.path}", content=sent.body, timeout=30
            )
        if answer.status_code >= 500:
            faults.append(f"{answer.status_code} {sent.method} {sent.path[:80]} {sent.body[:80]!r}")
        for row in stage.recorder.journal.rows("steps"):
            json.loads(json.dumps(row), parse_constant=_refuse)
            json.dumps(row, ensure_ascii=False).encode()
    assert not faults, "\n".join(faults)


def _refuse(text: str) -> Any:
    raise ValueError(text)


@pytest.mark.parametrize("text", ["NaN", "1e999", "Infinity", "9" * 5_000, r'"\ud800"'])
async def test_a_number_or_text_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    """As at the service, and with the field: what the journal kept would be another."""
    app = make_app(Stage(tmp_path).conductor, "word", Health(dict, Sight()))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, headers={"authorization": "Bearer word"}
    ) as client:
        for path, body in (
            ("/v1/steps", f'{{"action": {{"x": [{text}]}}}}'),
            ("/v1/tools:call", f'{{"call": "c", "tool": "t", "arguments": {{"x": {text}}}}}'),
            ("/v1/tools:return", f'{{"call": "c", "ok": true, "result": {text}}}'),
        ):
            answer = await client.post(f"http://port{path}", content=body.encode())
            assert answer.status_code in (400, 422), (path, answer.text)
