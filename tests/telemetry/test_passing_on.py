"""The daemon passes on the trace that it was started in, with each request to the service."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agentd.core.settings import RunSettings
from agentd.run.daemon import _service

HEADER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.slow_where("upper case")
@pytest.mark.slow_where("none")
@pytest.mark.parametrize(
    ("variable", "expected"),
    [(HEADER, HEADER), (None, None), ("00-nothing", None), (HEADER.upper(), None)],
    ids=["a trace", "none", "malformed", "upper case"],
)
async def test_each_request_of_the_daemon_is_in_its_trace(
    variable: str | None, expected: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if variable is None:
        monkeypatch.delenv("TRACEPARENT", raising=False)
    else:
        monkeypatch.setenv("TRACEPARENT", variable)
    found: list[str | None] = []

    async def keep(request: Request) -> JSONResponse:
        found.append(request.headers.get("traceparent"))
        return JSONResponse({})

    paths = ("/v1/episodes/e1/plan", "/v1/episodes/e1/events")
    app = Starlette(routes=[Route(path, keep, methods=["GET", "POST"]) for path in paths])
    file = tmp_path / "token"
    file.write_text("append-token")
    settings = RunSettings(
        service="http://service.test", episode="e1", state=tmp_path, token_file=file
    )
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=settings.service) as client:
        service = _service(settings, client, None)
        await service.get("/plan")
        await service.post_segment(b"", 0)
    assert found == [expected, expected]
