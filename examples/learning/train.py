"""One run: Stable-Baselines3's PPO on the page, paid over HTTP by the service. In the environment
`.venv-learning`.

    python -m examples.learning.train KIND SEED PAGE OUT --most STEPS --executable CHROMIUM

MILESTONED_URL and MILESTONED_TOKEN say where the service is. OUT gets what is in `Run`, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from milestoned_client.adapters.gymnasium import RewardServiceWrapper
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from examples.learning.browser import BUTTONS, Shop, observe
from examples.learning.tasks import GAMMA, KINDS, PLACES

WINDOW, ENOUGH = 20, 0.8
PATIENCE_S = 120.0
"""How long a reward is waited for: one that is not known then ends the run, and a busy machine is
slow."""
SETTINGS: dict[str, Any] = {
    "n_steps": 48,
    "batch_size": 48,
    "n_epochs": 10,
    "learning_rate": 0.06,
    "gamma": GAMMA,
    "gae_lambda": 0.9,
    "ent_coef": 0.003,
    # where nothing was paid yet there is nothing to learn, and noise is not blown up
    "normalize_advantage": False,
    "policy_kwargs": {"net_arch": []},
}
"""The same for every kind of reward."""


@dataclass
class Run:
    """``episodes``: environment steps when each ended, and whether it reached the goal;
    ``reached``: the step at which 80 % of the last 20 had (None: never); ``policy``: the button
    that the agent ends with at each place."""

    kind: str
    seed: int
    most: int
    episodes: list[tuple[int, bool]] = field(default_factory=list)
    reached: int | None = None
    policy: list[int] = field(default_factory=list)
    steps: int = 0
    seconds: float = 0.0


class Noting(BaseCallback):
    """Notes each episode's end; ends the run once the last 20 episodes all reached the goal."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def _on_step(self) -> bool:
        run = self._run
        if self.locals["dones"][0]:
            info = self.locals["infos"][0]
            won = not info["TimeLimit.truncated"]
            if info["success"] is not won:
                raise RuntimeError(
                    f"the page says {won}, the service success={info['success']}: {info}"
                )
            run.episodes.append((self.num_timesteps, won))
        last = [success for _, success in run.episodes[-WINDOW:]]
        if len(last) < WINDOW:
            return True
        if run.reached is None and sum(last) >= ENOUGH * WINDOW:
            run.reached = self.num_timesteps
        return not all(last)


def agent(env: Any, seed: int) -> PPO:
    """A policy that begins by pressing every button alike, and knows of each place on its own."""
    made = PPO("MlpPolicy", env, seed=seed, **SETTINGS)
    made.policy.action_net.bias.requires_grad_(
        False
    )  # shared by all places, what one taught would be held at others
    for part in (
        made.policy.action_net.weight,
        made.policy.action_net.bias,
        made.policy.value_net.weight,
    ):
        torch.nn.init.zeros_(part)
    return made


def run(kind: str, seed: int, page: str, most: int, executable: str) -> Run:
    """Learn until all of 20 episodes end at the goal, or for ``most`` steps."""
    torch.set_num_threads(1)
    found, began = Run(kind, seed, most), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(page, os.environ["MILESTONED_URL"], Path(folder), executable)
        env = RewardServiceWrapper(
            shop, f"learning/{kind}", labels={"seed": seed}, watch=shop.watch, wait_s=PATIENCE_S
        )
        try:
            learner = agent(env, seed)
            learner.learn(most, callback=Noting(found))
            found.steps = learner.num_timesteps
            found.policy = [
                int(learner.predict(observe(place), deterministic=True)[0]) for place in PLACES[:-1]
            ]
        finally:
            env.close()
    assert all(0 <= button < BUTTONS for button in found.policy)
    found.seconds = round(time.monotonic() - began, 1)
    return found


def main() -> None:
    """Train one learner as the arguments say, and write its run."""
    parser = argparse.ArgumentParser(prog="python -m examples.learning.train", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seed", type=int)
    parser.add_argument("page")
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, required=True)
    parser.add_argument("--executable", required=True)
    given = parser.parse_args()
    found = run(given.kind, given.seed, given.page, given.most, given.executable)
    given.out.write_text(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
