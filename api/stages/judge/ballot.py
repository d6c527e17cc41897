"""One vote: the question asked once, read, repaired at most once, and held against the evidence by
code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from api.stages.base import Criterion, Question
from api.stages.judge.answers import (
    CriterionVote,
    JsonSchema,
    UnreadableError,
    answer_schema,
    check_proof,
    read_answer,
)
from api.stages.judge.endpoint import Endpoint, Message, Reply
from api.stages.judge.evidence import Evidence, Lines
from api.stages.judge.pictures import picture_parts
from api.stages.judge.prompt import order_of, repair_prompt, system_prompt, user_prompt
from api.stages.judge.settings import JudgeSettings
from api.stages.judge.tooling import Desk, JudgeTurn, consult
from detectors.model.types import Json


@dataclass(slots=True)
class Bill:
    """What all calls of one question used; the caller keeps it, so that a failure loses nothing."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    counted: bool = True

    def add(self, reply: Reply) -> None:
        """Add one more call and its tokens to the counts."""
        self.calls += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.counted = self.counted and reply.counted


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer to all criteria. ``criteria``: as far as its proof holds, None where the answer
    can't be read (``why``); ``cited``: keys of facts by criterion."""

    criteria: Mapping[str, CriterionVote] | None
    why: str = ""
    cited: Mapping[str, Sequence[str]] = field(default_factory=dict)
    trace: Sequence[JudgeTurn] = ()
    repaired: bool = False
    rationale: str | None = None

    @property
    def record(self) -> dict[str, Json]:
        """What the audit keeps of this vote, as JSON."""
        record: dict[str, Json] = {"repaired": self.repaired, "why": self.why}
        if self.criteria is not None:
            record["criteria"] = {
                name: {"met": vote.met, "evidence": list(self.cited[name]), "why": vote.why}
                for name, vote in self.criteria.items()
            }
        if self.trace:
            record |= {"trace": list(self.trace), "rationale": self.rationale}
        return record


async def cast_vote(
    number: int,
    question: Question,
    criteria: Sequence[Criterion],
    evidence: Evidence,
    endpoint: Endpoint,
    settings: JudgeSettings,
    bill: Bill,
) -> Vote:
    """Cast vote ``number`` on ``question``. Raises what `Endpoint.ask` does."""
    asked, options = order_of(number, criteria)
    lines = Lines(settings.mark)
    text = user_prompt(question, asked, options, lines, evidence)
    messages: list[Message] = [
        {"role": "system", "content": system_prompt(settings.mark)},
        {"role": "user", "content": _with_pictures(text, lines, evidence, settings.pictures)},
    ]
    trace: list[JudgeTurn] = []
    if settings.tools:
        trace = await consult(
            messages, Desk(question, lines, settings), endpoint, settings.turns, bill.add
        )
    schema = answer_schema(asked, options, rationale=settings.tools)
    return await _answer(messages, schema, asked, lines, endpoint, bill, trace)


def _with_pictures(
    text: str, lines: Lines, evidence: Evidence, folder: Path | None
) -> str | list[Json]:
    """Return a message's content: the text alone where there is no picture."""
    if folder is None:
        return text
    names = {fact.key: name for name, fact in lines.facts.items()}
    pictures = picture_parts(evidence.facts, names, folder)
    return [{"type": "text", "text": text}, *pictures] if pictures else text


async def _answer(
    messages: list[Message],
    schema: JsonSchema,
    criteria: Sequence[Criterion],
    lines: Lines,
    endpoint: Endpoint,
    bill: Bill,
    trace: list[JudgeTurn],
) -> Vote:
    """Ask until an answer can be read: once, and once more with what was wrong."""
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
        votes = check_proof(answer.votes, lines.facts)
        cited = {name: lines.keys_of(vote.evidence) for name, vote in votes.items()}
        return Vote(votes, "", cited, trace, repaired, answer.rationale)
    return Vote(None, why, trace=trace, repaired=True)
