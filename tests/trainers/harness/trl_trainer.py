"""TRL's GRPOTrainer taking steps on the CPU: rewards from the reward function, and from
environments of our own."""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import trl
from datasets import Dataset
from milestoned_client.adapters.trl import RewardEnvironment, reward_func
from trl import GRPOConfig, GRPOTrainer

from tests.trainers.harness.say import say, watched
from tests.trainers.harness.words import model, tokenizer

STEPS, ROLLOUTS = 2, 8
"""The model can say nothing but two figures out of 2 and 4, so that a quarter of what it says is right by chance."""


class Shop(RewardEnvironment):
    """A tool that the model may use; what a step of it is worth the test's daemon decides."""

    def _opened(self, episode: Any, row: Any) -> str:
        watched(episode)
        return "The shop is open."

    def click(self, name: str) -> str:
        """Click on something.

        Args:
            name: What is written on it.
        """
        with self._acting({"click": name}):
            return "clicked"


class Clicking(Shop):
    """A random model never calls a tool, so each rollout does what a good one would, through the
    tool itself."""

    def get_reward(self) -> float | None:
        self.click("cart")
        self.click("Buy")
        return super().get_reward()


def trained(
    rows: list[dict[str, Any]], template: str | None = None, **more: Any
) -> list[dict[str, Any]]:
    """What TRL logs of each step, and whether the weights moved."""
    words = tokenizer() if template is None else tokenizer(template)
    policy = model(len(words))
    before = [one.detach().clone() for one in policy.parameters()]
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=ROLLOUTS,
            num_generations=ROLLOUTS,
            max_completion_length=2,
            generation_kwargs={
                "suppress_tokens": sorted(set(range(len(words))) - set(words("24")["input_ids"]))
            },
            max_steps=STEPS,
            learning_rate=1e-2,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            beta=0.0,
            seed=1,
        )
        trainer = GRPOTrainer(
            model=policy,
            args=settings,
            train_dataset=Dataset.from_list(rows),
            processing_class=words,
            **more,
        )
        trainer.train()
    moved = any(not torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))
    logged = [one for one in trainer.state.log_history if "reward" in one]
    return [
        {"moved": moved, **{name: _plain(value) for name, value in one.items()}} for one in logged
    ]


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def main(lost: str) -> dict[str, Any]:
    ask = [{"role": "user", "content": "What?"}]
    qwen = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    return {
        "scored": trained(
            [{"prompt": ask, "label": "quiz/answer"}] * ROLLOUTS, reward_funcs=reward_func
        ),
        "lost": trained([{"prompt": ask, "label": lost}] * ROLLOUTS, reward_funcs=reward_func),
        "environment": trained(
            [{"prompt": ask, "label": "shop/cart"}] * ROLLOUTS,
            qwen,
            reward_funcs=[],
            environment_factory=Clicking,
        ),
    }


if __name__ == "__main__":
    say(result=main(sys.argv[1]))
