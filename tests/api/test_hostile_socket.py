"""Whatever a harness sends over OpenEnv's socket: an error frame, or the socket's end; never a
fault of the service."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.api.service import ADMIN, TASK, Service
from tests.support.hostile_values import IN_JSON

MESSAGES: dict[str, str] = {
    "type": '{{"type": {0}}}',
    "data": '{{"type": "reset", "data": {0}}}',
    "episode": '{{"type": "reset", "data": {{"episode_id": {0}}}}}',
    "task": '{{"type": "reset", "data": {{"task_id": {0}}}}}',
    "seed": '{{"type": "reset", "data": {{"task_id": "shop/cart", "seed": {0}}}}}',
    "action": '{{"type": "step", "data": {{"action": {0}}}}}',
    "step": '{{"type": "step", "data": {{"action": {{"step": {0}}}}}}}',
    "answer": '{{"type": "step", "data": {{"action": {{"answer": {0}}}}}}}',
    "more": '{{"type": "step", "data": {{"action": {{"x": {0}}}}}}}',
    "whole": "{0}",
}
RAW: dict[str, dict[str, Any]] = {
    "bytes": {"bytes": b'{"type": "state"}'},
    "no text": {"text": ""},
    "NUL": {"text": "\0"},
    "half a message": {"text": '{"type": '},
}


async def spoken(service: Service, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """What the socket sends for these messages, one after the other; raises what the application
    raises."""
    scope = {
        "type": "websocket", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "ws",
        "path": "/openenv/ws", "raw_path": b"/openenv/ws", "root_path": "", "query_string": b"", "subprotocols": [],
        "headers": [(b"host", b"service.test"), (b"authorization", f"Bearer {ADMIN}".encode())],
        "client": ("127.0.0.1", 1), "server": ("service.test", 80), "state": {},
    }  # fmt: skip
    given = [
        {"type": "websocket.connect"},
        *({"type": "websocket.receive", **one} for one in messages),
    ]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return given.pop(0) if given else {"type": "websocket.disconnect", "code": 1000}

    async def send(message: Any) -> None:
        sent.append(message)

    async with asyncio.timeout(60):
        await service.app(scope, receive, send)
    return sent


@pytest.mark.parametrize("where", MESSAGES)
async def test_a_hostile_value_is_an_error_frame(service: Service, where: str) -> None:
    await service.post("/v1/tasks", TASK)
    for what, text in IN_JSON.items():
        message = {"text": MESSAGES[where].format(text)}
        accepted, *told = await spoken(service, message, {"text": '{"type": "state"}'})
        assert accepted["type"] == "websocket.accept"
        frames = [json.loads(one["text"]) for one in told if one["type"] == "websocket.send"]
        assert [one["type"] for one in frames][-1:] == ["state"], (what, told)
        assert len(frames) == 2, (what, told)


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW)
async def test_what_is_no_message_is_answered_and_the_session_goes_on(
    service: Service, raw: dict[str, Any]
) -> None:
    _, *told = await spoken(service, raw, {"text": '{"type": "state"}'})
    kinds = [json.loads(one["text"])["type"] for one in told if one["type"] == "websocket.send"]
    assert kinds == ["error", "state"]
