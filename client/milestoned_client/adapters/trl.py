"""TRL: `GRPOTrainer(reward_funcs=reward_func, …)`, or environments whose reward is ours.

A column of the data set (`label`, `ground_truth`, `extra_info`, `metadata`, `task_id`, `episode_id`
…) says what is scored. What is not known is None, which TRL leaves out of the group, unless a
fall-back is configured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from milestoned_client.adapters.carried import NESTED, REFERENCE, label_of, last_text
from milestoned_client.adapters.rollout import Rollout
from milestoned_client.adapters.scoring import score, worth
from milestoned_client.adapters.settings import settings
from milestoned_client.models import Sample
from milestoned_client.sync_client import Episode


async def reward_func(
    prompts: Sequence[object],
    completions: Sequence[object],
    completion_ids: object = None,
    **columns: object,
) -> list[float | None]:
    """One reward for each completion, in order; None where nobody knows. Raises refusals."""
    asked = settings()
    carried = {
        name: column
        for name in (*REFERENCE, *NESTED)
        if isinstance(column := columns.get(name), list)
    }
    samples = [
        Sample(
            label=label_of({name: column[at] for name, column in carried.items()}),
            answer=last_text(completion),
        )
        for at, completion in enumerate(completions)
    ]
    found = await score(samples, asked)
    if callable(log := columns.get("log_metric")) and found:
        log(
            "milestoned/unknown",
            sum(getattr(one, "reward", None) is None for one in found) / len(found),
        )
    return [worth(one, asked) for one in found]


class RewardEnvironment:
    """Base of a class for `environment_factory`: its public methods are the model's tools, its
    reward is ours.

    A row names an `episode_id` that runs already, or the `task_id` of which an episode is opened.
    """

    def __init__(self) -> None:
        self._settings = settings()
        self._rollout = Rollout(self._settings)

    def reset(self, **row: object) -> object:
        """Open the row's episode; gives what `_opened` gives. Raises `ValueError` for a row that
        names nothing."""
        return self._opened(self._rollout.begin(label_of(row)), row)

    def get_reward(self) -> float | None:
        """Close the episode; all of it, folded. TRL leaves None out."""
        return worth(self._rollout.close_and_score("the rollout ended"), self._settings)

    def _opened(self, episode: Episode, row: Mapping[str, object]) -> object:
        """To be overridden: start sandbox and daemon (with ``episode.id`` and ``episode.token``),
        and give the text that is appended to the prompt, or None."""
        return None

    @contextmanager
    def _acting(self, action: object) -> Iterator[int]:
        """A step, for the body of a tool: ``with self._acting({"click": name}): …``"""
        with self._rollout.acting(action) as step:
            yield step
