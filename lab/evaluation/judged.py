"""Items that both a judge and people decided: from a file, from recorded trajectories, or from a
service's own episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from api.labelling.majority import Item, majority_labels
from api.rescoring.corpus import StoredEpisode
from api.stages.judge.confidence import Answered, support_of
from api.verdicts.recorded import GIVEN
from common.regular_file import read_regular
from detectors.model.codec import sha256
from detectors.model.json_value import JsonObject, is_number, object_or_empty
from lab.evaluation.calibrating import JudgedItem
from lab.evaluation.records import Record, RecordError, read_records

SCHEMA = "judged/1"
RECORDED = "recorded judges"
"""The model's name where the votes are those of several recorded judges."""


class JudgedItems(NamedTuple):
    """The items of one judge. ``prompt``: the digest of its prompt, empty where it is unknown;
    ``data``: the digest of what was read; ``others``: items of other judges, left out."""

    model: str
    prompt: str
    items: list[JudgedItem]
    data: str
    others: int = 0


class _Verdict(NamedTuple):
    """One judge's verdict with the label of people."""

    model: str
    prompt: str
    item: JudgedItem


def read_items(path: Path) -> JudgedItems:
    """Read lines of judged/1, or the labelled trajectories of `milestoned cascade eval`, whose
    recorded judges are taken as votes. Raises `RecordError`, `OSError`."""
    content = read_regular(path)
    first = content.partition(b"\n")[0]
    if SCHEMA.encode() not in first:
        records, _ = read_records(path)
        return JudgedItems(RECORDED, "", list(_recorded(records)), sha256(content))
    lines = [line for line in content.splitlines() if line.strip()]
    found = [_line(number, line) for number, line in enumerate(lines, 1)]
    return _of_one_judge(found, sha256(content))


def stored_items(episodes: Iterable[StoredEpisode], words: Sequence[Any]) -> JudgedItems:
    """Take the items of stored episodes that people labelled and a judge gave a verdict on."""
    labels = majority_labels(words)
    found: list[_Verdict] = []
    for episode in episodes:
        group = str(orjson.loads(episode.task)["id"]).partition("/")[0]
        found += _of_episode(str(episode.row.id), group, episode.verdicts, labels)
    data = b"\n".join(orjson.dumps([one.model, one.prompt, *one.item]) for one in found)
    return _of_one_judge(found, sha256(data))


def _recorded(records: Sequence[Record]) -> Iterator[JudgedItem]:
    """A trajectory each, by the majority of its recorded judges; without one it is no item."""
    for record in records:
        counts = Counter(record.judges.values())
        if counts[True] == counts[False]:
            continue
        votes = [
            {"c1": Answered("yes" if said else "no", frozenset({"recorded"}))}
            for said in record.judges.values()
        ]
        support = support_of(votes, whole=True).confidence
        yield JudgedItem(support, counts[True] > counts[False], record.label, record.group)


def _line(number: int, line: bytes) -> _Verdict:
    """Read a line of judged items. Raises `RecordError` that names the line and the field."""
    try:
        row = orjson.loads(line)
        support, score, label = row["support"], row["score"], row["label"]
        texts = row["model"], row["prompt"], row["group"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise RecordError(f"line {number}: {error!r}; expected {SCHEMA}") from None
    if not all(isinstance(text, str) for text in texts) or type(label) is not bool:
        raise RecordError(
            f"line {number}: expected texts in model, prompt, group, and a label of true or false"
        )
    for name, value in (("support", support), ("score", score)):
        if not is_number(value) or not 0 <= value <= 1:
            raise RecordError(
                f"line {number}: {name}: got {value!r:.40}, expected a number from 0 to 1"
            )
    model, prompt, group = texts
    return _Verdict(model, prompt, JudgedItem(float(support), score >= 0.5, label, group))


def _of_one_judge(found: Sequence[_Verdict], data: str) -> JudgedItems:
    """Keep the items of the judge that has most of them: model and prompt are what is
    calibrated."""
    counts = Counter((one.model, one.prompt) for one in found)
    if not counts:
        return JudgedItems("", "", [], data)
    (model, prompt), _ = counts.most_common(1)[0]
    kept = [one.item for one in found if (one.model, one.prompt) == (model, prompt)]
    return JudgedItems(model, prompt, kept, data, len(found) - len(kept))


def _of_episode(
    episode: str,
    group: str,
    verdicts: Sequence[bytes],
    labels: Mapping[Item, bool],
) -> Iterator[_Verdict]:
    """The last verdict of a judge on each labelled item of an episode."""
    last: dict[Item, _Verdict] = {}
    for body in verdicts:
        event: JsonObject = orjson.loads(body)
        key = (episode, int(str(event["step"])), str(event.get("item")))
        verdict = _read_verdict(event, group, labels.get(key))
        if verdict is not None:
            last[key] = verdict
    yield from last.values()


def _read_verdict(event: JsonObject, group: str, label: bool | None) -> _Verdict | None:
    """A judge's verdict of a log of verdicts; None for anything else, and where nobody labelled
    it."""
    if label is None or event.get("kind") != GIVEN:
        return None
    record = object_or_empty(event.get("record"))
    verdict = object_or_empty(event.get("verdict"))
    if verdict.get("stage") != "judge":
        return None
    support = record.get("support")
    score = record.get("score", verdict.get("score"))
    if not isinstance(support, dict) or not is_number(score):
        return None
    product = float(support["agreement"] * support["clear"] * support["grounded"])
    item = JudgedItem(round(product, 12), score >= 0.5, label, group)
    return _Verdict(str(record.get("model")), str(record.get("prompt")), item)
