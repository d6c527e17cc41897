"""slime's remote reward model, written again from what its source does (it is not on PyPI): one
session for all, 64 connections, a bare number in the body, ten attempts with growing pauses.

Its limit of 120 s includes the wait for a connection, of which 512 samples have 64: so 15 s is what
a sample may take, and here each one has no more than that for all of it.
"""

from __future__ import annotations

import asyncio
import random
import sys
from typing import Any

import aiohttp

from tests.trainers.harness.say import ADDRESS, say

LIMIT_S = 15
ATTEMPTS = 10


async def remote_rm(session: aiohttp.ClientSession, url: str, response: str, label: Any) -> Any:
    payload = {"prompt": "What?", "response": response, "label": label}
    for attempt in range(ATTEMPTS):
        try:
            async with session.post(url, json=payload) as answer:
                answer.raise_for_status()
                return await answer.json()
        except (aiohttp.ClientError, TimeoutError):
            if attempt == ATTEMPTS - 1:
                raise
            await asyncio.sleep(min(2**attempt, 30) * 0.01 + random.random() * 0.01)
    return None


async def main(lost: str) -> dict[str, Any]:
    url = f"{ADDRESS}/adapters/slime/score"
    asked: list[Any] = []
    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(lambda *_about: noted(asked))
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=64),
        timeout=aiohttp.ClientTimeout(total=LIMIT_S),
        trace_configs=[trace],
    ) as session:
        texts = ["42<|im_end|>" if n % 3 else "41" for n in range(512)]
        many = await asyncio.gather(
            *(remote_rm(session, url, text, "quiz/answer") for text in texts)
        )
        requests = len(asked)
        detail = await remote_rm(session, f"{url}?detail=1", "42", {"task_id": "quiz/answer"})
        before = len(asked)
        try:
            unknown = await remote_rm(session, f"{url}?wait_ms=0", "x", lost)
        except aiohttp.ClientResponseError as error:
            unknown = [error.status, len(asked) - before]
        paid = await remote_rm(session, f"{url}?wait_ms=0&fallback=-0.25", "x", lost)
    return {"many": many, "requests": requests, "detail": detail, "unknown": unknown, "paid": paid}


async def noted(asked: list[Any]) -> None:
    asked.append(None)


if __name__ == "__main__":
    say(result=asyncio.run(main(sys.argv[1])))
