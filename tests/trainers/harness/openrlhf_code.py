"""OpenRLHF with a file of one line, for `--reward.remote_url` and for `--train.agent_func_path`,
and an agent with a sandbox of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from typing import Any

from tests.trainers.harness.rlhf import agent_module, rollout
from tests.trainers.harness.say import TOKEN, URL, say, watched

QUIZ = {"task_id": "quiz/answer"}


async def partly() -> dict[str, Any]:
    """A rollout of three turns, of which the test says what is seen."""
    agent_module()
    return await rollout(sandbox(), {"task_id": "shop/cart"}, "look", "open the cart", "buy")


async def cut_off() -> dict[str, Any]:
    """A rollout that has no tokens left after its first turn, and how its episode was closed."""
    agent_module()
    from milestoned_client import AsyncRewardClient

    ids: list[str] = []
    first = "open the cart" + " " * 64
    found = await rollout(sandbox(ids), {"task_id": "shop/cart"}, first, "buy", max_length=80)
    async with AsyncRewardClient(URL, TOKEN) as client:
        (closed,) = await client.episode(ids[0]).events(kind="episode.closed")
    return {**found, "closed": closed.data}


async def main(folder: Path) -> dict[str, Any]:
    agent = agent_module()
    rewards = folder / "rewards.py"
    rewards.write_text("from milestoned_client.adapters.openrlhf import reward_func\n")
    by_function = agent.SingleTurnAgentExecutor(str(rewards))
    return {
        "function": [await rollout(by_function, QUIZ, text) for text in ("42", "41")],
        "words": [await rollout(loaded(folder, agent), QUIZ, text) for text in ("42", "41")],
        "sandbox": await rollout(sandbox(), {"task_id": "shop/cart"}, "open the cart", "buy"),
    }


def loaded(folder: Path, agent: Any) -> Any:
    """As OpenRLHF's `_load_agent_executor` does."""
    path = folder / "agent.py"
    path.write_text("from milestoned_client.adapters.openrlhf import AgentExecutor\n")
    spec = importlib.util.spec_from_file_location("agent_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert issubclass(module.AgentExecutor, agent.AgentExecutorBase)
    return module.AgentExecutor()


def sandbox(ids: list[str] | None = None) -> Any:
    """An agent that acts for two turns, watched; ``ids`` takes its episodes."""
    from milestoned_client.adapters.openrlhf import AgentExecutor, RewardAgentInstance

    class Shop(RewardAgentInstance):  # type: ignore[misc, valid-type]
        async def opened(self, episode: Any) -> str:
            watched(episode)
            if ids is not None:
                ids.append(episode.id)
            return ""

        async def act(self, action: str) -> tuple[str, bool]:
            return "done", action == "buy"

    return AgentExecutor(Shop)


if __name__ == "__main__":
    ways = {"partly": partly, "cut_off": cut_off}
    word = sys.argv[1]
    say(result=asyncio.run(ways[word]() if word in ways else main(Path(word))))
