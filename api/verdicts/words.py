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
    if isinstance(named, list):
        cited = {seq for seq in named if type(seq) is int}
    else:
        cited = set(_cited(record.get("votes")))
    known = sorted(seq for seq in cited if 1 <= seq <= through)
    return known[:MAX_EVIDENCE]


def _cited(found: object, evidence: bool = False) -> Iterator[int]:
    """Yield the numbers of the events in a vote's evidence, however deep that stands."""
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield from _cited(value, key == "evidence")
    elif isinstance(found, list):
        for value in found:
            yield from _cited(value, evidence)
    elif evidence and isinstance(found, str):
        match = _EVENT.fullmatch(found)
        if match is not None:
            yield int(match[1])


def _is_number(value: object) -> bool:
    """Whether a value is a finite number; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def wrong(verdict: Verdict) -> str | None:
    """What about a verdict's numbers is none, or None."""
    stage = verdict.stage
    if verdict.score is not None and not _is_share(verdict.score):
        return f"the {stage}'s score is {verdict.score!r:.40}, wanted a number from 0 to 1"
    if not _is_share(verdict.confidence):
        return (
            f"the {stage}'s confidence is {verdict.confidence!r:.40}, wanted a number from 0 to 1"
        )
    if not _is_number(verdict.cost) or verdict.cost < 0:
        return f"the {stage}'s cost is {verdict.cost!r:.40}, wanted an amount from 0"
    return None


def _is_share(value: object) -> bool:
    """Whether a value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1
