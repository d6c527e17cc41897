"""Harbor: rewards of trials from what the daemon observed, not from what the sandbox says.

    export MILESTONED_TOKEN=…
    harbor run … --plugin milestoned_client.adapters.harbor:MilestonedPlugin \
      --verifier milestoned_client.adapters.harbor:MilestonedVerifier \
      --verifier-kwarg url=http://host:8420 --verifier-kwarg task_id=shop/buy-lamp

The plugin opens an episode when a trial's agent starts, and closes it when the agent ends; the
verifier asks what it was worth. An agent that writes Harbor's reward.json itself changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from harbor.job import Job
from harbor.models.job.plugin import BaseJobPlugin
from harbor.models.job.result import JobResult
from harbor.models.verifier.result import VerifierResult
from harbor.trial.errors import AgentTimeoutError
from harbor.trial.hooks import TrialHookEvent
from harbor.verifier.base import BaseVerifier

from milestoned_client.adapters.harbor_rewards import (
    OPTIONS,
    SETTINGS,
    TrialOptions,
    evidence_of,
    load_function,
    read_options,
    reward_dictionary,
)
from milestoned_client.adapters.rollout import begun
from milestoned_client.adapters.scoring import (
    UNANSWERED,
    Found,
    UnknownRewardError,
    close,
    score,
    shared_async,
)
from milestoned_client.async_client import AsyncEpisode
from milestoned_client.errors import ClientError, ConflictError
from milestoned_client.models import Blame, Closing, Sample

logger = logging.getLogger("milestoned_client.adapters")

PLUGIN = "milestoned_client.adapters.harbor:MilestonedPlugin"
VERIFIER = "milestoned_client.adapters.harbor:MilestonedVerifier"
CUT_OFF = (AgentTimeoutError, asyncio.CancelledError)
"""What ends an agent that was not done."""
Watch = Callable[[TrialHookEvent, AsyncEpisode], Awaitable[None] | None]
"""Starts the daemon of a trial's episode."""


@dataclass(frozen=True, slots=True)
class WatchedTrial:
    """The episode of a trial whose agent runs or ran; ``step``: the one that covers its run."""

    episode: AsyncEpisode
    options: TrialOptions
    step: int

    async def end(self, reason: str) -> None:
        """End what runs and close the episode, once its last step has settled."""
        wait_s = self.options.settings.wait_s
        with contextlib.suppress(ConflictError):  # a harness may have begun steps of its own since
            await self.episode.end_step(self.step, wait_s=wait_s)
        last = (await self.episode.status()).step
        if last is not None:
            await self.episode.reward(last, wait_s=wait_s)
        await self.close(reason)

    async def close(self, reason: str = "the agent ended") -> Closing:
        """Close the episode, or ask again how it was closed. Never as truncated: the reward is
        that of the whole trial, and no value of a last state comes after it."""
        return await self.episode.close(reason, wait_s=self.options.settings.wait_s)

    async def ask_blame(self) -> Blame | None:
        """Ask why the episode failed; None where nobody answers. No reward depends on it."""
        try:
            return await self.episode.blame()
        except ClientError as error:
            logger.warning("episode %s: why it failed is not known: %s", self.episode.id, error)
            return None

    async def ask_score(self) -> Found:
        """Ask what the episode was worth."""
        return (await score([Sample(episode=self.episode.id)], self.options.settings))[0]


_trials: dict[str, WatchedTrial] = {}
"""By the trial's name, from the start of its agent to the end of the trial: Harbor makes the
verifier itself, and gives it nothing that a hook knows but that name."""


