"""verl from its loop of tools to its tensors: its own loop, what its V1 worker stores of a rollout,
and the advantages of its estimators. The model says what it is told to, and what would be stored by
another process (TransferQueue) is kept in a list."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import verl
from hydra import compose, initialize_config_dir
from milestoned_client.adapters import scoring

from tests.trainers.harness.policy_step import take_step
from tests.trainers.harness.say import say, watched
from tests.trainers.harness.words import END, save_tokenizer, tokenizer

STORED: list[dict[str, Any]] = []


async def keep(keys: list[str], fields: Any, **_more: Any) -> None:
    STORED.extend({"key": key, **field} for key, field in zip(keys, fields, strict=True))


queue = ModuleType("transfer_queue")
queue.__dict__.update(async_kv_batch_put=keep, init=lambda: None, KVBatchMeta=object)
sys.modules["transfer_queue"] = queue
v1 = ModuleType("verl.trainer.ppo.v1")
v1.__path__ = [str(Path(verl.__file__).parent / "trainer" / "ppo" / "v1")]
sys.modules[v1.__name__] = v1  # whose initialiser brings the trainers, and what only these need

from milestoned_client.adapters.verl_loop import (  # noqa: E402
    TurnRewardLoop,
    acting,
    rollout_episode,
)
from verl import DataProto  # noqa: E402
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap  # noqa: E402
from verl.tools.base_tool import BaseTool  # noqa: E402
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse  # noqa: E402
from verl.trainer.ppo import core_algos  # noqa: E402
from verl.trainer.ppo.v1 import agent_loop_tq  # noqa: E402
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories  # noqa: E402
from verl.utils.config import omega_conf_to_dataclass  # noqa: E402
from verl.utils.dataset.rl_dataset import RLHFDataset  # noqa: E402
from verl.workers.rollout.replica import TokenOutput  # noqa: E402

SCHEMA = OpenAIFunctionToolSchema.model_validate(
    {
        "type": "function",
        "function": {
            "name": "click",
            "description": "Click on something.",
            "parameters": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": "What."}},
                "required": ["name"],
            },
        },
    }
)


class Click(BaseTool):  # type: ignore[misc]
    async def execute(self, _id: str, parameters: dict[str, Any], **kwargs: Any) -> Any:
        episode = await rollout_episode(kwargs["agent_data"], {"task_id": "shop/cart"})
        if episode.opened is not None:
            watched(episode)
        async with acting(kwargs["agent_data"], {"click": parameters["name"]}):
            pass
        return ToolResponse(text="done"), None, {}


def call(name: str) -> str:
    return (
        f"<tool_call>{json.dumps({'name': 'click', 'arguments': {'name': name}})}</tool_call>{END}"
    )


class Model:
    """Looks, opens the cart, calls a tool that there is not, buys, and says that it is done."""

    def __init__(self, words: Any) -> None:
        unknown = call("x").replace("click", "knock")
        self._words = words
        self._said = [call("look"), call("cart"), unknown, call("Buy"), f"Done.{END}"]

    async def generate(self, **_asked: Any) -> Any:
        ids = self._words(self._said.pop(0))["input_ids"]
        return TokenOutput(token_ids=ids, log_probs=None)


def worker(settings: Any, words: Any) -> Any:
    """verl's V1 worker as far as it stores rollouts."""
    made = agent_loop_tq.AgentLoopWorkerTQ.__ray_metadata__.modified_class
    found = made.__new__(made)
    found.config, found.tokenizer, found.processor = settings, words, None
    found.reward_loop_worker_handles = None
    found.distillation_enabled, found.mm_processor_kwargs = False, {}
    return found


async def rollouts(settings: Any, words: Any, number: int) -> list[str]:
    """Generate and store ``number`` rollouts of one prompt; what was raised in place of one."""
    raised = []
    with_tools = ToolListWrap([Click({}, SCHEMA)])
    for session in range(number):
        loop = TurnRewardLoop(
            DictConfigWrap(settings), Model(words), words, None, RLHFDataset,
            DictConfigWrap(settings.data), hf_model_type=None, tools=with_tools,
        )  # fmt: skip
        row = {"raw_prompt": [{"role": "user", "content": "Buy it."}]}
        try:
            output = await loop.run({}, **row)
        except scoring.UnknownRewardError as error:
            raised.append(str(error))
            continue
        about = {**row, "uid": "u", "session_id": session, "global_steps": 0}
        await worker(settings, words)._agent_loop_postprocess(output, False, **about)
    return raised


