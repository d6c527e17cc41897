"""Preferences of a service's own episodes: what people said, what rules decided, and what a judge
said, each with its weight; the recordings beside them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from api.db.database import Database
from api.exporting.stored import recording
from api.labelling.exporting import FOLDER, lines
from api.labelling.store import Preferences as LabelStore
from api.rescoring.corpus import StoredEpisode
from api.verdicts.recorded import GIVEN
from detectors.model.codec import canonical
from detectors.model.json_value import JsonObject

PREFERENCES = "preferences.jsonl"
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


def write_stored(
    episodes: Iterable[StoredEpisode], words: Sequence[Any], out: Path, weights: Weights
) -> int:
    """Write recordings and preferences into a folder; returns how many lines. The preferences come
    last and at once, so that a kill leaves the old ones or the new ones."""
    (out / FOLDER).mkdir(parents=True, exist_ok=True)
    tasks: dict[str, Mapping[str, Any]] = {}
    decided: list[Decided] = []
    for one in episodes:
        name = str(one.row.id)
        _write(out / FOLDER / f"{name}.mrec", recording(one))
        tasks[name] = orjson.loads(one.task)
        decided += decisions_of(name, tasks[name], one.rewards, one.verdicts, weights)
    said = [*lines(words, tasks), *(canonical(line) + b"\n" for line in lines_of(decided, weights))]
    _write(out / PREFERENCES, b"".join(said))
    return len(said)


def read_words(url: str) -> Sequence[Any]:
    """What people said, of every tenant, in the order in which they said it."""

    async def read() -> Sequence[Any]:
        database = Database(url)
        try:
            return await LabelStore(database).everybody()
        finally:
            await database.close()

    return asyncio.run(read())


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
        verdict = one.get("verdict") or {}
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


def audited(verdicts: Sequence[bytes], model: str) -> Iterator[tuple[float, float]]:
    """Both scores of each item that was scored by the model whose signature ends with ``model`` and
    by a judge or a person."""
    by_item: dict[tuple[int, str], dict[str, float]] = {}
    for body in verdicts:
        one = orjson.loads(body)
        verdict = one.get("verdict") or {}
        if one.get("kind") != GIVEN or verdict.get("score") is None:
            continue
        stage = str(verdict["stage"])
        if stage == "model" and not str(verdict.get("by", "")).endswith(model):
            continue
        by_item.setdefault((one["step"], one["item"]), {})[stage] = float(verdict["score"])
    for scores in by_item.values():
        audit = scores.get("person", scores.get("judge"))
        if audit is not None and "model" in scores:
            yield scores["model"], audit


def _write(path: Path, content: bytes) -> None:
    """Write a file at once: whoever reads it finds the old one or the new one."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(path)
