"""TRL's GRPOTrainer with an advantage a turn, taking a step on the CPU. The model says what it is
told to; tools, templates, masks and the loss are TRL's own."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import trl
from datasets import Dataset
from milestoned_client.adapters.trl_trainer import TurnRewards
from trl import GRPOConfig, GRPOTrainer

from tests.trainers.harness.say import say
from tests.trainers.harness.trl_trainer import Shop
from tests.trainers.harness.words import END, model, tokenizer

KEPT: list[dict[str, Any]] = []


def call(name: str, tool: str = "click") -> str:
    arguments = {"name": tool, "arguments": {"name": name}}
    return f"<tool_call>\n{json.dumps(arguments)}\n</tool_call>{END}"


SAID = (call("look"), call("cart"), call("x", "knock"), call("Buy"), f"Done.{END}")
"""The third calls a tool that there is not."""


class Told(GRPOTrainer):  # type: ignore[misc]
    """Says the same in every rollout, turn by turn."""

    def _generate_single_turn(self, prompt_ids: Any, *_given: Any, **_more: Any) -> Any:
        at = self._generations  # type: ignore[attr-defined]
        ids = self.processing_class(SAID[at])["input_ids"]
        return [list(ids) for _ in prompt_ids], None

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        """TRL's own advantages, one a rollout."""
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        KEPT.append({"by_rollout": output["advantages"].tolist()})
        return output


class Trainer(TurnRewards, Told):
    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        kept = ("advantages", "completion_mask", "tool_mask", "num_items_in_batch")
        KEPT.append({name: output[name].tolist() for name in kept})
        return output


def main(rollouts: int) -> dict[str, Any]:
    words = tokenizer((Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text())
    policy = model(len(words))
    before = [one.detach().clone() for one in policy.parameters()]
    ask = [{"role": "user", "content": "Buy it."}]
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=rollouts,
            num_generations=rollouts,
            max_completion_length=2048,
            max_steps=1,
            learning_rate=1e-2,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            beta=0.0,
            seed=1,
            scale_rewards="none",
        )
        trainer = Trainer(
            model=policy,
            args=settings,
            train_dataset=Dataset.from_list([{"prompt": ask, "label": "shop/cart"}] * rollouts),
            processing_class=words,
            reward_funcs=[],
            environment_factory=Shop,
        )
        trainer.train()
    moved = any(not torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))
    by_rollout, by_turn = KEPT
    return {**by_rollout, **by_turn, "moved": moved}


if __name__ == "__main__":
    say(result=main(int(sys.argv[1])))
