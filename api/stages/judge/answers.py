"""What a judge may answer, how that is read, and what code makes of it. Nothing is searched for in
prose.

A parser that takes the first thing that looks like a verdict reads what the judge quotes: so the
whole answer is one JSON object of exactly the asked shape, or it is no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

import orjson

from api.stages.base import Criterion
from api.stages.judge.facts import Fact
from detectors.model.types import Json

Met = Literal["yes", "no", "unclear"]
JsonSchema = dict[str, Json]
OPTIONS: tuple[Met, ...] = ("yes", "no", "unclear")
SCHEMA = "answer/1"
"""The version of the answer's shape."""
MAX_CITED = 8
_FENCED = re.compile(r"\A```(?:json)?\n(.*)\n```\Z", re.DOTALL)


class UnreadableError(ValueError):
    """The answer has not the asked shape; the message names the place, the value and what was
    expected."""


@dataclass(frozen=True, slots=True)
class CriterionVote:
    """What one vote says of one criterion. ``evidence``: ids of lines; ``why``: the reason of this
    code, where it overruled the vote."""

    met: Met
    evidence: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class CriterionAnswer:
    """One answer as it was given. The ``rationale`` is kept for the audit, and decides nothing."""

    votes: Mapping[str, CriterionVote]
    rationale: str | None = None


def answer_schema(
    criteria: Sequence[Criterion], options: Sequence[Met] = OPTIONS, rationale: bool = False
) -> JsonSchema:
    """Return the JSON Schema of an answer, in the part of the language that all endpoints know: no
    numbers, no lengths."""
    vote = object_schema_of(
        {
            "evidence": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_CITED},
            "met": {"type": "string", "enum": list(options)},
        }
    )
    votes = object_schema_of({criterion.id: vote for criterion in criteria})
    if rationale:
        return object_schema_of({"rationale": {"type": "string"}, "criteria": votes})
    return object_schema_of({"criteria": votes})


def object_schema_of(properties: JsonSchema) -> JsonSchema:
    """Return the schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: object) -> dict[str, Json]:
    """Read ``text``, whole, as one JSON object; a code fence around all of it is let pass. Raises
    `UnreadableError`."""
    if not isinstance(text, str) or not text.strip():
        raise UnreadableError(f"answer: {text!r}, wanted one JSON object")
    text = text.strip()
    fenced = _FENCED.match(text)
    try:
        value = json.loads(
            fenced[1] if fenced else text,
            object_pairs_hook=_object_of_pairs,
            parse_constant=_no_constant,
        )
        # What is kept must be writable: half a surrogate pair and numbers beyond 64 bits are no
        # JSON of ours.
        orjson.dumps(value)
    except UnreadableError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableError(f"answer: not one JSON object and nothing else: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableError(f"answer: a {type(value).__name__}, wanted an object")
    return value


def read_answer(text: object, criteria: Sequence[Criterion]) -> CriterionAnswer:
    """Read the vote on each criterion, by its id. Raises `UnreadableError`."""
    value = read_object(text)
    names = [criterion.id for criterion in criteria]
    votes = _votes_by_name(value.get("criteria"), names)
    unknown = sorted(set(value) - {"criteria", "rationale"})
    if unknown:
        raise UnreadableError(f"answer: has {', '.join(unknown)}, wanted `criteria` alone")
    rationale = value.get("rationale")
    if rationale is not None and not isinstance(rationale, str):
        raise UnreadableError(f"rationale: {str(rationale)[:200]}, wanted a text")
    read = {name: _read_vote(f"criteria.{name}", votes[name]) for name in names}
    return CriterionAnswer(read, rationale)


def _votes_by_name(votes: Json, names: Sequence[str]) -> Mapping[str, Json]:
    """Return the votes, one for each of the names and no other. Raises `UnreadableError`."""
    actual: Json = votes
    if isinstance(votes, Mapping):
        actual = sorted(votes)
        if actual == sorted(names):
            return votes
    raise UnreadableError(
        f"criteria: {str(actual)[:200]}, wanted an object with exactly {', '.join(names)}"
    )


def _read_vote(where: str, value: Json) -> CriterionVote:
    """Read the answer to one criterion. Raises `UnreadableError` that names the place."""
    if not isinstance(value, Mapping) or set(value) != {"met", "evidence"}:
        raise UnreadableError(
            f"{where}: {str(value)[:200]}, wanted an object of `met` and `evidence`"
        )
    met = value["met"]
    evidence = value["evidence"]
    if not isinstance(met, str) or met not in OPTIONS:
        raise UnreadableError(f"{where}.met: {met!r}, wanted one of {', '.join(OPTIONS)}")
    if not _is_list_of_ids(evidence):
        raise UnreadableError(
            f"{where}.evidence: {str(evidence)[:200]}, wanted at most {MAX_CITED} ids"
        )
    return CriterionVote(met, tuple(evidence))


def _is_list_of_ids(value: Json) -> bool:
    """Whether a value is a list of texts, and no longer than what may be cited."""
    if not isinstance(value, list) or len(value) > MAX_CITED:
        return False
    return all(isinstance(name, str) for name in value)


def _object_of_pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise UnreadableError("answer: a key stands twice")
    return value


def _no_constant(text: str) -> NoReturn:
    raise UnreadableError(f"answer: {text} is no JSON")


def check_proof(
    votes: Mapping[str, CriterionVote], lines: Mapping[str, Fact]
) -> dict[str, CriterionVote]:
    """Return the votes as far as they hold: a criterion without valid proof is unclear."""
    checked = {}
    for name, vote in votes.items():
        if vote.met == "unclear":
            checked[name] = vote
            continue
        objection = _objection(vote, lines)
        if objection is None:
            checked[name] = vote
        else:
            checked[name] = replace(vote, met="unclear", why=objection)
    return checked


def _objection(vote: CriterionVote, lines: Mapping[str, Fact]) -> str | None:
    """Why a vote's proof does not hold; None where it does."""
    for name in vote.evidence:
        if name not in lines:
            return f"there is no line {name[:40]!r}"
    facts = [lines[name] for name in vote.evidence]
    for name, fact in zip(vote.evidence, facts, strict=True):
        if fact.flags:
            return f"line {name} is withheld: {', '.join(fact.flags)}"
    if vote.met == "no":
        return None  # no line shows that something is absent
    if not facts:
        return "no line is named as proof"
    has_only_claims = all(fact.claim for fact in facts)
    return "only claims are named as proof" if has_only_claims else None


def score_of(
    votes: Mapping[str, CriterionVote], criteria: Sequence[Criterion], graded: str
) -> float | None:
    """Return 1 or 0 (``all``), or the share of criteria that are met; None where any is unclear."""
    met = {name: vote.met == "yes" for name, vote in votes.items()}
    if any(vote.met == "unclear" for vote in votes.values()):
        return None
    if graded == "all":
        return float(all(met[criterion.id] for criterion in criteria if criterion.required))
    return sum(met.values()) / len(criteria)
