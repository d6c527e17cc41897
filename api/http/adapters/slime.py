"""slime's remote reward model (`--rm-type remote_rm --rm-url URL`): one sample in, one bare number
out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict

from api.auth.store import Principal
from api.http.adapters.shared import ScoreOptionsPart, sample_of, value_of
from api.http.authorization import requires
from api.http.dependencies import OwnersPart, ScorerPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.support import READ, answer
from api.scoring.score import SampleScore
from api.scoring.scorer import episodes_of

router = APIRouter(tags=["adapters"], route_class=JsonRoute)


class RmQuery(BaseModel):
    """`response`: what the model wrote; `label`: the data set's label, text or any JSON."""

    model_config = ConfigDict(extra="ignore")

    prompt: Any = None
    response: str = ""
    label: Any = None


@router.post(
    "/adapters/slime/score",
    summary="slime: reward",
    response_model=float | SampleScore,
    responses=problems(401, 403, 404, 413, 422),
)
async def score(
    who: Annotated[Principal, requires(READ)],
    options: ScoreOptionsPart,
    scorer: ScorerPart,
    owners: OwnersPart,
    body: RmQuery,
    detail: Annotated[
        str,
        Query(
            description="Answer with the whole score, its number under `reward`.",
            json_schema_extra={"enum": ["0", "1"]},
        ),
    ] = "0",
) -> Response:
    """The reward as a bare number; with `?detail=1` an object, for `--reward-key reward`."""
    samples = [sample_of(body.label, body.response)]
    owners.hear(who, episodes_of(samples))
    outcomes = await scorer.score_all(who.tenant, samples, options.folding, options.deadline)
    outcome = outcomes[0]
    value = value_of(outcome, options)
    if detail in ("", "0"):
        return answer(value)
    assert not isinstance(outcome, Exception)
    return answer({**outcome.document(), "reward": value})
