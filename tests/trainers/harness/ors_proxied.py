"""The client of `ors-sdk`, its server, and between them `milestoned ors-proxy`, which is killed in
the midst of a call and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from typing import Any

import aiohttp
from ors.client import AsyncORS, Task

from tests.support.ports import free_port
from tests.trainers.harness.ors_clients_told import told
from tests.trainers.harness.ors_reference import ENDING, make_server, serve
from tests.trainers.harness.say import TOKEN, URL, say

MILESTONED = os.environ["MILESTONED"]
SLOW_S = 3.0
STARTED: list[asyncio.subprocess.Process] = []
"""Every proxy; none outlives this process, whose output the test reads to its end."""


async def start(upstream: str, port: int, *words: str) -> asyncio.subprocess.Process:
    """Start the proxy and return once it listens."""
    environment = {**os.environ, "MILESTONED_ADMIN_TOKEN": TOKEN}
    proxy = await asyncio.create_subprocess_exec(
        *(MILESTONED, "ors-proxy", upstream, "--task", "shop/cart", "--service", URL),
        *("--port", str(port), *words),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    STARTED.append(proxy)
    assert proxy.stdout is not None
    assert (await proxy.stdout.readline()).startswith(b"the proxy listens on")
    return proxy


async def watch(upstream: str, sid: str) -> None:
    """Ask the test for the daemon of a session's episode: opened again it is the same."""
    headers = {
        "authorization": f"Bearer {TOKEN}",
        "idempotency-key": f"ors-proxy {upstream} {sid}",
    }
    body = {
        "task": "shop/cart",
        "version": None,
        "labels": {"ors_session": sid},
        "sandbox": "any",
    }
    text = json.dumps(body, separators=(",", ":"))  # the same bytes, of which the key is
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{URL}/v1/episodes", data=text) as answer,
    ):
        opened = await answer.json()
    say(episode=opened["episode"], token=opened["token"])


async def main() -> None:
    upstream_port, port = free_port(), free_port()
    upstream = f"http://127.0.0.1:{upstream_port}"
    serve(make_server("ors", SLOW_S), upstream_port)
    proxy = await start(upstream, port)
    client = AsyncORS(base_url=f"http://127.0.0.1:{port}", api_key="the upstream's")
    env = client.environment("shop")
    found: dict[str, Any] = {
        "tasks": [task.task_spec for task in await env.list_tasks("train")],
        "tools": [tool.name for tool in await env.list_tools()],
    }
    async with env.session(task=Task("shop", {"task": "shop/cart"})) as session:
        await watch(upstream, session.sid)
        found["prompt"] = [block.text for block in await session.get_prompt()]
        outputs = [told(await session.call_tool("step", {"action": "open the cart"}))]
        slow = asyncio.create_task(session.call_tool("end_step"))
        async with asyncio.timeout(60):
            while not (ENDING.is_set() or slow.done()):  # noqa: ASYNC110 - another thread sets it
                await asyncio.sleep(0.01)
        # The call runs; its client takes it up again only once it has been told the task's id.
        await asyncio.wait([slow], timeout=SLOW_S / 3)
        proxy.kill()
        await proxy.wait()
        proxy = await start(upstream, port)
        outputs.append(told(await slow))
        try:
            await session.call_tool("fly")
        except Exception as error:  # noqa: BLE001  # its name is what is told
            found["refused"] = f"{type(error).__name__}: {error}"
        outputs.append(told(await session.call_tool("answer", {"text": "Bought."})))
    found["outputs"] = outputs
    proxy.terminate()
    await proxy.wait()
    await env.client.close()
    say(result=found)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    finally:
        for started in STARTED:
            with suppress(ProcessLookupError):
                os.kill(started.pid, signal.SIGKILL)
