"""What a stage said, checked before anybody believes it, and as the event that is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import orjson

from api.stages.base import Opinion
from detectors.model.codec import canonical
from detectors.model.types import Verdict

MAX_EVIDENCE = 64
_EVENT = re.compile(r"e(\d{1,18})")


def check_opinion(opinion: Opinion, tier: str) -> Opinion:
    """The opinion; an abstention where its numbers are none: nothing is clipped, rounded or
    guessed."""
    verdict = opinion.verdict._replace(stage=tier)  # type: ignore[arg-type]
    fault = wrong(verdict)
    if fault is not None:
        cost = verdict.cost if _is_number(verdict.cost) and verdict.cost >= 0 else 0.0
        verdict = verdict._replace(score=None, confidence=0.0, why=fault, cost=cost)
    elif verdict.score is None:
        verdict = verdict._replace(confidence=0.0)
    return replace(opinion, verdict=verdict, record=orjson.loads(canonical(dict(opinion.record))))


def abstention(tier: str, why: str) -> Opinion:
    """Return an abstention of which nobody was asked, with its reason."""
    return Opinion(Verdict(tier, None, 0.0, why, ""))  # type: ignore[arg-type]


def stored_form(opinion: Opinion, through: int) -> dict[str, object]:
    """The answer as the cache and the log of verdicts have it."""
    return {
        "verdict": opinion.verdict._asdict(),
        "evidence": leans_on(opinion.record, through),
        "record": opinion.record,
    }


def leans_on(record: Mapping[str, object], through: int) -> list[int]:
    """The numbers of the events that a record cites: ``events``, or ``e7`` among the evidence of
    its votes."""
    named = record.get("events")
    cited = (
        {seq for seq in named if type(seq) is int}
        if isinstance(named, list)
        else set(_cited(record.get("votes")))
    )
    return sorted(seq for seq in cited if 1 <= seq <= through)[:MAX_EVIDENCE]


def _cited(found: object, evidence: bool = False) -> Iterator[int]:
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield from _cited(value, key == "evidence")
    elif isinstance(found, list):
        for value in found:
            yield from _cited(value, evidence)
    elif evidence and isinstance(found, str) and (match := _EVENT.fullmatch(found)) is not None:
        yield int(match[1])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def wrong(verdict: Verdict) -> str | None:
    """What about a verdict's numbers is none, or None."""
    for name, value in (("score", verdict.score), ("confidence", verdict.confidence)):
        if (name, value) != ("score", None) and not (
            _is_number(value) and 0 <= float(value or 0) <= 1
        ):
            return f"the {verdict.stage}'s {name} is {value!r:.40}, wanted a number from 0 to 1"
    if not _is_number(verdict.cost) or verdict.cost < 0:
        return f"the {verdict.stage}'s cost is {verdict.cost!r:.40}, wanted an amount from 0"
    return None
