"""A model that is reached by a link: when the link leads elsewhere, the next question is put to the
new model.

Nothing is restarted, and a question that was begun is ended by the model that began it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import structlog

from api.stages.base import Opinion, Question
from api.stages.model.folder import ModelError, load
from api.stages.model.stage import RISK, ModelStage
from detectors.model.types import Event, Json

LOOK_S = 2.0
"""Seconds between two looks at the link."""
MAX_BEGUN = 1_000
log = structlog.get_logger(__name__)


class FollowedModel:
    """The stage ``model`` behind a link. A model that can't be loaded changes nothing: the one
    before goes on, and the log says why."""

    name: Literal["model"] = "model"
    one_thread = True

    def __init__(
        self, link: Path, risk: float = RISK, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._link, self._risk, self._clock = link, risk, clock
        self._target = os.readlink(link)
        self._stage = ModelStage(load(link), risk)
        self._looked = clock()
        self._begun: dict[int, tuple[Question, ModelStage]] = {}

    @property
    def signature(self) -> str:
        """The ``by`` of the verdicts that the model gives now."""
        return self._stage.signature

    def digest(self, question: Question) -> str:
        """Hash all that the answer depends on, the model that will give it among it."""
        self._follow()
        self._begun[id(question)] = (question, self._stage)
        if len(self._begun) > MAX_BEGUN:
            self._begun.pop(next(iter(self._begun)))
        return self._stage.digest(question)

    def read(self, episode: str, task: Mapping[str, Json], events: Sequence[Event]) -> int:
        """Let the model that is served now read a part of a log, as `ModelStage.read` does."""
        return self._stage.read(episode, task, events)

    async def ask(self, question: Question) -> Opinion:
        """Return the opinion of the model that the question's digest named."""
        begun = self._begun.pop(id(question), None)
        stage = self._stage if begun is None or begun[0] is not question else begun[1]
        return await stage.ask(question)

    def _follow(self) -> None:
        """Load what the link leads to, if it leads elsewhere than before."""
        now = self._clock()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        try:
            target = os.readlink(self._link)
            if target == self._target:
                return
            self._target = target
            self._stage = ModelStage(load(self._link), self._risk)
        except (OSError, ModelError) as error:
            log.error("The model was not loaded; the one before goes on.", why=str(error))
            return
        log.info("Another model is served.", model=self._stage.signature)
