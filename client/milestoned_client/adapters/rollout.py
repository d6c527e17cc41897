"""A rollout that is stepped by blocking code: its episode, its steps, and what each was worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from milestoned_client.adapters.carried import parse_label, plain
from milestoned_client.adapters.paid import Paid, together
from milestoned_client.adapters.scoring import UNANSWERED, Found, score_now, shared_client
from milestoned_client.adapters.settings import AdapterSettings
from milestoned_client.control import Control, ControlDir
from milestoned_client.errors import PeerUnreachableError
from milestoned_client.models import Closing, Noted, Reward, Sample
from milestoned_client.sync_client import Episode, RewardClient

Watch = Callable[[Episode], Control | ControlDir | None]
"""Starts the daemon of an episode that was just opened; gives its state folder, for steps that go
to it directly."""


class Rollout:
    """One episode after the other. The one that runs is closed by the next."""

    def __init__(self, settings: AdapterSettings) -> None:
        self._settings = settings
        self._episode: Episode | None = None
        self._own: RewardClient | None = None
        self._step: int | None = None
        self._reward: Reward | None = None

    @property
    def id(self) -> str:
        """The episode's id. Raises `LookupError` before the first one."""
        return self._now.id

    @property
    def is_open(self) -> bool:
        """Whether an episode was opened and is not closed yet."""
        return self._episode is not None

    @property
    def _now(self) -> Episode:
        if self._episode is None:
            raise LookupError("episode: none was opened; wanted a reset first")
        return self._episode

    def open(
        self,
        task: str,
        *,
        version: str | None = None,
        labels: Mapping[str, str | int | float | bool] | None = None,
        seed: int | None = None,
        watch: Watch | None = None,
    ) -> Episode:
        """Open an episode of ``task``, and have it watched. The episode before is closed."""
        self.abandon("the next rollout began")
        self._episode = shared_client(self._settings).open(
            task, version=version, labels=labels, seed=seed
        )
        opened = self._episode.opened
        control = watch(self._episode) if watch is not None else None
        if control is not None:
            self._own = RewardClient(self._settings.url, self._settings.token, control=control)
            self._episode = Episode(self._own, self._episode.id, opened)
        return self._episode

    def attach(self, episode: str) -> Episode:
        """Go on with an episode that was opened elsewhere."""
        self.abandon("the next rollout began")
        self._episode = shared_client(self._settings).episode(episode)
        return self._episode

    def begin(self, label: object) -> Episode:
        """Go on with the episode that a label names, or open one of its task. Raises `ValueError`
        for neither."""
        where = parse_label(label)
        return (
            self.attach(where.episode)
            if where.episode
            else self.open(where.task or "", version=where.version)
        )

    @contextmanager
    def acting(self, action: object) -> Iterator[int]:
        """A step: it begins here and ends with the block. One whose action raised is left to the
        close.

        Raises `PeerUnreachableError`, before anything is done, where no daemon takes note of it.
        """
        step = begun(self._now.step(action=plain(action)))
        yield step
        self._now.end_step()
        self._step = step

    @contextmanager
    def acting_for_pay(self, action: object) -> Iterator[int]:
        """A step as in `acting`, whose end waits for the reward that `paid` is asked for next: one
        request instead of two."""
        step = begun(self._now.step(action=plain(action)))
        self._reward = None
        yield step
        try:
            self._reward = self._now.seal_step(step, wait_s=self._settings.wait_s).reward
        except UNANSWERED:
            self._now.end_step(step)  # it may not have ended; its reward is asked for by `paid`
        self._step = step

    def paid(self) -> Paid:
        """What the step that just ended was worth."""
        step, known = self._step or 0, self._reward
        if known is not None and known.step == step and known.settled:
            return together([known])
        try:
            return together([self._now.reward(step, wait_s=self._settings.wait_s)])
        except UNANSWERED as error:
            return Paid(None, str(error))

    def close(self, reason: str, *, truncated: bool = False) -> Paid:
        """Close the episode: what its last step and the close after it were worth together."""
        since = self._step or 0
        try:
            closing = self._close(reason, truncated)
        except UNANSWERED as error:
            return Paid(None, str(error))
        if closing.status != "closed":
            return Paid(None, "milestoned:settling: the episode is not closed yet")
        return together([one for one in closing.rewards if one.step >= since])

    def close_and_score(self, reason: str) -> Found:
        """Close the episode: what all of it was worth, folded as the settings say."""
        id = self.id
        try:
            self._close(reason)
        except UNANSWERED as error:
            return error
        return score_now([Sample(episode=id)], self._settings)[0]

    def _close(self, reason: str, truncated: bool = False) -> Closing:
        """A close seals at once, so the last step is first given the time that any step has to
        settle."""
        episode = self._now
        try:
            if self._step is not None:
                episode.reward(self._step, wait_s=self._settings.wait_s)
            return episode.close(reason, truncated=truncated, wait_s=self._settings.wait_s)
        finally:
            self._forget()

    def abandon(self, reason: str) -> None:
        """Close the episode if one runs; nobody waits for what it was worth."""
        if self._episode is not None:
            try:
                self._episode.close(reason, wait_s=0)
            finally:
                self._forget()

    def _forget(self) -> None:
        if self._own is not None:
            self._own.close()
        self._episode, self._own, self._step = None, None, None


def begun(noted: Noted) -> int:
    """The step that began, as the journal has it: what is done before its begin would be
    nobody's."""
    if noted.step is None or noted.queued:
        raise PeerUnreachableError("step: no daemon of the episode took note of its begin in time")
    return noted.step
