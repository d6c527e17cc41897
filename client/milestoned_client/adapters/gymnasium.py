"""Gymnasium: a wrapper that pays an environment's steps with the service's rewards; BrowserGym's
and MiniWoB's too.

    env = RewardServiceWrapper(gym.make("browsergym/miniwob.click-test"), task="miniwob/click-test",
    watch=start_daemon)

`watch` is called with each opened episode, after the environment's own reset: it starts the daemon
that watches the sandbox, and may give its state folder (`ControlDir`), so that steps go to it
directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsFloat, TypeVar, Unpack

import gymnasium

from milestoned_client.adapters.paid import Paid
from milestoned_client.adapters.rollout import Rollout, Watch
from milestoned_client.adapters.settings import GivenSettings, settings

Observation = TypeVar("Observation")
Action = TypeVar("Action")


class RewardServiceWrapper(gymnasium.Wrapper[Observation, Action, Observation, Action]):
    """An episode of ``task`` for each reset, a step of it for each step.

    The last step's reward includes what the close decides. `info` has `episode_id`,
    `reward_components`, `milestones`, `success`, `mask_sample`, `failure_reason` and, in
    `env_reward`, what the environment itself would have paid. A reset with ``options={"task_id":
    …}`` opens another task. Settings are those of `adapters.settings`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Observation, Action],
        task: str,
        *,
        version: str | None = None,
        labels: Mapping[str, str | int | float | bool] | None = None,
        watch: Watch | None = None,
        **given: Unpack[GivenSettings],
    ) -> None:
        super().__init__(env)
        self._task, self._version, self._labels, self._watch = task, version, labels, watch
        self._settings = settings(**given)
        self._rollout = Rollout(self._settings)

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[Observation, dict[str, object]]:
        """Reset the environment and open an episode. Raises refusals, and what ``watch`` raises."""
        self._rollout.abandon("the environment was reset")
        observation, info = self.env.reset(seed=seed, options=options)
        task = str((options or {}).get("task_id") or self._task)
        episode = self._rollout.open(
            task, version=self._version, labels=self._labels, seed=seed, watch=self._watch
        )
        return observation, {**info, "episode_id": episode.id}

    def step(
        self, action: Action
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, object]]:
        """A step, paid by the service. Raises `UnknownRewardError` where nobody knows and there is
        no fall-back."""
        id = self._rollout.id
        with self._rollout.acting_for_pay(action):
            observation, own, terminated, truncated, info = self.env.step(action)
        ended = "it terminated" if terminated else "it was truncated" if truncated else None
        paid = (
            self._rollout.close(ended, truncated=not terminated) if ended else self._rollout.paid()
        )
        told = {**info, "episode_id": id, "env_reward": float(own), **_info(paid)}
        return observation, paid.amount(self._settings), terminated, truncated, told

    def close(self) -> None:
        """Close the episode that runs, and the environment."""
        self._rollout.abandon("the environment was closed")
        self.env.close()


def _info(paid: Paid) -> dict[str, object]:
    return {
        "reward_components": dict(paid.components),
        "milestones": paid.milestones,
        "success": paid.success,
        "mask_sample": paid.reward is None,
        "failure_reason": paid.reason,
    }
