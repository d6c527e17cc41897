"""SkyRL's generator, with a mask for turns that are not known.

SkyRL's own generator places the rewards of `RewardTextEnv` on the turns' last tokens, but takes no
unknown reward. This one masks an unknown turn under `fold=known`, and generates a rollout again
whose reward is not known.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator

from milestoned_client.adapters.scoring import UnknownRewardError
from milestoned_client.adapters.settings import settings
from milestoned_client.adapters.skyrl import TURN_LOG, TurnLog
from milestoned_client.adapters.turn_rewards import place_rewards, spans_of_mask

logger = logging.getLogger("milestoned_client.adapters")


class RolloutOutput(Protocol):
    """What is read and written of SkyRL's `TrajectoryOutput`."""

    loss_mask: list[int]
    reward: list[float] | float


class RewardGenerator(SkyRLGymGenerator):  # type: ignore[misc]  # SkyRL is not installed where this is checked
    """What `BasePPOExp.get_generator` of a SkyRL entry point returns; environments are subclasses
    of `RewardTextEnv`."""

    async def agent_loop(
        self,
        prompt: object,
        env_class: str,
        env_extras: dict[str, Any],
        *rest: object,
        **more: object,
    ) -> object:
        """Generate a rollout; one whose reward is not known again, ``resample`` times at most.

        SkyRL's group baselines count every rollout, so a placeholder would move them. Raises
        `UnknownRewardError` where none is known after that.
        """
        left = settings().resample
        while True:
            log = TurnLog()
            extras = {**env_extras, TURN_LOG: log}
            try:
                return await super().agent_loop(prompt, env_class, extras, *rest, **more)
            except UnknownRewardError as error:
                if log.env is not None:
                    await self._run_in_executor_if_available(log.env.abandon)
                if not left:
                    raise
                left -= 1
                logger.warning("a rollout is generated again: %s", error)

    def _post_process_agent_loop_output(
        self, agent_loop_output: Any, env_extras: dict[str, Any], trajectory_id: object
    ) -> object:
        """SkyRL's hook: place the turns' rewards, and mask the turns that are not known."""
        output = super()._post_process_agent_loop_output(
            agent_loop_output, env_extras, trajectory_id
        )
        log = env_extras[TURN_LOG]
        if log.env is not None:
            _place(getattr(output, "step_outputs", None) or [output], log.rewards)
        return output


def _place(outputs: Sequence[RolloutOutput], rewards: list[float | None]) -> None:
    """Place ``rewards`` in the one output of a rollout, or in the outputs of its turns, one each.

    Raises `TurnMismatchError` where there are not as many turns.
    """
    parts = [rewards] if len(outputs) == 1 else [[reward] for reward in rewards]
    for output, part in zip(outputs, parts, strict=True):
        placed = place_rewards(spans_of_mask(output.loss_mask), part, len(output.loss_mask))
        output.reward = placed.tensor_values()
        output.loss_mask = [
            is_trained * is_known
            for is_trained, is_known in zip(output.loss_mask, placed.mask, strict=True)
        ]
