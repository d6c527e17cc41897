"""OpenRLHF's agent mode: one instance a rollout, each turn a step of the rollout's own episode."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, TypedDict

from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

from milestoned_client.adapters.carried import label_of, last_text, parse_label
from milestoned_client.adapters.paid import Paid, payout_of, together
from milestoned_client.adapters.rollout import begun
from milestoned_client.adapters.scoring import (
    UNANSWERED,
    UnknownRewardError,
    score,
    shared_async,
)
from milestoned_client.adapters.settings import settings
from milestoned_client.async_client import AsyncEpisode
from milestoned_client.models import Fold, Sample

logger = logging.getLogger("milestoned_client.adapters")


class Number(float):
    """A reward as OpenRLHF reads it: it calls `.item()`, as of a tensor."""

    def item(self) -> float:
        """Return the number, as a tensor of one element does."""
        return float(self)


class TurnResult(TypedDict):
    """What OpenRLHF takes of a turn."""

    rewards: Number
    scores: float
    environment_feedback: str
    done: bool
    extra_logs: dict[str, float]


class RewardAgentInstance(AgentInstanceBase):  # type: ignore[misc]  # OpenRLHF is not installed where this is checked
    """As it is: one turn, whose text is scored by the task (or episode) that the label names.

    A subclass with a sandbox overrides `opened` and `act`: then each rollout opens an episode of
    the label's task, since all rollouts of a prompt share its label, and each turn is a step.
    """

    def __init__(self, *_args: object, **_more: object) -> None:
        self._settings = settings()
        self._episode: AsyncEpisode | None = None
        self._step, self._total, self._is_closed = 0, 0.0, False

    async def opened(self, episode: AsyncEpisode) -> str:
        """To be overridden: start sandbox and daemon; gives text that is appended to the prompt."""
        return ""

    async def act(self, action: str) -> tuple[str, bool]:
        """To be overridden: do what the text says; gives the text that answers it, and whether it
        was the last."""
        raise NotImplementedError

    async def reset(self, states: Mapping[str, object], **_more: object) -> dict[str, str]:
        """Open the rollout's episode, if it has a sandbox. Raises `ValueError` where the label
        names none."""
        seen = str(states["observation"])
        if type(self).act is not RewardAgentInstance.act:
            where, client = (
                parse_label(label_of(states.get("label"))),
                shared_async(self._settings).client,
            )
            if where.episode:
                self._episode = client.episode(where.episode)
            else:
                self._episode = await client.open(where.task or "", version=where.version)
            seen += await self.opened(self._episode)
        return {"observation": seen}

    async def step(self, state_dict: Mapping[str, object], **_more: object) -> TurnResult:
        """A turn. Raises `UnknownRewardError` where nobody knows its reward and there is no
        fall-back."""
        text = last_text(state_dict["action_text"])
        if self._episode is None:
            sample = Sample(label=label_of(state_dict.get("label")), answer=text)
            return self._result(payout_of((await score([sample], self._settings))[0]), "", True)
        self._step = begun(await self._episode.step(action={"text": text}))
        feedback, done = await self.act(text)
        self._is_closed = done
        paid = await self._paid(self._episode, done)
        if self._settings.fold == "known":
            return await self._fold_known(self._episode, paid, feedback, done)
        return self._result(paid, feedback, done)

    async def cut_off(self) -> TurnResult | None:
        """Close the episode of a rollout that a limit of tokens ended before its last turn; what it
        pays in addition. None where it is closed, or there is none.

        Raises `UnknownRewardError` where nobody knows its reward and there is no fall-back."""
        if self._episode is None or self._is_closed:
            return None
        self._is_closed = True
        fold: Fold = "known" if self._settings.fold == "known" else "sum"
        try:
            await self._episode.reward(self._step, wait_s=self._settings.wait_s)
            # Never as truncated: OpenRLHF gives what follows the last token the value 0.
            await self._episode.close("the rollout was cut off", wait_s=self._settings.wait_s)
            sample = Sample(episode=self._episode.id)
            whole = payout_of((await score([sample], replace(self._settings, fold=fold)))[0])
        except UNANSWERED as error:
            whole = Paid(None, str(error))
        return self._turn_result(whole.amount(self._settings) - self._total, whole, "", True)

    async def abandon(self) -> None:
        """Close the episode of a rollout that ended with an error, so that its daemon ends too."""
        if self._episode is None:
            return
        try:
            await self._episode.close("the rollout was given up", wait_s=0)
        except UNANSWERED as error:
            logger.warning("episode %s stays open: %s", self._episode.id, error)

    async def _fold_known(
        self, episode: AsyncEpisode, paid: Paid, feedback: str, done: bool
    ) -> TurnResult:
        """A turn under `fold=known`. OpenRLHF adds all turns up: the last one pays what makes the
        sum that of the whole rollout, so that a turn that is not known adds nothing."""
        if not done:
            return self._turn_result(paid.reward or 0.0, paid, feedback, done)
        whole = payout_of((await score([Sample(episode=episode.id)], self._settings))[0])
        return self._turn_result(whole.amount(self._settings) - self._total, whole, feedback, done)

    async def _paid(self, episode: AsyncEpisode, done: bool) -> Paid:
        """The step's worth; of the last one with what the close decides: what was paid before is
        not paid again."""
        try:
            # A close would seal at once.
            reward = (await episode.seal_step(self._step, wait_s=self._settings.wait_s)).reward
            if not reward.settled:
                reward = await episode.reward(self._step, wait_s=self._settings.wait_s)
            if not done:
                return together([reward])
            closing = await episode.close("the rollout ended", wait_s=self._settings.wait_s)
        except UNANSWERED as error:
            return Paid(None, str(error))
        if closing.status != "closed":
            return Paid(None, "milestoned:settling: the episode is not closed yet")
        return together([one for one in closing.rewards if one.step >= self._step])

    def _result(self, paid: Paid, feedback: str, done: bool) -> TurnResult:
        return self._turn_result(paid.amount(self._settings), paid, feedback, done)

    def _turn_result(self, value: float, paid: Paid, feedback: str, done: bool) -> TurnResult:
        self._total += value
        return {
            "rewards": Number(value),
            "scores": min(1.0, max(0.0, self._total)),
            "environment_feedback": feedback,
            "done": done,
            "extra_logs": paid.logs(),
        }


class AgentExecutor(MultiTurnAgentExecutor):  # type: ignore[misc]
    """What OpenRLHF looks for in the file of `--train.agent_func_path`; a subclass names its own
    ``instance``."""

    instance: type[RewardAgentInstance] = RewardAgentInstance

    def __init__(self, agent_instance_cls: type[RewardAgentInstance] | None = None) -> None:
        super().__init__(agent_instance_cls or self.instance)

    async def execute(
        self, prompt: object, label: object, sampling_params: object, *rest: Any, **more: Any
    ) -> dict[str, Any]:
        """Generate a rollout; one whose reward is not known again, ``resample`` times at most.

        OpenRLHF has no mask for a rollout, and any number in its place would move the baseline of
        the group. Raises `UnknownRewardError` where none is known after that.
        """
        left = settings().resample
        while True:
            try:
                # Each attempt shrinks the budget of tokens in the parameters that it is given.
                return await self._attempt(prompt, label, deepcopy(sampling_params), *rest, **more)
            except UnknownRewardError as error:
                if not left:
                    raise
                left -= 1
                logger.warning("a rollout is generated again: %s", error)

    async def _attempt(self, *given: Any, **more: Any) -> dict[str, Any]:
        """One rollout of an instance of its own, which is closed where it raises."""
        instance = self.agent_instance_cls()
        of_one = copy(self)
        of_one.agent_instance_cls = lambda: instance
        try:
            rollout: dict[str, Any] = await super(AgentExecutor, of_one).execute(*given, **more)
            rest = await instance.cut_off()
        except BaseException:
            await instance.abandon()
            raise
        if rest is None:
            return rollout
        reward = rollout["reward"] + float(rest["rewards"])
        return {**rollout, "reward": reward} | {key: rest[key] for key in ("scores", "extra_logs")}
