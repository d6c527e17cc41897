"""A proxy of an environment server of the Open Reward Standard that fills in milestoned's rewards.

Everything passes as it is but the answers of tool calls: each call is a step of the session's
episode, and its reward is filled in. The proxy keeps nothing: when it dies, the upstream still has
the call's answer under its `task_id`, and whoever comes back with that gets it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Literal

import httpx
import structlog

from api.ors.bracket import StepBrackets, StepPay
from api.ors.streaming import PING_S, encode_event, split_chunks
from detectors.model.json_value import object_or_empty
from detectors.model.rewards import total

Mode = Literal["fill", "add", "replace"]
"""``fill``: where the upstream's reward is null; ``add``: to it; ``replace``: in its place."""
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
MAX_BODY = 16 * 1024 * 1024
_PING = b": ping\r\n\r\n"
_HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
_FOLLOWED = (["create"], ["delete"])
"""Paths after which a session's episode is opened or closed."""
log = structlog.get_logger(__name__)


class OrsProxy:
    """The proxy as an ASGI application."""

    def __init__(self, upstream: httpx.AsyncClient, brackets: StepBrackets, mode: Mode) -> None:
        self._upstream, self._brackets, self._mode = upstream, brackets, mode

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on; a call of a tool becomes a step, and what opens or closes a session an
        episode."""
        if scope["type"] != "http":
            raise RuntimeError(f"scope: expected http, got {scope['type']}")
        body = await _read(receive)
        if body is None:
            detail = f"body: expected at most {MAX_BODY} bytes, got more"
            await _answer(send, 413, json.dumps({"detail": detail}).encode())
            return
        is_started = False

        async def send_noted(message: MutableMapping[str, Any]) -> None:
            nonlocal is_started
            is_started = True
            await send(message)

        headers = dict(scope["headers"])
        sid = headers.get(b"x-session-id", b"").decode("latin-1").strip()
        parts = scope["path"].strip("/").split("/")
        try:
            if sid and scope["method"] == "POST" and len(parts) > 1 and parts[-1] == "call":
                await self._call(scope, body, sid, send_noted)
            else:
                followed = sid if parts in _FOLLOWED else ""
                await self._pass(scope, body, send_noted, followed, parts)
        except httpx.HTTPError as error:
            if is_started:
                raise  # the connection is cut: half an answer does not pass for a whole one
            log.warning("The upstream did not answer.", path=scope["path"], why=str(error))
            detail = f"the upstream could not be asked: {type(error).__name__} {error}"
            await _answer(send, 502, json.dumps({"detail": detail}).encode())

    async def _pass(
        self, scope: dict[str, Any], body: bytes, send: Send, sid: str, parts: list[str]
    ) -> None:
        """Pass a request and its answer on; ``sid``: the session that it creates or deletes."""
        async with self._ask(scope, body) as answer:
            if sid and answer.is_success:
                await self._follow(sid, parts)
            await _start(send, answer)
            async for part in answer.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _follow(self, sid: str, parts: list[str]) -> None:
        """Open or close the episode of a session; where that fails the session goes on without."""
        if parts == ["delete"]:
            await self._brackets.close(sid)
            return
        try:
            await self._brackets.open(sid)
        except httpx.HTTPError as error:
            log.warning("An episode could not be opened.", session=sid, why=str(error))

    async def _call(self, scope: dict[str, Any], body: bytes, sid: str, send: Send) -> None:
        """Pass a tool call on within a step, and its answer with the step's reward."""
        request = _object(body)
        if request.get("task_id") is None:
            action = {"tool": request.get("name"), "arguments": request.get("input")}
            await self._brackets.begin(sid, action)
        async with self._ask(scope, body) as answer:
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                content = await answer.aread()
                await _start(send, answer)
                await send({"type": "http.response.body", "body": content})
                return
            await _start(send, answer)
            try:
                async for part in self._rewrite(sid, answer):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            except httpx.HTTPError as error:
                log.warning("The upstream's stream was cut.", session=sid, why=str(error))
        await send({"type": "http.response.body", "body": b""})

    async def _rewrite(self, sid: str, answer: httpx.Response) -> AsyncIterator[bytes]:
        """Return the stream of a call, its result with the reward of the step."""
        chunks: list[str] = []
        async for name, data in _events(answer):
            if name == "":
                yield _PING
            elif name in ("chunk", "end"):
                chunks.append(data)
            else:
                yield encode_event(name, data)
            if name == "error":
                await self._brackets.end(sid, is_last=False)
            if name == "end":
                task = asyncio.ensure_future(self._patch(sid, "".join(chunks)))
                while not task.done():
                    await asyncio.wait({task}, timeout=PING_S)
                    if not task.done():
                        yield _PING
                *before, last = list(split_chunks(task.result())) or [""]
                for chunk in before:
                    yield encode_event("chunk", chunk)
                yield encode_event("end", last)

    async def _patch(self, sid: str, text: str) -> str:
        """Return a call's result with the reward of its step; one that is none as it is."""
        result = _object(text.encode())
        output = result.get("output")
        is_output = isinstance(output, dict)
        is_last = isinstance(output, dict) and output.get("finished") is True
        pay = await self._brackets.end(sid, is_last=is_last)
        if not is_output:
            return text
        assert isinstance(output, dict)
        return json.dumps(
            {**result, "output": pay_output(output, pay, self._mode)},
            ensure_ascii=False,
            separators=(",", ":"),
        )

    def _ask(self, scope: dict[str, Any], body: bytes) -> Any:
        """Ask the server behind, without headers that are of the connection alone."""
        headers = [
            (name, value)
            for name, value in scope["headers"]
            if name not in _HOP_BY_HOP and name not in (b"host", b"accept-encoding")
        ]
        headers.append((b"accept-encoding", b"identity"))
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        url = path + (f"?{query}" if query else "")
        return self._upstream.stream(scope["method"], url, headers=headers, content=body)


