"""The stage `judge`: votes in both orders must agree, and at an episode's end a third one on the
cited facts alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from api.stages.base import Criterion, Opinion, Question
from api.stages.judge.answers import SCHEMA, CriterionVote, score_of
from api.stages.judge.ballot import Bill, Vote, vote
from api.stages.judge.confidence import Answered, support_of
from api.stages.judge.endpoint import Endpoint
from api.stages.judge.evidence import Evidence, fitted
from api.stages.judge.facts import EventFacts, facts_of
from api.stages.judge.prompt import prompt_digest
from api.stages.judge.settings import JudgeSettings
from api.stages.peer import RefusedError, UnreachableError
from detectors.model.codec import canonical, sha256
from detectors.model.types import Verdict

WHOLE = Criterion(
    "c1", "What the task asks for is done, all of it, and the recorded facts show it."
)
"""Asked where a question brings no criteria of its own."""

Outcome = Literal["agreed", "disagreed", "unclear", "unreadable", "unavailable"]


@dataclass(frozen=True, slots=True)
class VoteTally:
    """What the votes came to. ``said`` is of all of them where they agree."""

    outcome: Outcome
    why: str
    said: Mapping[str, CriterionVote] | None = None


class Judge:
    """A judge behind one endpoint. `close` it when done."""

    name: Literal["model", "judge"] = "judge"

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self.endpoint = Endpoint(settings)
        self._prompt = prompt_digest(settings.mark, SCHEMA)

    async def close(self) -> None:
        """Let go of the endpoint's connections."""
        await self.endpoint.peer.close()

    def most_calls(self, question: Question) -> int:
        """How many calls one question can take: votes, each repaired, each with its turns."""
        turns = self.settings.turns if self.settings.tools else 0
        return _votes(question) * (2 + turns)

    def digest(self, question: Question) -> str:
        """sha256 of the model, prompt, parameters, criteria and the evidence as it is shown,
        without the nonce."""
        return self._digest(question, self._evidence(question))

    async def ask(self, question: Question) -> Opinion:
        """One opinion; ``record["outcome"]`` says how it came about, for the audit and for
        counters."""
        # Reading and cleaning a long log is work of some 100 ms: not on the loop that serves.
        evidence = await asyncio.to_thread(self._evidence, question)
        criteria = question.criteria or (WHOLE,)
        votes: list[Vote] = []
        bill = Bill()
        try:
            found = await self._votes(question, criteria, evidence, votes, bill)
        except (UnreachableError, RefusedError) as error:
            found = VoteTally("unavailable", f"the judge can't be asked: {error}")
        score = None if found.said is None else score_of(found.said, criteria, question.graded)
        return self._opinion(question, evidence, found, score, votes, bill)

    async def _votes(
        self,
        question: Question,
        criteria: Sequence[Criterion],
        evidence: Evidence,
        votes: list[Vote],
        bill: Bill,
    ) -> VoteTally:
        found = VoteTally("unreadable", "")
        for number in range(_votes(question)):
            shown = evidence
            if number == 2 and any(one.met == "yes" for one in (found.said or {}).values()):
                # What is hidden in lines that prove nothing can't speak when they are gone.
                shown = evidence.only(
                    key for past in votes for keys in past.cited.values() for key in keys
                )
            votes.append(
                await vote(number, question, criteria, shown, self.endpoint, self.settings, bill)
            )
            found = tallied(votes)
            if found.outcome != "agreed":
                break
        return found

    def _evidence(self, question: Question) -> Evidence:
        reader = EventFacts(self.settings.text_chars, self.settings.mark)
        return fitted(facts_of(question, reader), self.settings.evidence_chars)

    def _digest(self, question: Question, evidence: Evidence) -> str:
        criteria = question.criteria or (WHOLE,)
        depends = {
            "model": self.settings.model,
            "prompt": self._prompt,
            "parameters": self.settings.parameters,
            "question": [
                question.about,
                question.terminal,
                question.graded,
                question.task.get("instruction"),
            ],
            "criteria": [
                [criterion.id, criterion.text, criterion.required] for criterion in criteria
            ],
            "evidence": evidence.canonical,
        }
        if self.settings.tools:
            # A tool may read any event, shown or not.
            depends["log"] = [[event.seq, event.kind, event.data] for event in question.events]
        return sha256(canonical(depends))

    def _opinion(
        self,
        question: Question,
        evidence: Evidence,
        found: VoteTally,
        score: float | None,
        votes: Sequence[Vote],
        bill: Bill,
    ) -> Opinion:
        settings = self.settings
        readable = [_answered(one) for one in votes if one.said is not None]
        support = support_of(readable, whole=evidence.cut == 0)
        sure = support.confidence if settings.accuracy is None else settings.accuracy
        verdict = Verdict(
            stage="judge",
            score=score,
            confidence=0.0 if score is None else sure,
            why=found.why,
            by=f"{settings.model}@{self._prompt[:12]}",
            cost=settings.cost(bill.tokens_in, bill.tokens_out),
        )
        record: dict[str, Any] = {
            "outcome": found.outcome,
            "model": settings.model,
            "prompt": self._prompt,
            "question": self._digest(question, evidence),
            "rung": self.endpoint.way.rung if self.endpoint.way else None,
            "evidence": {"keys": [fact.key for fact in evidence.facts], "cut": evidence.cut},
            "flags": {fact.key: list(fact.flags) for fact in evidence.facts if fact.flags},
            "votes": [one.record for one in votes],
            "support": asdict(support),
            "calls": bill.calls,
            "tokens": {"in": bill.tokens_in, "out": bill.tokens_out, "counted": bill.counted},
        }
        return Opinion(verdict, record, again=found.outcome == "unavailable")


def _answered(vote: Vote) -> dict[str, Answered]:
    """A vote that can be read, as its support is counted."""
    said = vote.said or {}
    return {
        name: Answered(one.met, frozenset(vote.cited.get(name, ()))) for name, one in said.items()
    }


def _votes(question: Question) -> int:
    return 3 if question.terminal else 2


def tallied(votes: Sequence[Vote]) -> VoteTally:
    """What ``votes`` come to: an abstention unless all can be read, are clear and say the same of
    every criterion."""
    last = votes[-1]
    if last.said is None:
        return VoteTally("unreadable", f"the answer can't be read: {last.why}")
    first = votes[0].said
    for name, one in last.said.items():
        if one.met == "unclear":
            return VoteTally("unclear", f"{name} is unclear: {one.why or 'so the judge says'}")
        if first is not None and first[name].met != one.met:
            return VoteTally(
                "disagreed", f"{name} is {first[name].met} in one vote and {one.met} in another"
            )
    told = ", ".join(f"{name} {one.met}" for name, one in last.said.items())
    return VoteTally("agreed", f"{len(votes)} votes agree: {told}", last.said)
