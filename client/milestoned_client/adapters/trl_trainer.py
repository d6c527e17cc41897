"""TRL's `GRPOTrainer` with rewards at their turn: each turn of an environment has an advantage of
its own, and what is not known leaves the loss.

    class Trainer(TurnRewards, GRPOTrainer): ...

TRL computes one advantage a rollout, and lets subclasses give one a token in its place.
"""

from __future__ import annotations

from typing import Any

import torch
from accelerate.utils import gather_object

from milestoned_client.adapters.trl import RewardEnvironment
from milestoned_client.adapters.turn_rewards import (
    Span,
    advantages_by_turn,
    place_rewards,
    spans_of_mask,
)


class TurnRewards:
    """To be mixed into `GRPOTrainer`, before it, with an `environment_factory` whose environments
    are subclasses of `RewardEnvironment`.

    The advantages are those of GRPO with process supervision (`advantages_by_turn`), or of another
    function of that form that a subclass names as ``advantages``. They are of the environments'
    rewards alone; reward functions are logged and not trained on. Rollouts and turns
    that are not known move no baseline, and are masked.
    """

    advantages = staticmethod(advantages_by_turn)
    _generations = 0

    def _generate_single_turn(self, *given: Any, **more: Any) -> Any:
        """TRL's own, once a turn: the tools that are called after it are steps of that turn."""
        found = super()._generate_single_turn(*given, **more)  # type: ignore[misc]  # TRL's
        for environment in self._environments():
            environment._turn = self._generations
        self._generations += 1
        return found

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        """TRL's own; then the advantages by turn in place of those by rollout.

        Raises `TurnMismatchError` where steps were taken in turns that there are not.
        """
        self._generations = 0
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        written = output["completion_mask"] * output.get("tool_mask", 1)
        spans = [spans_of_mask(row) for row in written.tolist()]
        advantages = self._advantages(spans)
        placed = [
            _spread(row, part, written.size(1)) for row, part in zip(spans, advantages, strict=True)
        ]
        output["advantages"] = torch.tensor(
            [values for values, _ in placed], dtype=torch.float32, device=written.device
        )
        known = torch.tensor([mask for _, mask in placed], device=written.device)
        output["tool_mask"] = known
        trained = self.accelerator.gather((output["completion_mask"] * known).sum())  # type: ignore[attr-defined]
        output["num_items_in_batch"] = trained.sum()
        return output

    def _environments(self) -> list[RewardEnvironment]:
        return list(getattr(self, "environments", None) or ())

    def _advantages(self, spans: list[list[Span]]) -> list[list[float | None]]:
        """The advantages of this process's turns, in groups that processes share."""
        own: list[list[float | None] | None] = []
        for environment, row in zip(self._environments(), spans, strict=True):
            paid = environment._paid_turns(len(row))
            own.append(None if paid is None else paid.rewards)
        rollouts = gather_object(own)
        trainer: Any = self
        size = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        found: list[list[float | None]] = []
        for start in range(0, len(rollouts), size):
            group = rollouts[start : start + size]
            found += type(self).advantages(group, scale=trainer.scale_rewards != "none")
        first = trainer.accelerator.process_index * len(own)
        return found[first : first + len(own)]


def _spread(
    spans: list[Span], advantages: list[float | None], length: int
) -> tuple[list[float], list[int]]:
    """A turn's advantage on each of its tokens, and the mask of the turns that have one."""
    if not advantages:  # the rollout is not known
        return [0.0] * length, [0] * length
    placed = place_rewards(spans, advantages, length)
    values = [0.0] * length
    for (start, end), advantage in zip(spans, advantages, strict=True):
        values[start:end] = [advantage or 0.0] * (end - start)
    return values, list(placed.mask)
