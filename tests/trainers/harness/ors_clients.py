"""The unmodified client of `ors-sdk` or of `openreward`: what it lists, and sessions of a watched
episode, of an answer alone, and of what nobody can know."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import aiohttp

from tests.trainers.harness.ors_clients_told import told
from tests.trainers.harness.say import TOKEN, URL, say

BASE = os.environ["ORS_URL"]


def of_ors() -> tuple[Any, Any]:
    """How `ors-sdk` gets an environment, and makes a task."""
    from ors.client import AsyncORS, Task

    client = AsyncORS(base_url=BASE, api_key=TOKEN)

    def make_task(name: str, spec: dict[str, Any]) -> Any:
        return Task(environment_name=name, task_spec=spec)

    return client.environment, make_task


def of_openreward() -> tuple[Any, Any]:
    """The same of `openreward`, whose environments are variants of a deployment."""
    from openreward.api.environments.client import AsyncEnvironmentsAPI
    from openreward.api.environments.types import Task

    client = AsyncEnvironmentsAPI(base_url=BASE, api_key=TOKEN)

    def get(name: str) -> Any:
        return client.get("milestoned", variant=name)

    def make_task(name: str, spec: dict[str, Any]) -> Any:
        return Task("milestoned", name, spec, None)

    return get, make_task


async def listed(env: Any) -> dict[str, Any]:
    """What an environment lists."""
    return {
        "splits": await env.list_splits(),
        "tasks": [task.task_spec for task in await env.list_tasks("train")],
        "num_tasks": await env.num_tasks("train"),
        "task": (await env.get_task("train", 0)).task_spec,
        "range": [task.task_spec for task in await env.get_task_range("train", 0, 1)],
        "tools": [tool.name for tool in await env.list_tools()],
        "openai": [tool["name"] for tool in await env.list_tools(format="openai")],
    }


async def rollout(env: Any, task: Any) -> dict[str, Any]:
    """Two steps and an answer, and what is refused."""
    outputs, refused = [], []
    async with env.session(task=task) as session:
        prompt = [block.text for block in await session.get_prompt()]
        tools = [tool.name for tool in await session.list_tools()]
        for name, arguments in (
            ("step", {"action": {"click": "cart"}}),
            ("end_step", {}),
            ("step", {"action": "buy"}),
            ("fly", {}),
            ("step", {"act": 1}),
            ("answer", {"text": "Bought."}),
            ("step", {}),
        ):
            try:
                outputs.append(told(await session.call_tool(name, arguments)))
            except Exception as error:  # noqa: BLE001  # its name is what is told
                refused.append(f"{type(error).__name__}: {error}")
    return {"prompt": prompt, "tools": tools, "outputs": outputs, "refused": refused}


async def answered(env: Any, task: Any, text: str) -> dict[str, Any]:
    """An answer alone."""
    async with env.session(task=task) as session:
        return told(await session.call_tool("answer", {"text": text}))


def said(text: str) -> list[dict[str, Any]]:
    """Messages of a candidate that answered."""
    return [{"role": "assistant", "blocks": [{"type": "text", "text": text, "detail": None}]}]


async def compared(
    package: str, env: Any, task: Any, *candidates: tuple[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The scores of a group. `ors-sdk` has no method for it: its own stream of a call has."""
    async with env.session(task=task) as session:
        if package == "ors":
            from ors.client._http import resumable_sse

            group = [{"messages": said(text), "metadata": more} for text, more in candidates]
            path = f"/{session.task.environment_name}/score_group"
            answered = await resumable_sse(
                session.client,
                path,
                session.api_key,
                json={"candidates": group},
                sid=session.sid,
                max_retries=1,
            )
            scores: list[dict[str, Any]] = answered["scores"]
            return scores
        from openreward.api.environments.types import GroupCandidate, Message, TextBlock

        ask = [
            GroupCandidate([Message("assistant", [TextBlock(text)])], more)
            for text, more in candidates
        ]
        return [
            {"reward": score.reward, "metadata": score.metadata}
            for score in await session.score_group(ask)
        ]


async def main(package: str) -> None:
    get, make_task = of_ors() if package == "ors" else of_openreward()
    shop, quiz = get("shop"), get("quiz")
    bearer = {"authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession(headers=bearer) as http,
        http.post(f"{URL}/v1/episodes", json={"task": "shop/cart"}) as answer,
    ):
        opened = await answer.json()
    say(episode=opened["episode"], token=opened["token"])
    alone = make_task("shop", {"task": "shop/cart", "sandbox": "none"})
    tasks = await quiz.list_tasks("train")
    many = await asyncio.gather(
        *(answered(quiz, tasks[0], "42" if n % 3 else "41") for n in range(48))
    )
    found: dict[str, Any] = {
        "listed": await listed(shop),
        "rollout": await rollout(shop, make_task("shop", {"episode": opened["episode"]})),
        "unknown": await answered(shop, alone, "42"),
        "many": [output["reward"] for output in many],
    }
    found["group"] = await compared(package, quiz, tasks[0], ("42", {"at": 0}), ("41", {"at": 1}))
    named = {"episode": opened["episode"]}
    found["episodes"] = await compared(package, shop, alone, ("Bought.", named), ("Bought.", {}))
    try:
        await compared(package, shop, alone, ("Bought.", {"episode": "ep_nobody"}))
    except Exception as error:  # noqa: BLE001  # its name is what is told
        found["ungrouped"] = f"{type(error).__name__}: {error}"
    try:
        await answered(get("nowhere"), make_task("nowhere", {"task": "shop/cart"}), "x")
    except Exception as error:  # noqa: BLE001  # its name is what is told
        found["nowhere"] = f"{type(error).__name__}: {error}"
    if package != "ors":
        async with quiz.session(task=tasks[0]) as session:
            found["terminal"] = told(await session.call_terminal_tool("42"))
            found["messages"] = await session.get_messages(format="openai")
            found["groups"] = await session.supports_score_group()
    say(result=found)
    for env in (shop, quiz):
        await env.client.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
