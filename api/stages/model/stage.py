"""The reward model as a stage of the cascade: a question in, a verdict with its confidence or an
abstention out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from api.stages.base import Opinion, Question
from api.stages.model.calibration import gate, sigmoid
from api.stages.model.features import FeatureReader, Row, with_rewards
from api.stages.model.folder import Model, ModelError, find, load
from api.stages.model.schema import NAMES
from api.stages.model.trajectory_score import trajectory_score
from detectors.model.caches import SizedCache
from detectors.model.memory import SizeWalk, size_of
from detectors.model.types import Event, Verdict

RISK = 0.05
"""Of the answers, how many may be wrong, unless the operator says another share."""
READERS_BYTES = 64 * 1024 * 1024
"""Bytes of the folded logs that are kept, so that a step costs what is new in it."""
MEASURED_FROM = 1024 * 1024
"""Bytes that a folded log may be estimated at before it is measured by a walk through it, and again
when the estimate has doubled."""
WALKED = 400
"""Objects that are measured in one question, at most: a walk through a whole log of a megabyte
takes ten times as long as a step."""
EMPTY_BYTES = 32 * 1024
"""Bytes of a folded log of which nothing was read, about."""
ROW_BYTES = 32 * len(NAMES)
"""Bytes of one step's features, about."""


@dataclass(slots=True)
class _Folded:
    """A log as far as it was read: about ``bytes`` of it, which are measured, a part in each
    question, once they are ``measure_at``."""

    reader: FeatureReader
    last: Event | None = None
    bytes: int = EMPTY_BYTES
    measure_at: int = MEASURED_FROM
    _walk: SizeWalk | None = None
    _grown: int = 0
    """Bytes that came since the walk began."""

    def feed(self, events: Sequence[Event]) -> None:
        """Read what is new of a log."""
        new = events[self.reader.seq :]
        rows = len(self.reader.rows)
        self.reader.feed(new)
        self.last = events[-1] if events else None
        grown = size_of([new]) + ROW_BYTES * (len(self.reader.rows) - rows)
        self.bytes += grown
        if self._walk is None and self.bytes >= self.measure_at:
            self._walk, self._grown = SizeWalk([self.reader, self.last]), 0
        if self._walk is not None:
            self._grown += grown
            self._measure(self._walk)

    def _measure(self, walk: SizeWalk) -> None:
        """Go on with a measurement, and take its result when it is over."""
        if walk.advance(WALKED):
            self.bytes = walk.bytes + self._grown
            self.measure_at = max(MEASURED_FROM, 2 * self.bytes)
            self._walk = None


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
        self.readers: SizedCache[tuple[str, str], _Folded] = SizedCache(READERS_BYTES)
        self._asked: tuple[Question, list[Row]] | None = None

    @property
    def signature(self) -> str:
        """The ``by`` of this model's verdicts: its name and the start of its digest."""
        return f"{self.model.name}@{self.model.digest[:12]}"

    def digest(self, question: Question) -> str:
        """Hash model, risk, what is asked and the features: nothing else is part of the answer."""
        rows = np.asarray(self._rows(question), np.float64)
        depends = (
            f"{self.model.digest}\0{self.risk!r}\0{question.about}\0{question.terminal}"
            f"\0{question.step}\0"
        )
        return hashlib.sha256(depends.encode() + rows.tobytes()).hexdigest()

    async def ask(self, question: Question) -> Opinion:
        """Return one opinion; takes no more than a millisecond or two, so it needs no thread."""
        return self.answer(question)

    def answer(self, question: Question) -> Opinion:
        """Do what `ask` does, for callers that are not asynchronous."""
        level = "trajectory" if question.about == "goal" else "step"
        rows = self._rows(question)
        self._asked = None
        if not rows:
            return self._abstain("no step of the log is sealed", {})
        confidence_gate = self._gates.get(level)
        if confidence_gate is None:
            return self._abstain(f"the model was not calibrated for a {level}", {"level": level})
        matrix = np.asarray(rows, np.float64)
        scores = {
            head: trajectory_score(trees.score(matrix)) for head, trees in self.model.heads.items()
        }
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
        """Return the rows that the answer depends on: of the goal all, of a step its own. They are
        made once for a question that is hashed, then asked."""
        if self._asked is not None and self._asked[0] is question:
            return self._asked[1]
        rows = self._make_rows(question)
        self._asked = question, rows
        return rows

    def _make_rows(self, question: Question) -> list[Row]:
        reader = self._reader(question)
        is_over = question.terminal or question.about == "goal"
        rows = reader.rows_if_ended() if is_over else reader.rows
        rows = rows[: question.step + 1]
        if question.about == "goal" or not rows:
            return with_rewards(rows, question.rewards)
        return with_rewards(rows[-1:], question.rewards, first_step=len(rows) - 1)

    def _reader(self, question: Question) -> FeatureReader:
        """Return a reader of the whole log: the kept one with what is new, or a fresh one."""
        events = question.events
        instruction = str(question.task.get("instruction", ""))
        key = (question.episode, instruction)
        kept = self.readers.get(key)
        if kept is not None and _is_start(events, kept.reader.seq, kept.last):
            log = kept
        else:
            log = _Folded(FeatureReader(instruction))
        log.feed(events)
        self.readers.put(key, log, log.bytes)
        return log.reader


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
