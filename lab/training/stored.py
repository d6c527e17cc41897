"""Preferences of a service's own episodes: what people said, what rules decided, and what a judge
said, each with its weight; the recordings beside them."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from api.db.database import Database
from api.exporting.stored import recording
from api.labelling.decisions import Decided, Weights, decisions_of, lines_of
from api.labelling.exporting import FOLDER, lines
from api.labelling.store import Preferences as LabelStore
from api.rescoring.corpus import StoredEpisode
from api.verdicts.recorded import GIVEN
from detectors.model.codec import canonical
from detectors.model.json_value import JsonObject
from detectors.model.safe_json import mapping

PREFERENCES = "preferences.jsonl"


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


def audited_pairs(verdicts: Sequence[bytes], model: str) -> Iterator[tuple[float, float]]:
    """Both scores of each item that was scored by the model whose signature ends with ``model`` and
    by a judge or a person."""
    by_item: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for body in verdicts:
        one = orjson.loads(body)
        if one.get("kind") == GIVEN:
            verdict = mapping(one.get("verdict"))
            stage = _scored_by(verdict, model)
            if stage is not None:
                by_item[one["step"], one["item"]][stage] = float(verdict["score"])
    for scores in by_item.values():
        audit = scores.get("person", scores.get("judge"))
        if audit is not None and "model" in scores:
            yield scores["model"], audit


def _scored_by(verdict: JsonObject, model: str) -> str | None:
    """The stage that gave a verdict with a score; None for one without, and for another model
    than that whose signature ends with ``model``."""
    if verdict.get("score") is None:
        return None
    stage = str(verdict["stage"])
    by = str(verdict.get("by", ""))
    is_other_model = stage == "model" and not by.endswith(model)
    return None if is_other_model else stage


def _write(path: Path, content: bytes) -> None:
    """Write a file at once: whoever reads it finds the old one or the new one."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(path)