class MilestonedPlugin(BaseJobPlugin):  # type: ignore[misc]  # Harbor is not installed here
    """Opens and closes an episode for each trial; `--plugin`. What it needs it reads from the
    verifier's keyword arguments."""

    def __init__(self) -> None:
        super().__init__()
        self._options: TrialOptions | None = None
        self._watch: Watch | None = None

    async def on_job_start(self, job: Job) -> None:
        """Install the hooks. Raises `ValueError` or `TypeError` for wrong keyword arguments."""
        verifier = job.config.verifier
        if verifier.import_path != VERIFIER:
            raise ValueError(
                f"--verifier-import-path: got {verifier.import_path!r}; expected {VERIFIER}"
            )
        self._options = read_options(verifier.kwargs)
        if self._options.watch is not None:
            self._watch = cast(Watch, load_function(self._options.watch))
        job.on_agent_started(self._open)
        job.on_agent_ended(self._end)
        job.on_trial_ended(self._forget)

    async def on_job_end(self, job_result: JobResult) -> None:
        """Give the connections to the service back."""
        await close()

    async def _open(self, event: TrialHookEvent) -> None:
        """Open the trial's episode and have it watched; what fails here fails the trial, before its
        agent has cost anything."""
        options = cast(TrialOptions, self._options)
        client = shared_async(options.settings).client
        agent = event.config.agent
        episode = await client.open(
            options.task_id or event.task_name,
            version=options.version,
            labels={
                "harbor_trial": event.trial_name,
                "harbor_task": event.task_name,
                "agent": agent.name or agent.import_path or "unknown",
            },
            sandbox=options.sandbox,
        )
        try:
            if self._watch is not None:
                started = self._watch(event, episode)
                if inspect.isawaitable(started):
                    await started
            if options.ready_s:
                await episode.wait_ready(options.ready_s)
            step = begun(await episode.step({"harbor": event.trial_name}))
        except BaseException:
            await _close_quietly(episode)
            raise
        _trials[event.trial_name] = WatchedTrial(episode, options, step)

    async def _end(self, event: TrialHookEvent) -> None:
        """Close the trial's episode. An error is left to the verifier: raised here, it would stand
        in the place of the agent's own."""
        trial = _trials.get(event.trial_name)
        if trial is None:
            return
        was_cut_off = isinstance(sys.exc_info()[1], CUT_OFF)
        try:
            await trial.end("the agent was cut off" if was_cut_off else "the agent ended")
        except ClientError as error:
            logger.warning("episode %s could not be closed yet: %s", trial.episode.id, error)

    async def _forget(self, event: TrialHookEvent) -> None:
        _trials.pop(event.trial_name, None)


async def _close_quietly(episode: AsyncEpisode) -> None:
    """Close an episode that no trial will use."""
    try:
        await episode.close("the trial could not begin", wait_s=0)
    except ClientError as error:
        logger.warning("episode %s could not be closed: %s", episode.id, error)


class MilestonedVerifier(BaseVerifier):  # type: ignore[misc]  # Harbor is not installed here
    """Rewards of a trial: `reward`, each component, and `milestone.ID` for each that was paid.

    Keyword arguments are `task_id`, `version`, `sandbox`, `watch`, `ready_s`, and the settings
    `url`, `fold`, `gamma`, `min_known`, `wait_s`, `mask_causes` (see
    `milestoned_client.adapters.settings`). The plugin reads them.
    """

    def __init__(self, **given: Any) -> None:
        ours = (*SETTINGS, *OPTIONS)
        super().__init__(**{name: value for name, value in given.items() if name not in ours})

    async def verify(self) -> VerifierResult:
        """Ask what the trial's episode was worth. Raises `UnknownRewardError` with the reason where
        nobody knows, and the refusal that it is."""
        name = self.trial_paths.trial_dir.name
        trial = _trials.get(name)
        if trial is None:
            raise UnknownRewardError(
                f"the reward is not known: trial {name} has no episode; expected --plugin {PLUGIN}"
            )
        try:
            closing = await trial.close()
        except UNANSWERED as error:
            raise UnknownRewardError(f"the reward is not known: {error}") from error
        self._keep(closing, await trial.ask_blame())
        rewards = reward_dictionary(await trial.ask_score(), closing, trial.options.settings)
        return VerifierResult(rewards=rewards)

    def _keep(self, closing: Closing, blame: Blame | None) -> None:
        """Write what the service said beside the trial's result, where no sandbox reaches it."""
        name = "milestoned.json" if self.step_name is None else f"milestoned-{self.step_name}.json"
        text = json.dumps(evidence_of(closing, blame), indent=1)
        (self.trial_paths.trial_dir / name).write_text(text)
