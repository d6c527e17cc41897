"""What a judge may answer, how that is read, and what code makes of it. Nothing is searched for in
prose.

A parser that takes the first thing that looks like a verdict reads what the judge quotes: so the
whole answer is one JSON object of exactly the asked shape, or it is no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from api.stages.base import Criterion
from api.stages.judge.facts import Fact

Met = Literal["yes", "no", "unclear"]
OPTIONS: tuple[Met, ...] = ("yes", "no", "unclear")
SCHEMA = "answer/1"
"""The version of the answer's shape."""
MAX_CITED = 8
_FENCED = re.compile(r"\A```(?:json)?\n(.*)\n```\Z", re.DOTALL)


class UnreadableError(ValueError):
    """The answer has not the asked shape; the message names the place, the value and what was
    wanted."""


@dataclass(frozen=True, slots=True)
class CriterionVote:
    """What one vote says of one criterion. ``evidence`` are ids of lines, ``why`` is code's, where
    it overruled."""

    met: Met
    evidence: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class CriterionAnswer:
    """One answer as it was given. The ``rationale`` is kept for the audit, and decides nothing."""

    said: Mapping[str, CriterionVote]
    rationale: str | None = None


def answer_schema(
    criteria: Sequence[Criterion], options: Sequence[Met] = OPTIONS, rationale: bool = False
) -> Any:
    """The JSON Schema of an answer, in the part of the language that all endpoints know: no
    numbers, no lengths."""
    said = {
        "type": "object",
        "properties": {
            "evidence": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_CITED},
            "met": {"type": "string", "enum": list(options)},
        },
        "required": ["evidence", "met"],
        "additionalProperties": False,
    }
    each = {criterion.id: said for criterion in criteria}
    properties: dict[str, Any] = {"rationale": {"type": "string"}} if rationale else {}
    properties["criteria"] = {
        "type": "object",
        "properties": each,
        "required": list(each),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: Any) -> dict[str, Any]:
    """``text``, whole, as one JSON object (a code fence around all of it is let pass). Raises
    `UnreadableError`."""
    if not isinstance(text, str) or not text.strip():
        raise UnreadableError(f"answer: {text!r}, wanted one JSON object")
    text = text.strip()
    fenced = _FENCED.match(text)
    try:
        value = json.loads(
            fenced[1] if fenced else text, object_pairs_hook=_once, parse_constant=_no_constant
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


def read_answer(text: Any, criteria: Sequence[Criterion]) -> CriterionAnswer:
    """What is said of each criterion, by its id. Raises `UnreadableError`."""
    value = read_object(text)
    given = value.get("criteria")
    wanted = [criterion.id for criterion in criteria]
    if not isinstance(given, Mapping) or sorted(given) != sorted(wanted):
        found = sorted(given) if isinstance(given, Mapping) else given
        raise UnreadableError(
            f"criteria: {str(found)[:200]}, wanted an object with exactly {', '.join(wanted)}"
        )
    if more := sorted(set(value) - {"criteria", "rationale"}):
        raise UnreadableError(f"answer: has {', '.join(more)}, wanted `criteria` alone")
    rationale = value.get("rationale")
    if rationale is not None and not isinstance(rationale, str):
        raise UnreadableError(f"rationale: {str(rationale)[:200]}, wanted a text")
    return CriterionAnswer(
        {name: _parse_statement(f"criteria.{name}", given[name]) for name in wanted}, rationale
    )


def _parse_statement(where: str, value: Any) -> CriterionVote:
    if not isinstance(value, Mapping) or set(value) != {"met", "evidence"}:
        raise UnreadableError(
            f"{where}: {str(value)[:200]}, wanted an object of `met` and `evidence`"
        )
    met, evidence = value["met"], value["evidence"]
    if not isinstance(met, str) or met not in OPTIONS:
        raise UnreadableError(f"{where}.met: {met!r}, wanted one of {', '.join(OPTIONS)}")
    if (
        not isinstance(evidence, list)
        or len(evidence) > MAX_CITED
        or not all(isinstance(e, str) for e in evidence)
    ):
        raise UnreadableError(
            f"{where}.evidence: {str(evidence)[:200]}, wanted at most {MAX_CITED} ids"
        )
    return CriterionVote(met, tuple(evidence))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise UnreadableError("answer: a key stands twice")
    return value


def _no_constant(text: str) -> Any:
    raise UnreadableError(f"answer: {text} is no JSON")


def checked(
    said: Mapping[str, CriterionVote], lines: Mapping[str, Fact]
) -> dict[str, CriterionVote]:
    """What holds of what a vote ``said``: without proof, or with one that is none, a criterion is
    unclear."""
    return {name: _checked(one, lines) for name, one in said.items()}


def _checked(said: CriterionVote, lines: Mapping[str, Fact]) -> CriterionVote:
    def unclear(why: str) -> CriterionVote:
        return CriterionVote("unclear", said.evidence, why)

    if said.met == "unclear":
        return said
    if strange := [name for name in said.evidence if name not in lines]:
        return unclear(f"there is no line {strange[0][:40]!r}")
    if withheld := [name for name in said.evidence if lines[name].flags]:
        return unclear(f"line {withheld[0]} is withheld: {', '.join(lines[withheld[0]].flags)}")
    # That something is absent no line shows; that it is there, one does, and not the agent's word
    # alone.
    if said.met == "yes" and not said.evidence:
        return unclear("no line is named as proof")
    if said.met == "yes" and all(lines[name].claim for name in said.evidence):
        return unclear("only claims are named as proof")
    return said


def score_of(
    said: Mapping[str, CriterionVote], criteria: Sequence[Criterion], graded: str
) -> float | None:
    """None where anything is unclear; else 1 or 0 (``all``), or the share of criteria that are
    met."""
    if any(one.met == "unclear" for one in said.values()):
        return None
    if graded == "all":
        return float(
            all(said[criterion.id].met == "yes" for criterion in criteria if criterion.required)
        )
    return sum(one.met == "yes" for one in said.values()) / len(criteria)
