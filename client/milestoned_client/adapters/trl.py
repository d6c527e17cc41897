"""TRL: `GRPOTrainer(reward_funcs=reward_func, …)`, or environments whose reward is ours.

A column of the data set (`label`, `ground_truth`, `extra_info`, `metadata`, `task_id`, `episode_id`
…) says what is scored. What is not known is None, which TRL leaves out of the group, unless a
fall-back is configured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from milestoned_client.adapters.carried import NESTED, REFERENCE, label_of, last_text
from milestoned_client.adapters.paid_turns import PaidTurns, close_and_read_turns_now
from milestoned_client.adapters.rollout import Rollout
from milestoned_client.adapters.scoring import UnknownRewardError, score, worth
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
        self._episode_id: str | None = None
        self._turn = 0
        self._step_turns: list[int] = []
        """The turn in which each step was begun; `TurnRewards` says which turn it is."""

    def reset(self, **row: object) -> object:
        """Open the row's episode; gives what `_opened` gives. Raises `ValueError` for a row that
        names nothing."""
        episode = self._rollout.begin(label_of(row))
        self._episode_id, self._turn, self._step_turns = episode.id, 0, []
        return self._opened(episode, row)

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
            self._step_turns.append(self._turn)
            yield step

    def _paid_turns(self, turns: int) -> PaidTurns | None:
        """What each of the ``turns`` paid, once `get_reward` closed the episode; None where the
        rollout is not known."""
        if self._episode_id is None:
            return None
        try:
            return close_and_read_turns_now(
                self._episode_id, turns, self._settings, self._step_turns
            )
        except UnknownRewardError:
            return None


class OrsEnvironment(Protocol):
    """What is used of an environment of `trl.experimental.openreward`."""

    finished: bool
    metadata: list[dict[str, Any] | None]

    def _call_ors_tool(self, tool_name: str, tool_input: dict[str, Any]) -> str: ...


def ors_reward_func(
    environments: Sequence[OrsEnvironment], completions: Sequence[object], **_columns: object
) -> list[float | None]:
    """One reward for each rollout of `OpenRewardSpec` against a service's ORS port: the sum of its
    calls, None where one is not known.

    The completion's last words are given as the final answer, which ends the episode: TRL lists the
    standard's terminal tool to nobody. TRL's own function takes the last reward that is not null,
    and so passes over a step that is not known.
    """
    rewards = []
    for environment, completion in zip(environments, completions, strict=True):
        if not environment.finished:
            environment._call_ors_tool("answer", {"text": last_text(completion)})
        rewards.append(_sum_calls(environment.metadata))
    return rewards


def _sum_calls(metadata: Sequence[Mapping[str, Any] | None]) -> float | None:
    """The sum of the steps that calls completed; None where a call failed or a step has none, or
    the session masks what the episode failed for."""
    if any(call is None or call["status"] == "masked" for call in metadata):
        return None
    paid = [reward["reward"] for call in metadata if call for reward in call["rewards"]]
    return sum(paid) if paid and None not in paid else None
