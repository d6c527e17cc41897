"""What is known of a service's episodes, as lines of pref/1 (lab/training/pref-1.schema.json): what
rules decided of the goal and what a judge said of it, each with its weight (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from api.labelling.exporting import FOLDER
from api.verdicts.recorded import GIVEN
from detectors.model.json_value import JsonObject
from detectors.model.safe_json import mapping

EACH = 6
"""Failures that a success is paired with, at most."""


class Weights(NamedTuple):
    """What a pair weighs by who decided its less certain side: a person's word 1, a rule, and a
    judge's verdict, by its confidence."""

    person: float = 1.0
    rule: float = 1.0
    judge: float = 0.5


class Decided(NamedTuple):
    """What is known of one episode: by whom, and how much it weighs."""

    episode: str
    task: JsonObject
    success: bool
    source: str
    weight: float

    def side(self) -> JsonObject:
        """The trajectory as a line of preferences has it."""
        return {
            "recording": f"{FOLDER}/{self.episode}.mrec",
            "instruction": str(self.task.get("instruction", "")),
            "group": str(self.task["id"]).partition("/")[0],
            "task": str(self.task["id"]),
        }


def decisions_of(
    episode: str,
    task: JsonObject,
    rewards: Sequence[bytes],
    verdicts: Sequence[bytes],
    weights: Weights,
) -> list[Decided]:
    """What the rules decided of the goal, and what a judge said of it, if it said anything."""
    found = []
    last: Mapping[str, Any] = orjson.loads(rewards[-1]) if rewards else {}
    said = _goal_verdict(verdicts)
    if isinstance(last.get("success"), bool) and last.get("decided_by", "rule") in (None, "rule"):
        found.append(Decided(episode, task, last["success"], "rule", weights.rule))
    if said is not None:
        score, confidence = said
        found.append(Decided(episode, task, score >= 0.5, "judge", weights.judge * confidence))
    return found


def _goal_verdict(verdicts: Sequence[bytes]) -> tuple[float, float] | None:
    """Score and confidence of the judge's last verdict of the goal; None without one."""
    for body in reversed(verdicts):
        one = orjson.loads(body)
        verdict = mapping(one.get("verdict"))
        is_meant = one.get("kind") == GIVEN and one.get("item") == "goal"
        if is_meant and verdict.get("stage") == "judge" and verdict.get("score") is not None:
            return float(verdict["score"]), float(verdict["confidence"])
    return None


def lines_of(decided: Sequence[Decided], weights: Weights) -> Iterator[JsonObject]:
    """An outcome each, and of each task every success with some failures of the same source."""
    for one in decided:
        head = {"schema": "pref/1", "id": f"{one.episode}/{one.source}", "source": one.source}
        yield {**head, "kind": "outcome", "trajectory": one.side(), "success": one.success}
    for success in decided:
        if success.success:
            yield from _pairs_of(success, decided)


def _pairs_of(success: Decided, decided: Sequence[Decided]) -> Iterator[JsonObject]:
    """Yield the pairs of a success with failures of its task, as sure as the less sure of both."""
    same = [
        one
        for one in decided
        if not one.success and one.source == success.source and one.task["id"] == success.task["id"]
    ]
    for failure in same[:EACH]:
        weight = min(success.weight, failure.weight)
        if weight > 0:
            yield {
                "schema": "pref/1",
                "id": f"{success.episode}>{failure.episode}/{success.source}",
                "kind": "pair",
                "source": success.source,
                "weight": weight,
                "chosen": success.side(),
                "rejected": failure.side(),
            }
