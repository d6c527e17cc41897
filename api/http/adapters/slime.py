"""slime's remote reward model (`--rm-type remote_rm --rm-url URL`): one sample in, one bare number
out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict

from api.http.adapters.shared import asked_of, described, sample_of, value_of
from api.http.dependencies import LimitsPart, ScorerPart
from api.http.describe import problems
from api.http.support import READ, answer, caller, parsed, read_body
from api.scoring.score import Score

router = APIRouter(tags=["adapters"])


DETAIL: dict[str, Any] = {
    "name": "detail",
    "in": "query",
    "required": False,
    "description": "Answer with the whole score, its number under `reward`.",
    "schema": {"enum": ["0", "1"], "default": "0"},
}


class RmQuery(BaseModel):
    """`response`: what the model wrote; `label`: the data set's label, text or any JSON."""

    model_config = ConfigDict(extra="ignore")

    prompt: Any = None
    response: str = ""
    label: Any = None


@router.post(
    "/adapters/slime/score",
    summary="slime: reward",
    responses={200: {"model": float | Score}, **problems(401, 403, 404, 413, 422)},
    openapi_extra=described(RmQuery, DETAIL),
)
async def score(request: Request, limits: LimitsPart, scorer: ScorerPart) -> Response:
    """The reward as a bare number; with `?detail=1` an object, for `--reward-key reward`."""
    who = await caller(request, READ)
    options = asked_of(request)
    body = parsed(RmQuery, await read_body(request, limits.body_bytes))
    samples = [sample_of(body.label, body.response)]
    outcomes = await scorer.score_all(who.tenant, samples, options.folding, options.deadline)
    outcome = outcomes[0]
    value = value_of(outcome, options)
    if request.query_params.get("detail", "0") in ("", "0"):
        return answer(value)
    assert not isinstance(outcome, Exception)
    return answer({**outcome.document(), "reward": value})
