"""What a daemon takes for its fleet's word, and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from agentd.core.settings import JoinSettings
from agentd.fleet.membership import Membership

SETTINGS = JoinSettings(service="http://service", token_file=Path("token"), state=Path("state"))


class Gate:
    """A service behind a network's sign-in page or a proxy: every second request is answered by
    that."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.asked: list[dict[str, Any]] = []
        self.app = Starlette(
            routes=[Route("/v1/sandboxes{rest:path}", self.answer, methods=["POST"])]
        )

    async def answer(self, request: Request) -> Response:
        self.asked.append(await request.json())
        if len(self.asked) % 2:
            return HTMLResponse("<html>Sign in to the guest network", self.status)
        return JSONResponse({"sandbox": "sb_1", "lease": None, "beat_s": 2, "given_up": None})


@pytest.mark.parametrize("status", [200, 401, 403, 404, 413, 422, 502])
async def test_a_page_in_the_services_place_is_no_answer(status: int) -> None:
    """It is asked again, with the same words."""
    gate = Gate(status)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(gate.app), base_url="http://fleet"
    ) as client:
        membership = Membership(client, "token", "instance", SETTINGS)
        assert (await membership.register()).beat_s == 2.0
        assert (await membership.beat(on="ep_1", through=7)).lease is None
    assert gate.asked[0] == gate.asked[1]
    assert gate.asked[2] == gate.asked[3]
    assert gate.asked[3]["through"] == 7
