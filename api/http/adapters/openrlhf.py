"""OpenRLHF's remote reward model (`--reward.remote_url`): `/get_reward` and
`/adapters/openrlhf/score`.

Its client sends one sample a request and wants lists of one in return, numbers only, the same keys
always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from api.auth.store import Principal
from api.core.errors import InvalidError
from api.http.adapters.shared import ScoreOptionsPart, clean, sample_of, value_of
from api.http.authorization import requires
from api.http.dependencies import OwnersPart, ScorerPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.support import READ, answer
from api.scoring.score import SampleScore
from api.scoring.scorer import episodes_of

router = APIRouter(tags=["adapters"], route_class=JsonRoute)


class ScoreQuery(BaseModel):
    """`query`: prompt and response as text, special tokens kept; `labels`: the data set's label
    column, any JSON."""

    model_config = ConfigDict(extra="ignore")

    query: Annotated[list[str], Field(max_length=1_000)] = []
    prompts: Annotated[list[str], Field(max_length=1_000)] = []
    labels: Annotated[list[Any], Field(max_length=1_000)] = []


class Scores(BaseModel):
    """Lists of the query's length; `extra_logs` holds lists of numbers under keys that never
    change."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


@router.post(
    "/get_reward",
    summary="OpenRLHF: reward (its server's own path)",
    response_model=Scores,
    responses=problems(401, 403, 404, 413, 422),
)
@router.post(
    "/adapters/openrlhf/score",
    summary="OpenRLHF: reward",
    response_model=Scores,
    responses=problems(401, 403, 404, 413, 422),
)
async def score(
    who: Annotated[Principal, requires(READ)],
    options: ScoreOptionsPart,
    scorer: ScorerPart,
    owners: OwnersPart,
    body: ScoreQuery,
) -> Response:
    """Score each text by what its label names. What is not known is `?fallback=`, else 503."""
    if len(body.query) != len(body.labels) or len(body.prompts) not in (0, len(body.query)):
        sizes = f"{len(body.query)} query, {len(body.prompts)} prompts, {len(body.labels)} labels"
        raise InvalidError(f"query: got {sizes}; wanted lists of one length")
    prompts = body.prompts or [""] * len(body.query)
    samples = [
        sample_of(label, _completion_of(text, prompt))
        for text, prompt, label in zip(body.query, prompts, body.labels, strict=True)
    ]
    owners.hear(who, episodes_of(samples))
    outcomes = await scorer.score_all(who.tenant, samples, options.folding, options.deadline)
    rewards = [value_of(outcome, options) for outcome in outcomes]
    logs = _logs_of([outcome for outcome in outcomes if isinstance(outcome, SampleScore)])
    scores = [min(1.0, max(0.0, reward)) for reward in rewards]
    return answer({"rewards": rewards, "scores": scores, "extra_logs": logs})


def _logs_of(scores: Sequence[SampleScore]) -> dict[str, list[float]]:
    """Lists of numbers beside the rewards, the same keys always."""
    return {
        "milestones": [float(score.milestones) for score in scores],
        "steps": [float(len(score.step_rewards)) for score in scores],
        "success": [float(score.success is True) for score in scores],
        "success_known": [float(score.success is not None) for score in scores],
        "unknown": [float(score.reward is None) for score in scores],
        "known_share": [score.known_share or 0.0 for score in scores],
    }


def _completion_of(text: str, prompt: str) -> str:
    """What the model wrote after its prompt, which comes with special tokens around it in one place
    and not the other: what the prompt says is no answer."""
    if text.startswith(prompt):
        return text.removeprefix(prompt)
    return clean(text).removeprefix(clean(prompt))
