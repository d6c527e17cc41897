"""The stage `judge`: votes in both orders must agree, and at an episode's end a third one on the
cited facts alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from api.stages.base import Criterion, Opinion, Question
from api.stages.judge.answers import SCHEMA, CriterionVote, score_of
from api.stages.judge.ballot import Bill, Vote, cast_vote
from api.stages.judge.calibration import check_judge
from api.stages.judge.confidence import Answered, Support, support_of
from api.stages.judge.endpoint import Endpoint
from api.stages.judge.evidence import Evidence, fit_evidence
from api.stages.judge.facts import SUBMITTED, EventFacts, facts_of
from api.stages.judge.prompt import prompt_digest
from api.stages.judge.settings import JudgeSettings
from api.stages.peer import RefusedError, UnreachableError
from detectors.model.codec import canonical, sha256
from detectors.model.types import Json, Verdict

WHOLE = Criterion(
    "c1", "What the task asks for is done, all of it, and the recorded facts show it."
)
"""Asked where a question brings no criteria of its own."""

Outcome = Literal["agreed", "disagreed", "unclear", "unreadable", "unavailable"]


@dataclass(frozen=True, slots=True)
class VoteTally:
    """The outcome of the votes. ``criteria``: what all of them say, where they agree."""

    outcome: Outcome
    why: str
    criteria: Mapping[str, CriterionVote] | None = None

    @property
    def has_yes(self) -> bool:
        """Whether a criterion is met by all votes."""
        return any(vote.met == "yes" for vote in (self.criteria or {}).values())


class Judge:
    """A judge behind one endpoint. `close` it when done."""

    name: Literal["model", "judge"] = "judge"

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self.endpoint = Endpoint(settings)
        self._prompt = prompt_digest(settings.mark, SCHEMA)
        if settings.calibration is not None:
            check_judge(settings.calibration, settings.model, self._prompt)

    async def close(self) -> None:
        """Close the connections to the judge's endpoint."""
        await self.endpoint.peer.close()

    def most_calls(self, question: Question) -> int:
        """How many calls one question can take: votes, each repaired, each with its turns."""
        turns = self.settings.turns if self.settings.tools else 0
        return _count_votes(question) * (2 + turns)

    def digest(self, question: Question) -> str:
        """Hash model, prompt, parameters, criteria and the evidence as it is shown, without the
        nonce."""
        return self._digest(question, self._evidence(question))

    async def ask(self, question: Question) -> Opinion:
        """Return one opinion; ``record["outcome"]`` says how it came about, for the audit and for
        counters."""
        # Reading and cleaning a long log is work of some 100 ms: not on the loop that serves.
        evidence = await asyncio.to_thread(self._evidence, question)
        criteria = question.criteria or (WHOLE,)
        votes: list[Vote] = []
        bill = Bill()
        try:
            tally = await self._vote(question, criteria, evidence, votes, bill)
        except (UnreachableError, RefusedError) as error:
            tally = VoteTally("unavailable", f"the judge can't be asked: {error}")
        score = None
        if tally.criteria is not None:
            score = score_of(tally.criteria, criteria, question.graded)
        return self._opinion(question, evidence, tally, score, votes, bill)

    async def _vote(
        self,
        question: Question,
        criteria: Sequence[Criterion],
        evidence: Evidence,
        votes: list[Vote],
        bill: Bill,
    ) -> VoteTally:
        """Vote until votes disagree or all are cast; they are added to ``votes``."""
        tally = VoteTally("unreadable", "")
        for number in range(_count_votes(question)):
            shown = evidence
            if number == 2 and tally.has_yes:
                # What is hidden in lines that prove nothing can't speak when they are gone.
                shown = evidence.only(_cited_keys(votes))
            votes.append(
                await cast_vote(
                    number, question, criteria, shown, self.endpoint, self.settings, bill
                )
            )
            tally = tally_votes(votes)
            if tally.outcome != "agreed":
                break
        return tally

    def _evidence(self, question: Question) -> Evidence:
        reader = EventFacts(self.settings.text_chars, self.settings.mark)
        return fit_evidence(facts_of(question, reader), self.settings.evidence_chars)

    def _digest(self, question: Question, evidence: Evidence) -> str:
        """Return the digest of all that an answer depends on."""
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
        tally: VoteTally,
        score: float | None,
        votes: Sequence[Vote],
        bill: Bill,
    ) -> Opinion:
        """Return the votes as an opinion; one that is less sure than the bar abstains."""
        settings = self.settings
        readable = [_as_answered(vote) for vote in votes if vote.criteria is not None]
        support = support_of(readable, whole=evidence.cut == 0)
        sure = 0.0 if score is None else self._confidence(support, score)
        calibration = settings.calibration
        bar = 0.0 if score is None or calibration is None else calibration.bar
        unsure = sure < bar
        why = f"not sure enough: {sure:.3g}, wanted {bar:g} ({tally.why})" if unsure else tally.why
        verdict = Verdict(
            stage="judge",
            score=None if unsure else score,
            confidence=0.0 if unsure else sure,
            why=why,
            by=f"{settings.model}@{self._prompt[:12]}",
            cost=settings.cost(bill.tokens_in, bill.tokens_out),
        )
        record: dict[str, Json] = {
            "outcome": "unsure" if unsure else tally.outcome,
            "score": score,
            "model": settings.model,
            "prompt": self._prompt,
            "question": self._digest(question, evidence),
            "rung": self.endpoint.way.rung if self.endpoint.way else None,
            **_evidence_record(evidence),
            "votes": [vote.record for vote in votes],
            "support": asdict(support),
            "confidence": sure,
            "calibration": None if calibration is None else calibration.digest,
            "calls": bill.calls,
            "tokens": {"in": bill.tokens_in, "out": bill.tokens_out, "counted": bill.counted},
        }
        return Opinion(verdict, record, again=tally.outcome == "unavailable")

    def _confidence(self, support: Support, score: float) -> float:
        """Return how sure a verdict is: calibrated, else as it was measured, else by its
        support."""
        settings = self.settings
        if settings.calibration is not None:
            return settings.calibration.confidence(support.confidence, score)
        return support.confidence if settings.accuracy is None else settings.accuracy


