"""What a judge's support was found to be worth on items that people labelled: a file that
`milestoned cascade calibrate` writes and a service loads.

Its confidences are lower bounds: of the verdicts in one direction that a bar b lets decide, at most
the share 1 - b is wrong, on items like those that were labelled (docs/judge.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import orjson

from common.regular_file import NotRegularError, read_regular
from detectors.model.codec import canonical, sha256
from detectors.model.json_value import JsonObject, is_number

SCHEMA = "judge-calibration/1"
MAX_BYTES = 1 << 20
MAX_LEVELS = 64


class CalibrationError(ValueError):
    """A file is no calibration of this judge; the message says which, and what was expected."""


@dataclass(frozen=True, slots=True)
class Level:
    """Verdicts with at least this ``support``: how many there were, how many were ``wrong``, and
    the ``confidence`` that follows."""

    support: float
    cases: int
    wrong: int
    confidence: float


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """What one model under one prompt is worth. ``success`` and ``failure``: the levels of either
    direction, the lowest support first; ``risk``: the share of wrong verdicts that the operator
    accepts; ``facts``: where it comes from, for readers."""

    model: str
    prompt: str
    risk: float
    success: tuple[Level, ...]
    failure: tuple[Level, ...]
    facts: JsonObject

    @property
    def digest(self) -> str:
        """Return the sha256 of its canonical JSON, which names it in verdicts."""
        return sha256(canonical(self.as_json()))

    @property
    def bar(self) -> float:
        """Return the confidence below which the stated risk is not kept."""
        return 1.0 - self.risk

    def confidence(self, support: float, score: float) -> float:
        """Return the confidence of a verdict with this support; 0 below all levels."""
        levels = self.success if score >= 0.5 else self.failure
        reached = [level.confidence for level in levels if level.support <= support]
        return max(reached, default=0.0)

    def as_json(self) -> JsonObject:
        """Return it as the file holds it, without the digest."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "prompt": self.prompt,
            "risk": self.risk,
            "success": [_level_json(level) for level in self.success],
            "failure": [_level_json(level) for level in self.failure],
            "facts": self.facts,
        }

    def write(self, path: Path) -> None:
        """Write the file, with the digest of all else in it."""
        body = {**self.as_json(), "digest": self.digest}
        path.write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n")


def _level_json(level: Level) -> JsonObject:
    return {
        "support": level.support,
        "cases": level.cases,
        "wrong": level.wrong,
        "confidence": level.confidence,
    }


def load_calibration(path: Path) -> JudgeCalibration:
    """Read a calibration. Raises `CalibrationError`, also where its digest is not that of its
    content."""
    try:
        body = orjson.loads(read_regular(path, MAX_BYTES))
        found = _calibration(body)
    except (OSError, NotRegularError) as error:
        raise CalibrationError(f"{path}: can't be read: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise CalibrationError(f"{path}: {error!r}; expected {SCHEMA}") from None
    if body.get("digest") != found.digest:
        raise CalibrationError(
            f"{path}: digest: {str(body.get('digest'))[:64]!r}, expected {found.digest}: it was"
            " changed after it was written"
        )
    return found


def check_judge(calibration: JudgeCalibration, model: str, prompt: str) -> None:
    """Raise `CalibrationError` where the calibration is of another model or another prompt."""
    if calibration.model != model:
        raise CalibrationError(
            f"calibration {calibration.digest[:12]}: of the model {calibration.model!r:.80},"
            f" expected {model!r:.80}; calibrate this one"
        )
    if calibration.prompt != prompt:
        raise CalibrationError(
            f"calibration {calibration.digest[:12]}: of the prompt {calibration.prompt[:12]!r},"
            f" expected {prompt[:12]}; calibrate again"
        )


def _calibration(body: JsonObject) -> JudgeCalibration:
    """Read a calibration. Raises ValueError for another schema and for values that can't be."""
    if body["schema"] != SCHEMA:
        raise ValueError(f"schema: {body['schema']!r:.40}")
    model, prompt, facts = body["model"], body["prompt"], body["facts"]
    if not isinstance(model, str) or not isinstance(prompt, str) or not isinstance(facts, dict):
        raise ValueError("model, prompt, facts")
    return JudgeCalibration(
        model=model,
        prompt=prompt,
        risk=_share(body["risk"], "risk"),
        success=_levels(body["success"], "success"),
        failure=_levels(body["failure"], "failure"),
        facts=facts,
    )


def _levels(rows: object, where: str) -> tuple[Level, ...]:
    """Read levels of support, the lowest first. Raises ValueError where more support gives less
    confidence."""
    if not isinstance(rows, list) or len(rows) > MAX_LEVELS:
        raise ValueError(f"{where}: expected at most {MAX_LEVELS} levels")
    found = tuple(_level(row, where) for row in rows)
    if not _is_rising([level.support for level in found]):
        raise ValueError(f"{where}: expected the lowest support first")
    if not _is_rising([level.confidence for level in found], strictly=False):
        raise ValueError(f"{where}: expected more support to give no less confidence")
    return found


def _level(row: object, where: str) -> Level:
    """Read one level of support. Raises ValueError."""
    if not isinstance(row, dict) or type(row["cases"]) is not int or type(row["wrong"]) is not int:
        raise ValueError(f"{where}: expected whole numbers of cases and wrong ones")
    return Level(
        _share(row["support"], where),
        row["cases"],
        row["wrong"],
        _share(row["confidence"], where),
    )


def _share(value: object, where: str) -> float:
    """Read a number from 0 to 1. Raises ValueError."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{where}: {value!r:.40}, expected a number from 0 to 1")
    return float(value)


def _is_rising(values: Sequence[float], *, strictly: bool = True) -> bool:
    """Whether each value is higher than the one before, or no lower."""
    return all(low < high or (not strictly and low == high) for low, high in pairwise(values))
