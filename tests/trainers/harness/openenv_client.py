"""OpenEnv's GenericEnvClient, async and sync, and a Rubric of its own kind that asks the
service."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from milestoned_client.adapters.openenv import HttpRubric
from openenv.core import GenericEnvClient
from openenv.core.env_server.types import Action, Observation

from tests.trainers.harness.say import ADDRESS, say

HERE = f"{ADDRESS}/openenv"


def told(result: Any) -> list[Any]:
    return [result.reward, result.done]


async def asynchronous(episode: str) -> dict[str, Any]:
    """Two steps of a watched episode."""
    async with GenericEnvClient(base_url=HERE) as env:
        begun = await env.reset(episode_id=episode)
        steps = [await env.step({"text": "open the cart"}), await env.step({"answer": "Bought."})]
        return {
            "begun": begun.observation,
            "steps": [told(one) for one in steps],
            "state": await env.state(),
        }


async def many() -> list[float]:
    """512 sockets, a session each."""

    async def one(number: int) -> float:
        async with GenericEnvClient(base_url=HERE, connect_timeout_s=30) as env:
            await env.reset(task_id="quiz/answer")
            return float((await env.step({"answer": "42" if number % 3 else "41"})).reward)

    return list(await asyncio.gather(*map(one, range(512))))


def blocking(lost: str) -> dict[str, Any]:
    with GenericEnvClient(base_url=HERE).sync() as env:
        env.reset(task_id="quiz/answer")
        right = told(env.step({"answer": "42"}))
        env.reset(task_id="quiz/answer")
        try:
            env.step({"step": 0})
        except RuntimeError as error:
            refused = str(error)
        env.reset(episode_id=lost)
        try:
            unknown = told(env.step({"step": 0}))
        except RuntimeError as error:
            unknown = [str(error)]
    return {"right": right, "refused": refused, "unknown": unknown}


class Said(Action):
    answer: str


async def rubric(lost: str) -> dict[str, Any]:
    quiz = HttpRubric("quiz/answer")
    words = [await quiz(Said(answer=text), Observation()) for text in ("42", "41")]
    at = Observation(metadata={"episode_id": lost, "step": 0})
    try:
        unknown = str(await quiz(Said(answer="42"), at))
    except Exception as error:  # noqa: BLE001  # its name is what is told
        unknown = f"{type(error).__name__}: {error}"
    paid = await HttpRubric(fallback=-0.25)(Said(answer="42"), at)
    return {"words": words, "last": quiz.last_score, "unknown": unknown, "paid": paid}


if __name__ == "__main__":
    episode, lost = sys.argv[1:]
    found = {
        "async": asyncio.run(asynchronous(episode)),
        "sync": blocking(lost),
        "rubric": asyncio.run(rubric(lost)),
    }
    say(result={**found, "many": asyncio.run(many())})
