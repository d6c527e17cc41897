"""SkyRL from its generator to its tensors: its own agent loop with our environment, with its own
generator and with ours; its batch of tensors, its group's advantages. The model says what it is
told to; the initialisers of three packages, which bring vLLM and a server, are left out."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import distribution
from types import ModuleType
from typing import Any

import numpy as np
import skyrl_gym
import torch
from milestoned_client.adapters.skyrl import RewardTextEnv

from tests.trainers.harness.policy_step import take_step
from tests.trainers.harness.say import say, watched
from tests.trainers.harness.words import END, tokenizer

for name in ("skyrl.backends", "skyrl.backends.skyrl_train", "skyrl.train.generators"):
    package = ModuleType(name)
    package.__path__ = [str(distribution("skyrl").locate_file(name.replace(".", "/")))]
    sys.modules[name] = package

from milestoned_client.adapters.skyrl_generator import RewardGenerator  # noqa: E402
from skyrl.backends.skyrl_train.utils.ppo_utils import (  # noqa: E402
    PolicyLossRegistry,
    compute_gae_advantage_return,
    compute_grpo_outcome_advantage,
)
from skyrl.train.config import AlgorithmConfig, GeneratorConfig, SkyRLGymConfig  # noqa: E402
from skyrl.train.dataset.preprocess import (  # noqa: E402
    convert_prompts_responses_to_batch_tensors,
)
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator  # noqa: E402

TURNS = ("look", "open the cart", "buy")


class Shop(RewardTextEnv):
    def opened(self, episode: Any) -> list[dict[str, str]]:
        watched(episode)
        return []

    def act(self, action: str) -> tuple[list[dict[str, str]], bool]:
        return [{"role": "user", "content": "done"}], action.startswith(TURNS[-1])


class Model:
    """Says the turns, one after the other, in every session."""

    def __init__(self, words: Any) -> None:
        self._words, self._said = words, 0

    async def generate(self, _asked: Any, model: Any = None) -> dict[str, Any]:
        text = TURNS[self._said % len(TURNS)] + END
        self._said += 1
        ids = self._words(text)["input_ids"]
        return {"responses": [text], "response_ids": [ids], "stop_reasons": ["stop"]}

    async def finish_session(self, _session: str) -> None:
        self._said = 0


async def generated(by: type[Any], number: int) -> dict[str, Any]:
    """What the generator hands to the trainer of ``number`` rollouts, one after the other."""
    words = tokenizer()
    config = GeneratorConfig()
    config.max_turns, config.max_input_length = 5, 4096
    made = by(config, SkyRLGymConfig(), Model(words), words)
    parts = []
    for _ in range(number):
        batch = {
            "prompts": [[{"role": "user", "content": "Buy it."}]],
            "env_classes": ["shop"],
            "env_extras": [{"extra_info": {"task_id": "shop/cart"}}],
        }
        parts.append(await made.generate(batch, disable_tqdm=True))
    keys = ("prompt_token_ids", "response_ids", "rewards", "loss_masks")
    return {key: [row for part in parts for row in part[key]] for key in keys}


def tensors(output: dict[str, Any]) -> dict[str, Any]:
    """What SkyRL trains on: rewards and masks token by token, and the group's advantages."""
    columns = [output[key] for key in ("prompt_token_ids", "response_ids", "rewards", "loss_masks")]
    sequences, attention, response_mask, rewards, loss_mask, *_ = (
        convert_prompts_responses_to_batch_tensors(0, *columns)
    )
    group = np.array(["one"] * len(rewards))
    advantages, _ = compute_grpo_outcome_advantage(
        rewards, response_mask, group, grpo_norm_by_std=False
    )
    _, returns = compute_gae_advantage_return(
        rewards, rewards * 0.0, response_mask, gamma=1.0, lambd=1.0
    )
    algorithm = AlgorithmConfig()
    policy_loss = PolicyLossRegistry.get(algorithm.policy_loss_type)

    def loss_of(log_probs: torch.Tensor, old_log_probs: torch.Tensor) -> torch.Tensor:
        of_response = slice(-response_mask.shape[1], None)
        loss: torch.Tensor
        loss, _ = policy_loss(
            log_probs[:, of_response],
            old_log_probs[:, of_response],
            advantages,
            config=algorithm,
            loss_mask=loss_mask,
        )
        return loss

    return {
        **take_step(sequences, attention, loss_of),
        "rewards": rewards.tolist(),
        "loss_mask": loss_mask.tolist(),
        "advantages": (advantages * response_mask).tolist(),
        "returns": (returns * response_mask).tolist(),
        "texts": [tokenizer().decode(ids) for ids in output["response_ids"]],
    }


async def main(way: str) -> dict[str, Any]:
    skyrl_gym.register(id="shop", entry_point=Shop)
    if way == "own":
        return tensors(await generated(SkyRLGymGenerator, 1))
    return tensors(await generated(RewardGenerator, 3))


if __name__ == "__main__":
    say(result=asyncio.run(main(sys.argv[1])))
