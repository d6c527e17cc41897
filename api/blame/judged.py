"""Which cause a judge found for an episode's failure, where the events leave it open: a closed set,
read from what the judge has proven, criterion by criterion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from api.blame.causes import BlameJson
from api.blame.signs import Cause
from detectors.engine.resolution import CAUSE
from detectors.model.json_value import list_or_empty, object_or_empty
from detectors.model.types import Json

CRITERIA: Mapping[Cause, str] = {
    "site_refused": (
        "A page or an answer of the site shows that it refused to serve this session (an error"
        " page, a block, a challenge), and the task could not be done because of that."
    ),
    "captcha": (
        "A page showed a captcha that had to be solved before the task could go on, and it was not"
        " passed."
    ),
    "login_wall": (
        "The site demanded a login that the task does not give, and the task could not go on"
        " without it."
    ),
    "rate_limited": (
        "The site said that there were too many requests, and did not go on after that."
    ),
    "infeasible": (
        "What the task asks for cannot be done on this site: the recorded pages show that what it"
        " needs does not exist there."
    ),
    "infrastructure": (
        "The site, the browser or the network failed by itself: a page did not load, crashed or"
        " could not be reached, and the task could not be done because of that."
    ),
    "agent": (
        "Nothing stood in the way: the pages that the task needs were served and usable to the end,"
        " and what was done on them was not what the task asks for."
    ),
}
"""What a judge is asked of each cause. `unknown` is none: a judge that is not sure abstains."""
assert set(CRITERIA) == set(get_args(Cause)) - {"unknown"}


class JudgedCause(NamedTuple):
    """The one cause that a judge has proven, with the events that it cites."""

    cause: Cause
    by: str
    evidence: list[int]


def judged_cause(said: Sequence[Mapping[str, Any]]) -> JudgedCause | None:
    """Return what a log of verdicts says of the cause; None where no judge was asked or was sure.

    A judge is sure where all of its votes agree on every criterion, and exactly one is met.
    """
    for event in said:
        verdict = object_or_empty(event.get("verdict"))
        if event.get("item") != CAUSE or verdict.get("score") is None:
            continue
        votes = list(_votes(event.get("record")))
        met = [{name for name in CRITERIA if _is_met(vote, name)} for vote in votes]
        if met and len(met[0]) == 1 and all(one == met[0] for one in met):
            (cause,) = met[0]
            return JudgedCause(cause, str(verdict.get("by")), list(event.get("evidence", ())))
    return None


def with_judged(found: BlameJson, said: Sequence[Mapping[str, object]]) -> BlameJson:
    """Return an episode's causes with the judge's where the events did not decide."""
    if found["cause"] != "unknown":
        return found
    judged = judged_cause(said)
    if judged is None:
        return found
    reason = f"{found['reason']}; the judge {judged.by} found: {CRITERIA[judged.cause]}"
    return {
        **found,
        "cause": judged.cause,
        "decided_by": "judge",
        "reason": reason,
        "evidence": judged.evidence,
    }


def _votes(record: Json) -> Iterator[Mapping[str, Json]]:
    """Yield the criteria of each of the judge's votes."""
    votes = object_or_empty(record).get("votes")
    for vote in list_or_empty(votes):
        criteria = object_or_empty(vote).get("criteria")
        yield object_or_empty(criteria)


def _is_met(vote: Mapping[str, Json], name: str) -> bool:
    """Whether a vote says that a criterion is met."""
    one = vote.get(name)
    return isinstance(one, Mapping) and one.get("met") == "yes"
