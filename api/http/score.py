"""Samples of a trainer, each scored on its own: episodes, steps, and answers without either."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from api.auth.store import Principal
from api.core.errors import InvalidError, ProblemError
from api.core.frames import MAX_NUMBER
from api.core.notify import Deadline
from api.http.authorization import requires
from api.http.dependencies import OwnersPart, ScorerPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.shapes import MaskCauses, Wait
from api.http.support import READ, Body, answer
from api.scoring.fold import MIN_KNOWN, Fold, RewardFolding
from api.scoring.reference import Reference, reference_of
from api.scoring.score import SampleScore
from api.scoring.scorer import ScoredSample, episodes_of

router = APIRouter(tags=["rewards"], route_class=JsonRoute)
MAX_CHARACTERS = 1_000_000
"""Of one answer: a policy that thinks aloud writes 100,000, and must not fail its whole batch."""


class SampleShape(Body):
    """What is to be scored: a step of an episode, a whole one, or an answer on its own under a
    task; named by its own members, or by a label as the data set carries it."""

    episode: Annotated[str, Field(max_length=64)] | None = None
    step: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
    task: Annotated[str, Field(max_length=512)] | None = None
    version: Annotated[str, Field(max_length=256)] | None = None
    label: object = None
    """Instead of the members above: a text, or an object with `episode_id` or `task_id`."""
    answer: Annotated[str, Field(max_length=MAX_CHARACTERS)] | None = None
    """The final answer of the agent, of which a sample without an episode is scored."""


class ScoreBody(Body):
    """Many samples at once, and how an episode's step rewards become one number."""

    samples: Annotated[list[SampleShape], Field(max_length=1_000)]
    fold: Fold = "sum"
    """How an episode's step rewards become one number: Σ r_t, the last one, Σ γ^t r_t, or Σ of
    those that are known."""
    gamma: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """The discount γ of `discounted`."""
    min_known: Annotated[float, Field(ge=0.0, le=1.0)] = MIN_KNOWN
    """The share of known steps below which `known` gives null."""
    mask_causes: MaskCauses = ()
    """What failed for one of these causes is null, unless a penalty was observed."""
    wait_ms: Wait = 0


class ScoresShape(BaseModel):
    """Scores in the order of the samples; a sample that can't be looked up has a problem document
    in `error`."""

    results: list[SampleScore | dict[str, object]]


@router.post(
    "/v1/score",
    summary="Score samples",
    response_model=ScoresShape,
    responses=problems(401, 403, 413, 422),
)
async def score(
    who: Annotated[Principal, requires(READ)],
    scorer: ScorerPart,
    owners: OwnersPart,
    body: ScoreBody,
) -> Response:
    """Score episodes, steps of episodes and final answers on their own, mixed. A read, so it may be
    repeated."""
    folding = RewardFolding(body.fold, body.gamma, body.min_known, frozenset(body.mask_causes))
    samples = [_sample(sample) for sample in body.samples]
    owners.hear(who, episodes_of(samples))
    scores = await scorer.score_all(who.tenant, samples, folding, Deadline(body.wait_ms))
    return answer({"results": [_score_document(score) for score in scores]})


def _sample(given: SampleShape) -> ScoredSample | ProblemError:
    """Return what a sample refers to, or the problem that it has."""
    own = Reference(given.episode, given.step, given.task, given.version)
    try:
        reference = own or reference_of(given.label)
    except InvalidError as problem:
        return problem
    if reference.episode is None and given.answer is None:
        return InvalidError(
            f"answer: got none; wanted the final answer that task {reference.task} is to be"
            " scored by"
        )
    return ScoredSample(reference, given.answer)


def _score_document(outcome: SampleScore | ProblemError) -> dict[str, object]:
    if isinstance(outcome, ProblemError):
        return {"error": outcome.document()}
    return outcome.document()
