"""OpenRLHF from its agent executor to its tensors: rollouts of our agent become its `Experience`s,
and these its rewards, advantages and returns. Ray, vLLM and DeepSpeed, which generate and train,
are not installed: the names that are imported of them are stood in for."""

from __future__ import annotations

import asyncio
import importlib
import sys
from importlib.metadata import distribution
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from milestoned_client.adapters import scoring

from tests.trainers.harness.policy_step import take_step
from tests.trainers.harness.rlhf import Engine, Tokenizer, agent_module
from tests.trainers.harness.say import say, watched

GROUP = 4
CART = {"task_id": "shop/cart"}
TURNS = ("open the cart", "buy")


def trainer_modules() -> tuple[Any, Any]:
    """OpenRLHF's samples generator and experience maker, out of the installed package."""
    importlib.import_module(
        "transformers.generation.utils"
    )  # which asks whether DeepSpeed is there
    where = distribution("openrlhf")
    for name in ("models", "trainer", "trainer.ray", "trainer.ppo_utils"):
        package = ModuleType(f"openrlhf.{name}")
        package.__path__ = [str(where.locate_file(package.__name__.replace(".", "/")))]
        sys.modules[package.__name__] = package
    stood_in: dict[str, dict[str, Any]] = {
        "deepspeed": {},
        "vllm": {"SamplingParams": object},
        "openrlhf.trainer.ray.launcher": {"RayActorGroup": object},
        "openrlhf.trainer.ray.vllm_engine": {"batch_vllm_engine_call": None},
    }
    for name, words in stood_in.items():
        module = ModuleType(name)
        module.__dict__.update(words)
        sys.modules[name] = module
    samples = importlib.import_module("openrlhf.trainer.ppo_utils.samples_generator")
    return samples, importlib.import_module("openrlhf.trainer.ppo_utils.experience_maker")


def executor() -> Any:
    """An agent with a sandbox that the test watches."""
    from milestoned_client.adapters.openrlhf import AgentExecutor, RewardAgentInstance

    class Shop(RewardAgentInstance):  # type: ignore[misc, valid-type]
        async def opened(self, episode: Any) -> str:
            watched(episode)
            return ""

        async def act(self, action: str) -> tuple[str, bool]:
            return "done", action == TURNS[-1]

    return AgentExecutor(Shop)


async def rollouts(by: Any, number: int) -> list[dict[str, Any]]:
    """One after the other, so that the test knows which of them sees what."""
    found = []
    for _ in range(number):
        params = SimpleNamespace(max_tokens=64, logprobs=None)
        words = Engine(*TURNS * 3)
        found.append(await by.execute("What?", CART, params, 4096, Tokenizer(), words))
    return found


def tensors(estimator: str, responses: list[dict[str, Any]]) -> dict[str, Any]:
    """What OpenRLHF trains on: the rewards, and advantage and return of each token."""
    samples, maker = trainer_modules()
    generator = samples.SamplesGenerator.__new__(samples.SamplesGenerator)
    experiences = [generator._process_response_into_experience(one) for one in responses]
    for at, experience in enumerate(experiences):
        experience.index = [at]
        experience.kl = torch.zeros_like(experience.action_mask, dtype=torch.float32)
    advantage = SimpleNamespace(
        estimator=estimator, gamma=1.0, lambd=1.0, no_std_norm=True, is_correction_level="off"
    )
    args = SimpleNamespace(
        algo=SimpleNamespace(advantage=advantage),
        rollout=SimpleNamespace(n_samples_per_prompt=len(responses)),
        reward=SimpleNamespace(
            clip_range=None, overlong_buffer_len=None, stop_properly_penalty_coef=None
        ),
    )
    made = maker.RemoteExperienceMaker(
        *[None] * 4, SimpleNamespace(value=0.0), SimpleNamespace(args=args), None
    )
    made.compute_advantages_and_returns(experiences)
    losses = importlib.import_module("openrlhf.models.loss")
    return {
        **_step(losses.PolicyLoss(), experiences),
        "rewards": torch.cat([one.rewards for one in experiences]).tolist(),
        "advantages": [(one.advantages * one.action_mask)[0].tolist() for one in experiences],
        "action_mask": [one.action_mask[0].tolist() for one in experiences],
    }


def _step(policy_loss: Any, experiences: list[Any]) -> dict[str, Any]:
    """A step over all experiences, with the action's tokens as OpenRLHF's actor takes them."""
    pad = torch.nn.utils.rnn.pad_sequence
    column = lambda name: [getattr(one, name)[0] for one in experiences]  # noqa: E731
    mask, advantages = (
        pad(column(name), batch_first=True) for name in ("action_mask", "advantages")
    )

    def loss_of(log_probs: torch.Tensor, old_log_probs: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor
        loss, *_ = policy_loss(log_probs, old_log_probs, advantages, action_mask=mask)
        return loss

    sequences, attention = (
        pad(column(name), batch_first=True) for name in ("sequences", "attention_mask")
    )
    found = take_step(sequences, attention, loss_of)
    lengths = map(len, column("action_mask"))
    pull = [row[:length] for row, length in zip(found["pull"], lengths, strict=True)]
    return {**found, "pull": pull}


async def main() -> dict[str, Any]:
    agent_module()
    responses = await rollouts(executor(), GROUP)
    placeholder = [dict(one) for one in responses]
    placeholder[0]["reward"] = 0.0
    found = {
        "group": tensors("dr_grpo", responses),
        "placeholder": tensors("dr_grpo", placeholder)["advantages"],
        "known_share": [one["extra_logs"]["known_share"] for one in responses],
    }
    await scoring.close()
    return found


if __name__ == "__main__":
    say(result=asyncio.run(main()))
