"""One vote: the question asked once, read, repaired at most once, and held against the evidence by
code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.stages.base import Criterion, Question
from api.stages.judge.answers import (
    CriterionVote,
    UnreadableError,
    answer_schema,
    checked,
    read_answer,
)
from api.stages.judge.endpoint import Endpoint, Reply
from api.stages.judge.evidence import Evidence, Lines
from api.stages.judge.pictures import parts_of
from api.stages.judge.prompt import order_of, repair_prompt, system_prompt, user_prompt
from api.stages.judge.settings import JudgeSettings
from api.stages.judge.tooling import Desk, consult


@dataclass(slots=True)
class Bill:
    """What all calls of one question used; kept by the caller, so that a failure loses none of
    it."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    counted: bool = True

    def add(self, reply: Reply) -> None:
        """One call more."""
        self.calls += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.counted = self.counted and reply.counted


@dataclass(frozen=True, slots=True)
class Vote:
    """``said`` is what holds of it, None where it can't be read (``why``); ``cited`` are keys of
    facts by criterion."""

    said: Mapping[str, CriterionVote] | None
    why: str = ""
    cited: Mapping[str, Sequence[str]] = field(default_factory=dict)
    trace: Sequence[Mapping[str, Any]] = ()
    repaired: bool = False
    rationale: str | None = None

    @property
    def record(self) -> dict[str, Any]:
        """For the audit."""
        told: dict[str, Any] = {"repaired": self.repaired, "why": self.why}
        if self.said is not None:
            told["criteria"] = {
                name: {"met": one.met, "evidence": list(self.cited[name]), "why": one.why}
                for name, one in self.said.items()
            }
        if self.trace:
            told |= {"trace": list(self.trace), "rationale": self.rationale}
        return told


async def vote(
    number: int,
    question: Question,
    criteria: Sequence[Criterion],
    evidence: Evidence,
    endpoint: Endpoint,
    settings: JudgeSettings,
    bill: Bill,
) -> Vote:
    """Vote ``number`` on ``question``. Raises what `Endpoint.ask` does."""
    asked, options = order_of(number, criteria)
    lines = Lines(settings.mark)
    text = user_prompt(question, asked, options, lines, evidence)
    content: Any = text
    if settings.pictures is not None:
        names = {fact.key: name for name, fact in lines.facts.items()}
        if parts := parts_of(evidence.facts, names, settings.pictures):
            content = [{"type": "text", "text": text}, *parts]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system_prompt(settings.mark)},
        {"role": "user", "content": content},
    ]
    trace: list[dict[str, Any]] = []
    if settings.tools:
        trace = await consult(
            messages, Desk(question, lines, settings), endpoint, settings.turns, bill.add
        )
    schema = answer_schema(asked, options, rationale=settings.tools)
    return await _answer(messages, schema, asked, lines, endpoint, bill, trace)


async def _answer(
    messages: list[dict[str, Any]],
    schema: Mapping[str, Any],
    criteria: Sequence[Criterion],
    lines: Lines,
    endpoint: Endpoint,
    bill: Bill,
    trace: list[dict[str, Any]],
) -> Vote:
    why = ""
    for repaired in (False, True):
        reply = await endpoint.ask(messages, schema, bill.add)
        try:
            answer = read_answer(reply.text, criteria)
        except UnreadableError as error:
            why = str(error)
            messages = [
                *messages,
                {"role": "assistant", "content": str(reply.text)[:4_000]},
                {"role": "user", "content": repair_prompt(why)},
            ]
            continue
        said = checked(answer.said, lines.facts)
        cited = {
            n: [lines.facts[e].key if e in lines.facts else e for e in one.evidence]
            for n, one in said.items()
        }
        return Vote(said, "", cited, trace, repaired, answer.rationale)
    return Vote(None, why, trace=trace, repaired=True)
