"""The reward model as a stage of the cascade: a question in, a verdict with its confidence or an
abstention out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import getsizeof
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from api.stages.base import Opinion, Question
from api.stages.model.calibration import GATE, gates, kind_of, sigmoid
from api.stages.model.features import FeatureReader, Row, rows_if_ended, with_rewards
from api.stages.model.folder import Model, ModelError, find, load
from api.stages.model.schema import NAMES
from api.stages.model.trajectory_score import trajectory_score
from detectors.model.caches import SizedCache
from detectors.model.memory import SizeWalk
from detectors.model.types import Event, Json, Verdict

RISK = 0.05
"""Of the answers, how many may be wrong, unless the operator says another share."""
READERS_BYTES = 64 * 1024 * 1024
"""Bytes of the folded logs that are kept, so that a step costs what is new in it."""
MEASURED_FROM = 1024 * 1024
"""Bytes that a folded log may be estimated at before it is measured by a walk through it, and again
when the estimate has doubled."""
WALKED = 100
"""Objects that are measured at once, at most: a walk through a whole log of a megabyte takes ten
times as long as a step."""
AT_ONCE = 24
"""Events that are read at once, at most, and one end of a step: a millisecond or two, but for the
first tree of a page, which stands for thousands."""
EVENT_BYTES = 512
"""Bytes that an event adds to a folded log beside its texts, about."""
NODE_BYTES = 512
"""Bytes that a node of a page's tree adds, about."""
EMPTY_BYTES = 32 * 1024
"""Bytes of a folded log of which nothing was read, about."""
FINISHING = frozenset(("step.began", "step.sealed", "episode.closed"))
"""Events after which features are computed of all that stands there."""
ROW_BYTES = 32 * len(NAMES)
"""Bytes of one step's features, about."""