def pay_output(output: dict[str, Any], pay: StepPay, mode: Mode) -> dict[str, Any]:
    """Return a tool's output with the reward that ``mode`` says, and ours in its metadata.

    What is not known adds nothing: with ``add`` the reward is then null, and the upstream's stands
    in the metadata.
    """
    theirs = output.get("reward")
    metadata = object_or_empty(output.get("metadata"))
    ours = {**pay.metadata, "reward": pay.reward, "upstream_reward": theirs}
    return {
        **output,
        "reward": _combine(theirs, pay.reward, mode),
        "metadata": {**metadata, "milestoned": ours},
    }


def _combine(theirs: Any, ours: float | None, mode: Mode) -> Any:
    """Return the reward that is passed on, of the upstream's and ours."""
    if mode == "replace":
        return ours
    if mode == "fill":
        return ours if theirs is None else theirs
    if theirs is None or ours is None:
        return ours
    return total((theirs, ours))


async def _events(answer: httpx.Response) -> AsyncIterator[tuple[str, str]]:
    """Yield (event, data) of a stream; a comment, which keeps it alive, as an empty event."""
    name = ""
    data: list[str] = []
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            yield "", ""
        elif not line:
            if name:
                yield name, "\n".join(data)
            name, data = "", []
        else:
            field, _, value = line.partition(":")
            if field == "event":
                name = value.strip()
            elif field == "data":
                data.append(value.removeprefix(" "))


def _object(body: bytes) -> dict[str, Any]:
    """Return a body as an object, an empty one for what is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


async def _read(receive: Receive) -> bytes | None:
    """Return a request's body, None where it is too large."""
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


async def _start(send: Send, answer: httpx.Response) -> None:
    headers = [
        (name.lower(), value)
        for name, value in answer.headers.raw
        if name.lower() not in _HOP_BY_HOP
    ]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
