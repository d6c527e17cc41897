"""The reward model as a stage of the cascade: a question in, a verdict with its confidence or an
abstention out."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
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
    """One loaded model at one risk. What it keeps between questions only saves time."""

    name: Literal["model"] = "model"
    one_thread = True
    """The readers that are kept may be used by one thread alone."""

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
    def signature(self) -> str:
        """The ``by`` of this model's verdicts: its name and the start of its digest."""
        return f"{self.model.name}@{self.model.digest[:12]}"

    def digest(self, question: Question) -> str:
        """Hash model, risk, what is asked and the features: nothing else is part of the answer."""
        rows = np.asarray(self._rows(question), np.float64).tobytes()
        depends = (
            f"{self.model.digest}\0{self.risk!r}\0{question.about}\0{question.terminal}"
            f"\0{question.step}\0"
        )
        return hashlib.sha256(depends.encode() + rows).hexdigest()

    async def ask(self, question: Question) -> Opinion:
        """Return one opinion; takes no more than a millisecond or two, so it needs no thread."""
        return self.answer(question)

    def answer(self, question: Question) -> Opinion:
        """Do what `ask` does, for callers that are not asynchronous."""
        level = "trajectory" if question.about == "goal" else "step"
        rows = self._rows(question)
        if not rows:
            return self._abstain("no step of the log is sealed", {})
        confidence_gate = self._gates.get(level)
        if confidence_gate is None:
            return self._abstain(f"the model was not calibrated for a {level}", {"level": level})
        matrix = np.asarray(rows if level == "trajectory" else rows[-1:], np.float64)
        scores = {head: summed(trees.score(matrix)) for head, trees in self.model.heads.items()}
        novelty = self.model.known.distance(matrix[-1])
        calibration = self.model.calibration[level]
        chances = confidence_gate.judge(calibration, scores["success"], novelty)
        record = {
            "model": self.signature,
            "features": self.model.card["features"],
            "level": level,
            "risk": self.risk,
            "scores": {head: round(score, 6) for head, score in scores.items()},
            "p": round(chances.p, 6),
            "possible": sorted(chances.possible),
            "novelty": round(novelty, 6),
        }
        if chances.answers is None:
            return self._abstain(chances.why, record)
        score = self._blend(chances.p, scores)
        confidence = abs(2 * chances.p - 1)
        return Opinion(Verdict("model", score, confidence, chances.why, self.signature), record)

    def _blend(self, p: float, scores: Mapping[str, float]) -> float:
        """Return success's chance and the other heads', by their weights; in [0, 1]."""
        total = 1.0
        value = p
        for head, weight in self.model.weights.items():
            scaled = np.asarray([scores[head] / self.model.scales[head]])
            total += weight
            value += weight * float(sigmoid(scaled)[0])
        return value / total

    def _abstain(self, why: str, record: dict[str, object]) -> Opinion:
        return Opinion(Verdict("model", None, 0.0, why, self.signature), record)

    def _rows(self, question: Question) -> list[Row]:
        """Return the rows up to the question's step."""
        reader = self._reader(question)
        is_over = question.terminal or question.about == "goal"
        rows = reader.ended() if is_over else reader.rows
        return with_rewards(rows[: question.step + 1], question.rewards)

    def _reader(self, question: Question) -> FeatureReader:
        """Return a reader of the whole log: the kept one with what is new, or a fresh one."""
        events = question.events
        instruction = str(question.task.get("instruction", ""))
        key = (question.episode, instruction)
        kept, last = self._readers.pop(key, (None, None))
        if kept is not None and _is_start(events, kept.seq, last):
            reader = kept
        else:
            reader = FeatureReader(instruction)
        reader.feed(events[reader.seq :])
        self._readers[key] = reader, events[-1] if events else None
        if len(self._readers) > READERS:
            self._readers.popitem(last=False)
        return reader


def _is_start(events: Sequence[Event], read: int, last: Event | None) -> bool:
    """Whether the first ``read`` events are those that were read: a log only grows, so it is enough
    that the last of them stands at its place."""
    return 0 < read <= len(events) and events[read - 1] == last


def load_stage(models: Path, name: str, risk: float = RISK) -> ModelStage:
    """Load the model called ``name`` in the folder ``models`` as a stage. Raises `ModelError`."""
    return ModelStage(load(find(models, name)), risk)


def scores(model: Model, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the success head's score of each of many steps [n, features]."""
    return model.heads["success"].score(rows)