@dataclass(slots=True)
class _Folded:
    """A log as far as it was read: about ``bytes`` of it, which are measured, a part with each part
    of the log, once they are ``measure_at``."""

    reader: FeatureReader
    last: Event | None = None
    bytes: int = EMPTY_BYTES
    measure_at: int = MEASURED_FROM
    _walk: SizeWalk | None = None
    _grown: int = 0
    """Bytes that came since the walk began."""

    def feed(self, new: Sequence[Event]) -> None:
        """Read the next events of the log."""
        rows = len(self.reader.rows)
        self.reader.feed(new)
        self.last = new[-1] if new else self.last
        grown = sum(map(_estimate, new)) + ROW_BYTES * (len(self.reader.rows) - rows)
        self.bytes += grown
        if self._walk is None and self.bytes >= self.measure_at:
            self._walk, self._grown = SizeWalk([self.reader, self.last]), 0
        if self._walk is not None:
            self._grown += grown
            self._measure(self._walk)

    def has_read(self, events: Sequence[Event]) -> bool:
        """Whether this is a log that was read beyond these first events of it."""
        read = self.reader.seq
        return read > len(events) and self.reader.rows_after(events) is not None

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
            level: gates(calibration, risk) for level, calibration in model.calibration.items()
        }
        self.readers: SizedCache[tuple[str, str], _Folded] = SizedCache(READERS_BYTES)
        self._refuted = sorted((level, sorted(kinds)) for level, kinds in model.refuted.items())
        self._asked: tuple[Question, NDArray[np.float64]] | None = None

    @property
    def signature(self) -> str:
        """The ``by`` of this model's verdicts: its name and the start of its digest."""
        return f"{self.model.name}@{self.model.digest[:12]}"

    def read(self, episode: str, task: Mapping[str, Json], events: Sequence[Event]) -> int:
        """Read the next part of an episode's log before anybody asks about it; return how many of
        these events are not read yet.

        A question about a log that was read costs a third of one that must read it.
        """
        kept = self.readers.get(_key(episode, task))
        if kept is not None and kept.has_read(events):
            return 0
        log = self._log(episode, task, events)
        end = min(len(events), log.reader.seq + AT_ONCE)
        finished = (at + 1 for at in range(log.reader.seq, end) if events[at].kind in FINISHING)
        self._feed(episode, task, log, events[log.reader.seq : next(finished, end)])
        return len(events) - log.reader.seq

    def digest(self, question: Question) -> str:
        """Hash model, risk, how that chooses the threshold, what a look refuted, what is asked and
        the features: nothing else is part of the answer."""
        depends = (
            f"{self.model.digest}\0{self.risk!r}\0{GATE}\0{question.about}"
            f"\0{question.terminal}\0{question.step}\0{self._refuted}\0"
        )
        return hashlib.sha256(depends.encode() + self._rows(question).tobytes()).hexdigest()

    async def ask(self, question: Question) -> Opinion:
        """Return one opinion; takes no more than a millisecond or two, so it needs no thread."""
        return self.answer(question)

    def answer(self, question: Question) -> Opinion:
        """Do what `ask` does, for callers that are not asynchronous."""
        level = "trajectory" if question.about == "goal" else "step"
        rows = self._rows(question)
        self._asked = None
        if not len(rows):
            return self._abstain("no step of the log is sealed", {})
        level_gates = self._gates.get(level)
        if level_gates is None:
            return self._abstain(f"the model was not calibrated for a {level}", {"level": level})
        kind = kind_of(rows)
        if kind.name.lower() in self.model.refuted.get(level, ()):
            why = f"of {kind.about} more answers were wrong than stated, when it was looked at"
            return self._abstain(why, {"level": level, "model": self.signature})
        scores = {
            head: trajectory_score(trees.score(rows)) for head, trees in self.model.heads.items()
        }
        novelty = self.model.known.distance(rows[-1])
        chances = level_gates[kind].judge(scores["success"], novelty)
        record = {
            "model": self.signature,
            "digest": self.model.digest,
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

    def _rows(self, question: Question) -> NDArray[np.float64]:
        """Return the rows [steps, features] that the answer depends on: of the goal all, of a step
        its own. They are made once for a question that is hashed, then asked."""
        if self._asked is not None and self._asked[0] is question:
            return self._asked[1]
        rows = np.asarray(self._make_rows(question), np.float64)
        self._asked = question, rows
        return rows

    def _make_rows(self, question: Question) -> list[Row]:
        """Return the rows that the model scores: of the whole episode for the goal, else of one
        step."""
        known: Sequence[Row] = self._known_rows(question)
        is_over = question.terminal or question.about == "goal"
        rows = (rows_if_ended(known) if is_over else known)[: question.step + 1]
        if question.about == "goal" or not rows:
            return with_rewards(rows, question.rewards)
        return with_rewards(rows[-1:], question.rewards, first_step=len(rows) - 1)

    def _known_rows(self, question: Question) -> list[Row]:
        """Return the rows of the steps of a question's log: as they were read, with what is new of
        it, or of a log that is read anew."""
        kept = self.readers.get(_key(question.episode, question.task))
        if kept is not None and kept.has_read(question.events):
            return kept.reader.rows_after(question.events) or []
        log = self._log(question.episode, question.task, question.events)
        new = question.events[log.reader.seq :]
        if new:
            self._feed(question.episode, question.task, log, new)
        return log.reader.rows

    def _log(self, episode: str, task: Mapping[str, Json], events: Sequence[Event]) -> _Folded:
        """Return what was read of a log that begins as these events do: the kept one, or a fresh
        one."""
        kept = self.readers.get(_key(episode, task))
        if kept is not None and _is_start(events, kept.reader.seq, kept.last):
            return kept
        return _Folded(FeatureReader(_instruction(task)))

    def _feed(
        self, episode: str, task: Mapping[str, Json], log: _Folded, new: Sequence[Event]
    ) -> None:
        log.feed(new)
        self.readers.put(_key(episode, task), log, log.bytes)


def _key(episode: str, task: Mapping[str, Json]) -> tuple[str, str]:
    return episode, _instruction(task)


def _instruction(task: Mapping[str, Json]) -> str:
    return str(task.get("instruction", ""))


def _estimate(event: Event) -> int:
    """Bytes that an event adds to a folded log, about: its own texts, and what is noted of it."""
    texts = (value for value in event.data.values() if type(value) is str)
    tree = event.data.get("tree")
    nodes = len(tree) if isinstance(tree, list) else 0
    return EVENT_BYTES + sum(map(getsizeof, texts)) + NODE_BYTES * nodes


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
