"""SkyRL: an environment whose step rewards are ours. SkyRL keeps them: each lands on its turn's
last token. `RewardGenerator` (skyrl_generator.py) also masks the turns that are not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from milestoned_client.adapters.carried import label_of, last_text
from milestoned_client.adapters.paid import Paid, payout_of
from milestoned_client.adapters.paid_turns import close_and_read_turns_now
from milestoned_client.adapters.rollout import Rollout
from milestoned_client.adapters.scoring import score_now
from milestoned_client.adapters.settings import GivenSettings, settings
from milestoned_client.models import Sample
from milestoned_client.sync_client import Episode

Messages = list[dict[str, str]]
TURN_LOG = "milestoned_turns"
"""The member of an environment's extras in which `RewardGenerator` hands it a `TurnLog`."""


class TurnLog:
    """What a rollout's environment tells its generator: itself, and once it is closed what each
    turn paid (None: not known)."""

    def __init__(self) -> None:
        self.env: RewardTextEnv | None = None
        self.rewards: list[float | None] = []


class RewardTextEnv(BaseTextEnv):  # type: ignore[misc]  # SkyRL is not installed where this is checked
    """As it is: one turn, whose text is scored by the task (or episode) that `extras` name.

    A subclass with a sandbox overrides `opened` and `act`: then each rollout opens an episode of
    the task, since SkyRL tells an environment nothing that would tell rollouts of one prompt apart,
    and each turn is a step.
    """

    def __init__(
        self,
        env_config: object = None,
        extras: Mapping[str, Any] | None = None,
        **given: Unpack[GivenSettings],
    ) -> None:
        super().__init__()
        extras = extras or {}
        self._settings = settings(**given)
        self._rollout = Rollout(self._settings)
        spec = extras.get("reward_spec")
        self._label = label_of(extras, spec if isinstance(spec, Mapping) else None)
        self.max_turns = int(extras.get("max_turns", 1))
        self._episode_id: str | None = None
        self._log: TurnLog | None = extras.get(TURN_LOG)
        if self._log is not None:
            self._log.env = self

    def opened(self, episode: Episode) -> Messages:
        """To be overridden: start sandbox and daemon; gives messages that follow the prompt."""
        return []

    def act(self, action: str) -> tuple[Messages, bool]:
        """To be overridden: do what the text says; gives the messages that answer it, and whether
        it was the last."""
        raise NotImplementedError

    @property
    def _acts(self) -> bool:
        return type(self).act is not RewardTextEnv.act

    def init(self, prompt: Messages) -> tuple[Messages, dict[str, str]]:
        """Open the rollout's episode, if it has a sandbox. Raises `ValueError` where the extras
        name none."""
        if not self._acts:
            return prompt, {}
        episode = self._rollout.begin(self._label)
        self._episode_id = episode.id
        return [*prompt, *self.opened(episode)], {"episode_id": episode.id}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """A turn. Raises `UnknownRewardError` where nobody knows its reward and there is no
        fall-back."""
        self.turns += 1
        if not self._acts:
            sample = Sample(label=self._label, answer=last_text(action))
            return self._output(payout_of(score_now([sample], self._settings)[0]), [], True)
        with self._rollout.acting_for_pay({"text": action}):
            seen, last = self.act(action)
        done = last or self.turns >= self.max_turns
        paid = self._rollout.close("the rollout ended") if done else self._rollout.paid()
        return self._output(paid, [] if done else seen, done)

    def close(self) -> None:
        """Close an episode that still runs. Where a generator asks for the turns' rewards, raises
        `UnknownRewardError` for a rollout that is not known."""
        if self._log is None or self._episode_id is None:
            self.abandon()
            return
        if self._rollout.is_open:  # at a limit of tokens
            # Never as truncated: SkyRL gives what follows the last token the value 0.
            self._rollout.close("the rollout was cut off")
        paid = close_and_read_turns_now(self._episode_id, self.turns, self._settings)
        self._log.rewards = paid.rewards

    def abandon(self) -> None:
        """Close an episode that still runs; nobody waits for what it was worth."""
        self._rollout.abandon("the rollout was given up")

    def _output(self, paid: Paid, seen: Messages, done: bool) -> BaseTextEnvStepOutput:
        told = {**paid.logs(), "reward_components": dict(paid.components)}
        return BaseTextEnvStepOutput(
            observations=seen, reward=self._amount(paid), done=done, metadata=told
        )

    def _amount(self, paid: Paid) -> float:
        if self._log is None:
            return paid.amount(self._settings)
        if not self._acts:
            self._log.rewards = [paid.amount(self._settings)]
        elif self._settings.fold != "known":
            return paid.amount(self._settings)
        # SkyRL wants a number; the generator puts the turns' rewards and their mask in its place.
        return paid.reward or 0.0
