"""Gymnasium: a toy environment under our wrapper, checked by Gymnasium's own checker, with its own
statistics."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import PassiveEnvChecker, RecordEpisodeStatistics
from milestoned_client.adapters.gymnasium import RewardServiceWrapper
from milestoned_client.adapters.scoring import UnknownRewardError

from tests.trainers.harness.say import say, watched


class Toy(gymnasium.Env[Any, Any]):
    """Two steps; would pay 7 each."""

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
        return np.array([float(self.at)]), 7.0, self.at == 2, False, {}


class Cut(Toy):
    """The same, cut off where the other ends."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen, paid, over, _, told = super().step(action)
        return seen, paid, False, over, told


def rolled_out(toy: Toy) -> str:
    """The episode of one rollout."""
    env = RewardServiceWrapper(toy, "shop/cart", watch=watched)
    _, info = env.reset()
    while not any(env.step(np.int64(1))[2:4]):
        pass
    env.close()
    return str(info["episode_id"])


def main(gone: bool) -> list[Any]:
    """Two episodes; or, with the browser gone in the first step, what the wrapper does then."""
    more = {"fallback": -0.25} if gone else {}
    wrapped = RewardServiceWrapper(
        Toy(), "shop/cart", watch=watched, labels={"run": "test"}, **more
    )
    env = RecordEpisodeStatistics(PassiveEnvChecker(wrapped))
    said: list[Any] = []
    for seed in range(1 if gone else 2):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, _, told = env.step(np.int64(1))
            kept = ("env_reward", "reward_components", "success", "mask_sample", "failure_reason")
            same = told["episode_id"] == info["episode_id"]
            said.append({"reward": reward, "same": same, **{name: told[name] for name in kept}})
        said[-1]["return"] = float(told["episode"]["r"])
    if gone:
        bare = RewardServiceWrapper(Toy(), "shop/cart", watch=watched)
        bare.reset()
        try:
            bare.step(np.int64(1))
        except UnknownRewardError as error:
            said.append(str(error))
        bare.close()
    env.close()
    return said


if __name__ == "__main__":
    toys = {"whole": Toy, "cut": Cut}
    said = sys.argv[1]
    say(result=rolled_out(toys[said]()) if said in toys else main(said == "gone"))
