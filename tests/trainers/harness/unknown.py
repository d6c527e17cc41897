"""A recording of which four steps of five can't be known, and rollouts like it, through the
adapters whose trainers are installed here: for each step, and for the whole episode, the reward, or
the name of the error that there is in place.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import skyrl_gym
from milestoned_client.adapters.gymnasium import RewardServiceWrapper
from milestoned_client.adapters.openenv import HttpRubric
from milestoned_client.adapters.scoring import UnknownRewardError
from milestoned_client.adapters.skyrl import RewardTextEnv
from openenv.core.env_server.types import Action, Observation

from tests.trainers.harness.rlhf import agent_module
from tests.trainers.harness.say import say, watched

STEPS = 5


def attempt(reward: Callable[[], Any]) -> Any:
    """The reward, or the name of what is raised."""
    try:
        return float(reward())
    except UnknownRewardError:
        return "UnknownRewardError"


def labels(episode: str) -> list[dict[str, Any]]:
    return [
        *({"episode_id": episode, "step": step} for step in range(STEPS)),
        {"episode_id": episode},
    ]


class Said(Action):
    answer: str


def openenv(episode: str) -> list[Any]:
    rubric = HttpRubric(wait_s=0.0)

    def asked(label: dict[str, Any]) -> Any:
        return asyncio.run(rubric.forward(Said(answer="x"), Observation(metadata=label)))

    return [attempt(lambda label=label: asked(label)) for label in labels(episode)]


def skyrl_once(episode: str) -> list[Any]:
    made = [RewardTextEnv(extras={"extra_info": label}, wait_s=0.0) for label in labels(episode)]
    return [attempt(lambda env=env: env.step("x")["reward"]) for env in made]


def openrlhf_once(episode: str) -> list[Any]:
    from milestoned_client.adapters.openrlhf import RewardAgentInstance

    async def asked(label: dict[str, Any]) -> Any:
        agent = RewardAgentInstance()
        await agent.reset({"observation": "", "label": label})
        return (await agent.step({"action_text": "x", "label": label}))["rewards"]

    return [attempt(lambda label=label: asyncio.run(asked(label))) for label in labels(episode)]


class Blank(gymnasium.Env[Any, Any]):
    """As many steps as the recording has; would pay 7 each."""

    observation_space = gymnasium.spaces.Box(0.0, 9.0, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        return np.array([0.0]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        return np.array([float(self.at)]), 7.0, self.at == STEPS, False, {}


def by_gymnasium(task: str) -> list[Any]:
    env = RewardServiceWrapper(Blank(), task, watch=watched)
    env.reset()
    return [attempt(lambda: env.step(np.int64(1))[1]) for _ in range(STEPS)]


def by_gymnasium_paid(task: str) -> list[Any]:
    """With a fall-back: the reward and the mask beside it."""
    env = RewardServiceWrapper(Blank(), task, watch=watched, fallback=-0.5)
    env.reset()
    told = [env.step(np.int64(1)) for _ in range(STEPS)]
    return [[float(one[1]), one[4]["mask_sample"]] for one in told]


class Shop(RewardTextEnv):
    def opened(self, episode: Any) -> list[dict[str, str]]:
        watched(episode)
        return []

    def act(self, action: str) -> tuple[list[dict[str, str]], bool]:
        return [], False


def by_skyrl(task: str) -> list[Any]:
    skyrl_gym.register(id="unknown", entry_point=Shop)
    env = skyrl_gym.make(
        "unknown", env_config={}, extras={"extra_info": {"task_id": task}, "max_turns": STEPS}
    )
    env.init([])
    return [attempt(lambda: env.step("x")["reward"]) for _ in range(STEPS)]


def by_openrlhf(task: str) -> list[Any]:
    from milestoned_client.adapters.openrlhf import RewardAgentInstance

    class Agent(RewardAgentInstance):  # type: ignore[misc, valid-type]
        turns = 0

        async def opened(self, episode: Any) -> str:
            watched(episode)
            return ""

        async def act(self, action: str) -> tuple[str, bool]:
            self.turns += 1
            return "", self.turns == STEPS

    async def rolled_out() -> list[Any]:
        agent, found = Agent(), list[Any]()
        await agent.reset({"observation": "", "label": {"task_id": task}})
        for _ in range(STEPS):
            try:
                found.append(float((await agent.step({"action_text": "x"}))["rewards"]))
            except UnknownRewardError:
                found.append("UnknownRewardError")
        return found

    return asyncio.run(rolled_out())


def main(episode: str, task: str) -> dict[str, list[Any]]:
    agent_module()
    scored: tuple[Callable[[str], list[Any]], ...] = (openenv, skyrl_once)
    os.environ["MILESTONED_WAIT_S"] = "0.0"
    found = {one.__name__: one(episode) for one in (*scored, openrlhf_once)}
    os.environ["MILESTONED_WAIT_S"] = "8"
    found |= {
        one.__name__: one(task) for one in (by_gymnasium, by_gymnasium_paid, by_skyrl, by_openrlhf)
    }
    return found


if __name__ == "__main__":
    say(result=main(*sys.argv[1:]))