def advantages(estimator: str, rows: dict[str, torch.Tensor]) -> list[list[float]]:
    data = DataProto.from_dict(
        tensors={
            **rows,
            "token_level_rewards": rows["rm_scores"],
            "values": torch.zeros_like(rows["rm_scores"]),
        },
        non_tensors={"uid": np.array(["u"] * len(STORED), dtype=object)},
    )
    keys = [one["key"] for one in STORED]
    if estimator == "gae":
        _, returns = core_algos.compute_gae_advantage_return(
            data.batch["token_level_rewards"], data.batch["values"], data.batch["response_mask"], 1.0, 1.0
        )  # fmt: skip
        return (returns * rows["response_mask"]).tolist()
    found = compute_advantage_for_multi_trajectories(
        data, keys, core_algos.AdvantageEstimator.GRPO, norm_adv_by_std_in_grpo=False
    )
    listed: list[list[float]] = found.batch["advantages"].tolist()
    return listed


def step(settings: Any, advantage: torch.Tensor, response_mask: torch.Tensor) -> dict[str, Any]:
    """A step over all rollouts with verl's loss, as its actor's settings have it."""
    actor = omega_conf_to_dataclass(settings.actor_rollout_ref.actor)
    policy_loss = core_algos.get_policy_loss_fn(actor.policy_loss.loss_mode)
    longest = max(len(one["prompts"]) for one in STORED)
    sequences, attention = [], []
    for one, row in zip(STORED, response_mask, strict=True):
        before, after = longest - len(one["prompts"]), len(row) - len(one["responses"])
        tokens = torch.cat([one["prompts"], one["responses"]])
        sequences.append(torch.nn.functional.pad(tokens, (before, after)))
        attention.append(torch.nn.functional.pad(torch.ones_like(tokens), (before, after)))

    def loss_of(log_probs: torch.Tensor, old_log_probs: torch.Tensor) -> torch.Tensor:
        of_response = slice(-response_mask.shape[1], None)
        loss: torch.Tensor
        loss, _ = policy_loss(
            old_log_probs[:, of_response],
            log_probs[:, of_response],
            advantage,
            response_mask,
            loss_agg_mode=actor.loss_agg_mode,
            config=actor,
        )
        return loss

    return take_step(torch.stack(sequences), torch.stack(attention), loss_of)


async def main(number: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        words = save_tokenizer(Path(folder))
        with initialize_config_dir(
            str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None
        ):
            settings = compose(
                "ppo_trainer",
                overrides=[
                    f"actor_rollout_ref.model.path={words}",
                    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1",
                    "actor_rollout_ref.rollout.name=vllm",
                    "actor_rollout_ref.rollout.prompt_length=256",
                    "actor_rollout_ref.rollout.response_length=1024",
                    "actor_rollout_ref.rollout.multi_turn.format=hermes",
                ],
            )
    raised = await rollouts(settings, tokenizer(), number)
    pad: Callable[[str], torch.Tensor] = lambda name: torch.nn.utils.rnn.pad_sequence(  # noqa: E731
        [one[name] for one in STORED], batch_first=True
    )
    rows = {name: pad(name) for name in ("rm_scores", "response_mask", "loss_mask")}
    await scoring.close()
    by_group = advantages("grpo", {**rows})
    return {
        **step(settings, torch.tensor(by_group), rows["response_mask"]),
        **{name: rows[name].tolist() for name in rows},
        "raised": raised,
        "info": [one["extra_fields"]["reward_extra_info"] for one in STORED],
        "grpo": by_group,
        "returns": advantages("gae", {**rows}),
    }


if __name__ == "__main__":
    say(result=asyncio.run(main(int(sys.argv[1]))))
