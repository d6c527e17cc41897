"""A scripted endpoint that judges over HTTP, as a process: `python -m tests.cascade.endpoint
PORTFILE`.

POST /ask answers with what POST /script said last, after as many milliseconds; while it says
``hold``, not at all. It bills an Idempotency-Key once, when it has answered. GET /bills tells what
it billed, GET /calls how many came in.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tests.cascade.listening import listen

SCRIPT: dict[str, Any] = {
    "status": 200,
    "answer": {"score": 1.0, "confidence": 0.9, "cost": 0.01},
    "ms": 0,
    "hold": False,
}
BILLS: dict[str, int] = {}
CALLS = {"came": 0, "now": 0, "most": 0}


def told(value: Any) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")


async def ask(request: Request) -> Response:
    """One question."""
    try:
        await request.body()
    except ClientDisconnect:
        return Response(status_code=499)  # who asked has ended meanwhile
    CALLS["came"] += 1
    CALLS["now"] += 1
    CALLS["most"] = max(CALLS["most"], CALLS["now"])
    try:
        if SCRIPT["ms"]:
            await asyncio.sleep(SCRIPT["ms"] / 1000)
        while SCRIPT["hold"]:
            await asyncio.sleep(0.01)
            if await request.is_disconnected():
                return Response(status_code=499)
    finally:
        CALLS["now"] -= 1
    key = request.headers.get("idempotency-key", "")
    BILLS[key] = BILLS.get(key, 0) or 1
    text = SCRIPT.get("text")
    body = orjson.dumps(SCRIPT["answer"]) if text is None else text.encode()
    return Response(body, SCRIPT["status"], media_type="application/json")


async def script(request: Request) -> Response:
    """What to answer from now on."""
    SCRIPT.update(orjson.loads(await request.body()))
    return told(SCRIPT)


async def bills(request: Request) -> Response:
    """What was billed."""
    return told(BILLS)


async def calls(request: Request) -> Response:
    """How many calls came, and how many of them at once."""
    return told(CALLS)


ROUTES = [
    Route("/ask", ask, methods=["POST"]),
    Route("/script", script, methods=["POST"]),
    Route("/bills", bills),
    Route("/calls", calls),
]


if __name__ == "__main__":
    listen(Starlette(routes=ROUTES), Path(sys.argv[1]))
