"""TRL's own OpenReward support against the service's ORS port: `OpenRewardSpec`, unmodified, and a
`GRPOTrainer` that takes steps with what it makes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import trl
from milestoned_client.adapters.trl import ors_reward_func
from trl.experimental.openreward import OpenRewardSpec

from tests.trainers.harness.say import TOKEN, say
from tests.trainers.harness.trl_trainer import ROLLOUTS, trained

BASE = os.environ["ORS_URL"]
# openreward puts `sessions.` and `api.` before the host of an address, unless it is told.
os.environ |= {"OPENREWARD_SESSION_URL": BASE, "OPENREWARD_API_URL": BASE}
QWEN = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"


def specify(env_name: str) -> Any:
    """TRL's specification of an environment of ours."""
    return OpenRewardSpec(BASE, env_name=env_name, api_key=TOKEN)


def acted(spec: Any, *actions: str) -> dict[str, Any]:
    """One rollout: the steps of a model that calls the tools, then what each function pays."""
    environment = spec.environment_factory()
    prompt = environment.reset(**spec.train_dataset[0])
    for action in actions:
        environment.step(action=action)
    environment.end_step()
    rewards = list(environment.rewards)
    own = spec.reward_funcs(environments=[environment])
    said = [[{"role": "assistant", "content": "Bought."}]]
    ours = ors_reward_func([environment], said)
    found = {
        "prompt": prompt,
        "rewards": rewards,
        "finished": environment.finished,
        "own": own,
        "ours": ours,
    }
    environment._close()
    return found


def main() -> dict[str, Any]:
    shop, quiz = specify("shop"), specify("quiz")
    rows = list(quiz.train_dataset)
    return {
        "rows": list(shop.train_dataset),
        "shop": acted(shop, "cart", "buy"),
        "lost": acted(shop, "cart", "buy", "look", "die"),
        "trained": trained(
            rows * ROLLOUTS,
            QWEN.read_text(),
            reward_funcs=ors_reward_func,
            environment_factory=quiz.environment_factory,
        ),
    }


if __name__ == "__main__":
    say(result=main())
