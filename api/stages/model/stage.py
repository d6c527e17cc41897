"""The reward model as a stage of the cascade: a question in, a verdict with its confidence or an
abstention out."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from api.stages.base import Opinion, Question
from api.stages.model.calibration import gate, sigmoid
from api.stages.model.features import FeatureReader, Row, with_rewards
from api.stages.model.folder import Model, ModelError, find, load
from api.stages.model.summing import summed
from detectors.model.types import Event, Verdict

RISK = 0.05
"""Of the answers, how many may be wrong, unless the operator says another share."""
READERS = 256
"""Episodes whose folded logs are kept, so that a step costs what is new in it."""


class ModelStage:
    """One loaded model at one risk. Holds no state that an answer depends on; what it keeps only
    saves time."""

    name: Literal["model"] = "model"
    one_thread = True
    """The readers that are kept are of whoever calls, and of nobody beside."""

    def __init__(self, model: Model, risk: float = RISK) -> None:
        if not 0 < risk < 0.5:
            raise ModelError(f"risk is {risk}, wanted more than 0 and less than 0.5")
        self.model = model
        self.risk = risk
        self._gates = {
            level: gate(calibration, risk) for level, calibration in model.calibration.items()
        }
        self._readers: OrderedDict[tuple[str, str], tuple[FeatureReader, Event | None]] = (
            OrderedDict()
        )

    @property
    def by(self) -> str:
        """Who speaks, as verdicts have it."""
        return f"{self.model.name}@{self.model.digest[:12]}"

    def digest(self, question: Question) -> str:
        """Of model, risk, what is asked and the features: nothing else has a part in the answer."""
        rows = np.asarray(self._rows(question), np.float64).tobytes()
        asked = f"{self.model.digest}\0{self.risk!r}\0{question.about}\0{question.terminal}\0{question.step}\0"
        return hashlib.sha256(asked.encode() + rows).hexdigest()

    async def ask(self, question: Question) -> Opinion:
        """One opinion; takes no more than a millisecond or two, so it needs no thread."""
        return self.answer(question)

    def answer(self, question: Question) -> Opinion:
        """As `ask`, for who is not asynchronous."""
        level = "trajectory" if question.about == "goal" else "step"
        rows = self._rows(question)
        if not rows:
            return self._abstains("no step of the log is sealed", {})
        found = self._gates.get(level)
        if found is None:
            return self._abstains(f"the model was not calibrated for a {level}", {"level": level})
        matrix = np.asarray(rows if level == "trajectory" else rows[-1:], np.float64)
        scores = {head: summed(trees.score(matrix)) for head, trees in self.model.heads.items()}
        novelty = self.model.known.distance(matrix[-1])
        said = found.judge(self.model.calibration[level], scores["success"], novelty)
        record = {
            "model": self.by,
            "features": self.model.card["features"],
            "level": level,
            "risk": self.risk,
            "scores": {head: round(score, 6) for head, score in scores.items()},
            "p": round(said.p, 6),
            "possible": sorted(said.possible),
            "novelty": round(novelty, 6),
        }
        if said.answers is None:
            return self._abstains(said.why, record)
        confidence = abs(2 * said.p - 1)
        return Opinion(
            Verdict("model", self._blended(said.p, scores), confidence, said.why, self.by), record
        )

    def _blended(self, p: float, scores: dict[str, float]) -> float:
        """Success's chance and the other heads', by their weights; in [0, 1]."""
        total, value = 1.0, p
        for head, weight in self.model.weights.items():
            chance = float(sigmoid(np.asarray([scores[head] / self.model.scales[head]]))[0])
            total, value = total + weight, value + weight * chance
        return value / total

    def _abstains(self, why: str, record: dict[str, object]) -> Opinion:
        return Opinion(Verdict("model", None, 0.0, why, self.by), record)

    def _rows(self, question: Question) -> list[Row]:
        """The rows up to the question's step."""
        reader = self._reader(question)
        rows = reader.ended() if question.terminal or question.about == "goal" else reader.rows
        return with_rewards(rows[: question.step + 1], question.rewards)

    def _reader(self, question: Question) -> FeatureReader:
        events = question.events
        instruction = str(question.task.get("instruction", ""))
        key = (question.episode, instruction)
        reader, last = self._readers.pop(key, (None, None))
        at = reader.seq if reader is not None else 0
        # A log only grows: where the event that was read last stands at its place, what was read is
        # its start.
        known = 0 < at <= len(events) and events[at - 1] == last
        if reader is None or not known:
            reader, at = FeatureReader(instruction), 0
        reader.feed(events[at:])
        self._readers[key] = reader, events[-1] if events else None
        if len(self._readers) > READERS:
            self._readers.popitem(last=False)
        return reader


def load_stage(models: Path, name: str, risk: float = RISK) -> ModelStage:
    """The stage of the model called ``name`` in the folder ``models``. Raises `ModelError`."""
    return ModelStage(load(find(models, name)), risk)


def scores(model: Model, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of many steps [n, features] at once: the success head's score of each."""
    return model.heads["success"].score(rows)
