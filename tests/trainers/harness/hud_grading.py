"""HUD's own environment server and client over TCP: tasks of it are graded by the service, and the
frame is read as HUD's evaluations read it."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncGenerator
from typing import Any

from hud.clients import connect
from hud.environment import Environment
from hud.environment.server import bind
from hud.eval.run import Grade
from hud.eval.runtime import Runtime
from milestoned_client.adapters.hud import grade

from tests.trainers.harness.say import STRANGER, say

warnings.simplefilter("error", UserWarning)  # HUD warns of weights and sums that do not fit
env = Environment(name="shop")


@env.template()
async def rollout(
    episode: str = "", fallback: float | None = None, token: str | None = None
) -> AsyncGenerator[Any, Any]:
    """An episode that the harness opened."""
    yield "Buy it."
    yield await grade(episode, fallback=fallback, token=token)


@env.template()
async def quiz() -> AsyncGenerator[Any, Any]:
    """The answer alone."""
    answer = yield "What?"
    yield await grade({"task_id": "quiz/answer"}, str(answer))


async def graded(runtime: Runtime, task: str, answer: str = "", **arguments: Any) -> Any:
    async with connect(runtime) as client:
        await client.start_task(task, arguments)
        try:
            read = Grade.from_dict(await client.grade({"answer": answer}))
        except Exception as error:  # noqa: BLE001  # its name is what is told
            return f"{type(error).__name__}: {error}"
    return {
        "reward": read.reward,
        "is_error": read.is_error,
        "content": read.content,
        "info": read.info,
        "subscores": read.raw["subscores"],
    }


async def main(good: str, lost: str, hostile: str) -> dict[str, Any]:
    await env.start()
    server = await bind(env)
    port = server.sockets[0].getsockname()[1]
    runtime = Runtime(f"tcp://127.0.0.1:{port}")
    return {
        "good": await graded(runtime, "rollout", episode=good),
        "lost": await graded(runtime, "rollout", episode=lost),
        "paid": await graded(runtime, "rollout", episode=lost, fallback=-0.25),
        "right": await graded(runtime, "quiz", "42"),
        "wrong": await graded(runtime, "quiz", "41"),
        "nobody": await graded(runtime, "rollout", episode="ep_nobody"),
        "stranger": await graded(runtime, "rollout", episode=good, token=STRANGER),
        "hostile": await graded(runtime, "rollout", episode=hostile),
        "again": await graded(runtime, "rollout", episode=good),
    }


if __name__ == "__main__":
    say(result=asyncio.run(main(*sys.argv[1:])))
