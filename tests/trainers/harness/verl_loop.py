"""verl's RewardLoopWorker under verl's own configuration, with the flags of docs/trainers: the
reward function, and the reward manager for trajectories of several outputs. No Ray cluster is
started, and nothing is generated."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import verl
from hydra import compose, initialize_config_dir
from milestoned_client.adapters import scoring
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker, migrate_legacy_reward_impl

from tests.trainers.harness.say import say
from tests.trainers.harness.words import save_tokenizer, tokenizer

HERE = "pkg://milestoned_client.adapters.verl"
FUNCTION = (f"reward.custom_reward_function.path={HERE}",)
MANAGER = (
    "reward.reward_manager.source=importlib",
    "reward.reward_manager.name=EpisodeRewardManager",
    f"reward.reward_manager.module.path={HERE}",
)
LENGTH = 8


def worker(words: str, *flags: str) -> RewardLoopWorker:
    """As each of verl's reward processes makes it."""
    with initialize_config_dir(
        str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None
    ):
        settings = compose(
            "ppo_trainer", overrides=[f"actor_rollout_ref.model.path={words}", *flags]
        )
    return RewardLoopWorker(migrate_legacy_reward_impl(settings))


def batch(texts: list[str], truth: Any, **columns: list[Any]) -> DataProto:
    """Rollouts as verl hands them on: tokens, and the data set's columns."""
    said = [tokenizer()(text)["input_ids"] for text in texts]
    responses = torch.tensor([one + [0] * (LENGTH - len(one)) for one in said])
    heard = torch.tensor([[1] * len(one) + [0] * (LENGTH - len(one)) for one in said])
    prompts = torch.zeros((len(texts), 2), dtype=torch.long)
    rows = {
        "data_source": ["quiz"] * len(texts),
        "reward_model": [{"ground_truth": truth} for _ in texts],
    }
    return DataProto.from_dict(
        tensors={
            "prompts": prompts,
            "responses": responses,
            "attention_mask": torch.cat((torch.ones_like(prompts), heard), dim=1),
        },
        non_tensors={
            name: np.array(column, dtype=object) for name, column in (rows | columns).items()
        },
    )


async def scored(by: RewardLoopWorker, data: DataProto) -> Any:
    try:
        return await by.compute_score_batch(data)
    except scoring.UnknownRewardError as error:
        return str(error)


async def main(episode: str, lost: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        words = save_tokenizer(Path(folder))
        function, manager = worker(words, *FUNCTION), worker(words, *MANAGER)
        paying = worker(
            words, *FUNCTION, "+reward.custom_reward_function.reward_kwargs.fallback=-0.25"
        )
    texts = ["42" if n % 3 else "41" for n in range(512)]
    many = batch(texts, "quiz/answer", extra_info=[{"index": n} for n in range(512)])
    answer = batch(["42"], "quiz/answer", extra_info=[{}])
    outputs = await scored(function, many)
    placed = function.reward_manager.assemble_rm_scores(
        many, [one["reward_score"] for one in outputs]
    )
    gone = batch(["x"], None, extra_info=[{"episode_id": lost}])
    carried = [{"episode_id": episode}, {}]
    trajectory = batch(["a", "b"], "quiz/answer", extra_info=[{}, {}], tool_extra_fields=carried)
    found = {
        "many": outputs,
        "on": [int(row.nonzero()[0]) for row in placed[1:3]],
        "lost": await scored(function, gone),
        "paid": await scored(paying, gone),
        "manager": [await manager.compute_score(one) for one in (trajectory, answer)],
    }
    await scoring.close()
    return found


if __name__ == "__main__":
    say(result=asyncio.run(main(*sys.argv[1:])))
