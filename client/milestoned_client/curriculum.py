"""A sampler of tasks by the weights of `GET /v1/curriculum`, as a trainer's data loader."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from milestoned_client.calls import Call, decode_as, get
from milestoned_client.models import CurriculumPage, TaskProgress


class CurriculumSampler:
    """Draws the ids of tasks, each with a chance of its weight; the same seed draws the same ones.

    Iterating over it never ends. `update` takes newer weights and goes on with the same draws.
    Raises ValueError where there is no task to draw.
    """

    def __init__(self, tasks: Sequence[TaskProgress], seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.update(tasks)

    def update(self, tasks: Sequence[TaskProgress]) -> None:
        """Draw by these weights from now on."""
        if not tasks:
            raise ValueError("tasks: expected at least one registered task, got none")
        self._names = [task.task for task in tasks]
        self._weights = [task.weight for task in tasks]

    def draw(self, n: int) -> list[str]:
        """Return the ids of ``n`` tasks, drawn with replacement."""
        return self._random.choices(self._names, self._weights, k=n)

    def __iter__(self) -> Iterator[str]:
        """Draw one task after the other, without end."""
        while True:
            yield from self.draw(1)


def curriculum(policy: str | None, group: str, window: int) -> Call[CurriculumPage]:
    """Make the call that reads it; `AsyncRewardClient.curriculum` has the options."""
    decode = decode_as(CurriculumPage)
    return get("/v1/curriculum", decode, policy=policy, group=group, window=window)