def _evidence_record(evidence: Evidence) -> dict[str, Json]:
    """Return what a verdict's record keeps of the evidence that was shown."""
    submitted = [fact for fact in evidence.facts if fact.kind == SUBMITTED]
    return {
        "evidence": {"keys": [fact.key for fact in evidence.facts], "cut": evidence.cut},
        "submitted": [{"event": fact.seq, **fact.data} for fact in submitted],
        "flags": {fact.key: list(fact.flags) for fact in evidence.facts if fact.flags},
    }


def _as_answered(vote: Vote) -> dict[str, Answered]:
    """Return a vote that can be read, as its support is counted."""
    return {
        name: Answered(criterion.met, frozenset(vote.cited.get(name, ())))
        for name, criterion in (vote.criteria or {}).items()
    }


def _cited_keys(votes: Sequence[Vote]) -> Iterator[str]:
    """Yield the keys of all facts that votes name as proof."""
    for vote in votes:
        for keys in vote.cited.values():
            yield from keys


def _count_votes(question: Question) -> int:
    return 3 if question.terminal else 2


def tally_votes(votes: Sequence[Vote]) -> VoteTally:
    """Return the outcome of the votes, the last of them against the first: an abstention unless
    they can be read, are clear and say the same of every criterion."""
    last = votes[-1].criteria
    if last is None:
        return VoteTally("unreadable", f"the answer can't be read: {votes[-1].why}")
    first = votes[0].criteria
    for name, vote in last.items():
        if vote.met == "unclear":
            return VoteTally("unclear", f"{name} is unclear: {vote.why or 'so the judge says'}")
        if first is not None and first[name].met != vote.met:
            return VoteTally(
                "disagreed", f"{name} is {first[name].met} in one vote and {vote.met} in another"
            )
    results = ", ".join(f"{name} {vote.met}" for name, vote in last.items())
    return VoteTally("agreed", f"{len(votes)} votes agree: {results}", last)
