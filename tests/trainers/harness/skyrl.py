"""SkyRL Gym's registry: our environment as it is, and one with a sandbox; every step keeps its
reward."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import skyrl_gym
from milestoned_client.adapters.skyrl import RewardTextEnv

from tests.trainers.harness.say import say, watched


class Shop(RewardTextEnv):
    def opened(self, episode: Any) -> list[dict[str, str]]:
        watched(episode)
        return [{"role": "user", "content": "The shop is open."}]

    def act(self, action: str) -> tuple[list[dict[str, str]], bool]:
        return [{"role": "user", "content": "done"}], action == "buy"


def answered(text: str) -> dict[str, Any]:
    env = skyrl_gym.make(
        "milestoned", env_config={}, extras={"reward_spec": {"ground_truth": "quiz/answer"}}
    )
    env.init([{"role": "user", "content": "What?"}])
    out: dict[str, Any] = env.step(text)
    env.close()
    return out


if __name__ == "__main__":
    skyrl_gym.register(
        id="milestoned", entry_point="milestoned_client.adapters.skyrl:RewardTextEnv"
    )
    skyrl_gym.register(id="shop", entry_point=Shop)
    shop = skyrl_gym.make(
        "shop", env_config={}, extras={"extra_info": {"task_id": "shop/cart"}, "max_turns": 5}
    )
    prompt, told = shop.init([{"role": "user", "content": "Buy it."}])
    steps = [shop.step("open the cart"), shop.step("buy")]
    with ThreadPoolExecutor(32) as pool:
        many = list(pool.map(answered, ["42" if n % 3 else "41" for n in range(96)]))
    say(result={"prompt": prompt, "told": told, "steps": steps, "many": many})
