"""NeMo Gym's resources server: `/nemo/seed_session`, `/verify`, `/close_session`, and its step
dialect.

Its own client puts no path before these, so `milestoned serve --nemo-port` offers them at the root
of a port; with observability on it puts `/ng-rollout/ID` before them. What can't be scored is
`mask_sample`; below `/nemo/strict` it is a 503, for clients that ignore the mask (verifiers).
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict

from api.core.errors import InvalidError, ProblemError, UnavailableError
from api.http.adapters.sessions import COOKIE, remember, remembered
from api.http.adapters.shared import asked_of, clean, described, value_of
from api.http.dependencies import CommandsPart, ScorerPart, TurnsPart
from api.http.describe import problems
from api.http.support import READ, TRAINER, answer, caller, parsed, parts_of, read_body
from api.scoring.reference import Reference, reference_of
from api.scoring.responses import calls_tools, response_text
from api.scoring.score import Score
from api.scoring.scorer import Sample

SHARED_KINDS = {404: "session_lost", 422: "verifier_error", 503: "transport_unreachable"}


class NemoBody(BaseModel):
    """A data set's row as NeMo Gym posts it: with `responses_create_params`, and to be scored with
    `response`."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: dict[str, Any] | None = None
    response: dict[str, Any] | None = None


router = APIRouter(tags=["adapters"])
dialect = APIRouter()
_PLACES = ("/nemo", "/nemo/strict", "/nemo/ng-rollout/{rollout}")
_POST: dict[str, Any] = {
    "responses": problems(401, 403, 404, 409, 413, 422),
    "openapi_extra": described(NemoBody),
}


async def _received(request: Request, scopes: frozenset[str] = READ) -> tuple[str, dict[str, Any]]:
    who = await caller(request, scopes)
    body = await read_body(request, parts_of(request).settings.limits.body_bytes)
    return who.tenant, parsed(NemoBody, body).model_dump(exclude_unset=True)


def _reference_of(request: Request, body: dict[str, Any]) -> Reference:
    return remembered(request) or reference_of(_ours(_row_of(body)))


def _row_of(body: dict[str, Any]) -> dict[str, Any]:
    """The data set's row in a body, without what the policy was asked and answered."""
    others = ("response", "responses_create_params")
    return {name: value for name, value in body.items() if name not in others}


def _ours(row: dict[str, Any]) -> dict[str, Any]:
    """The row without an episode id of NeMo Gym's own: a rollout that it named is no episode of
    ours."""
    named = row.get("episode_id")
    rollout = named.get("rollout_id") if isinstance(named, dict) else named
    ours = isinstance(rollout, str) and rollout.startswith("ep_")
    return row if ours else {name: value for name, value in row.items() if name != "episode_id"}


@dialect.post("/seed_session", summary="NeMo Gym: begin a rollout", **_POST)
async def seed_session(request: Request, turns: TurnsPart) -> Response:
    """Bind the rollout, by a cookie, to the episode or task that its row names; the same again
    changes nothing."""
    tenant, body = await _received(request)
    where = reference_of(_ours(body))
    await turns.check_exists(tenant, where)
    session = body.get("resources_session_id")
    response = answer({} if session is None else {"resources_session_id": session})
    remember(request, response, where)
    return response


@dialect.post("/verify", summary="NeMo Gym: score a rollout", **_POST)
async def verify(request: Request, scorer: ScorerPart) -> Response:
    """The row and the response again, with `reward`; `mask_sample` and a failure where nobody can
    know it."""
    tenant, body = await _received(request)
    options = asked_of(request)
    if body.get("response") is None:
        raise InvalidError("response: got none, wanted an object of OpenAI's Responses")
    try:
        sample = Sample(_reference_of(request, body), clean(response_text(body["response"])))
        outcome: Score | ProblemError = await scorer.score(
            tenant, sample, options.folding, options.deadline
        )
    except InvalidError:
        raise
    except ProblemError as problem:
        outcome = problem
    return answer({**body, **_verdict(request, outcome, options.fallback)})


def _verdict(
    request: Request, found: Score | ProblemError, fallback: float | None
) -> dict[str, Any]:
    strict = "/strict/" in request.url.path
    if isinstance(found, ProblemError):
        if strict:
            raise found
        kind = SHARED_KINDS.get(found.status, "verifier_error")
        return _masked(kind, found.detail, {}, fallback)
    if found.reward is None:
        if strict and fallback is None:
            raise UnavailableError(
                f"reward: not known ({found.failure_kind}): {found.failure_reason}"
            )
        return _masked(
            found.failure_kind or "verifier_error",
            found.failure_reason or "",
            found.reward_components,
            fallback,
        )
    return {
        "reward": found.reward,
        "mask_sample": False,
        "failure_kind": None,
        "failure_reason": None,
        "reward_components": found.reward_components,
        "step_rewards": found.step_rewards,
        "known_share": found.known_share,
    }


def _masked(
    kind: str, reason: str, components: dict[str, float | None], fallback: float | None
) -> dict[str, Any]:
    failure = {"failure_kind": kind, "failure_reason": reason}
    # Numbers under the same keys are what this dialect takes; the mask says that they are none.
    numbers = {name: part or 0.0 for name, part in components.items()}
    reward = 0.0 if fallback is None else fallback
    return {
        "reward": reward,
        "mask_sample": True,
        **failure,
        "reward_components": numbers,
        "step_rewards": [],
    }


@dialect.post("/reset", summary="NeMo Gym: begin a rollout of steps", **_POST)
async def reset(request: Request, turns: TurnsPart) -> Response:
    """The task's instruction; the first step begins, or the one that runs is taken up."""
    tenant, body = await _received(request, TRAINER)
    where = reference_of(_ours(_row_of(body)))
    instruction, step = await turns.begin(tenant, where, asked_of(request).deadline)
    info = {"episode_id": where.episode, "task_id": where.task, "step": step}
    info |= {"supports_step_idempotency": True, "supports_explicit_close": True}
    response = answer({"observation": instruction, "info": info})
    remember(request, response, Reference(where.episode, step, where.task, where.version))
    return response


@dialect.post("/step", summary="NeMo Gym: a step's reward", **_POST)
async def step(request: Request, turns: TurnsPart) -> Response:
    """The reward of the step that ends with this response. The same request again gives the same
    answer."""
    tenant, body = await _received(request, TRAINER)
    options = asked_of(request)
    where = remembered(request)
    if where is None:
        raise InvalidError(f"cookie: got no {COOKIE}; wanted the one that /reset set")
    spoken = body.get("response") or {}
    final = where.episode is None or not calls_tools(spoken)
    text = clean(response_text(spoken)) if final else None
    turn = await turns.end(tenant, where, where.step or 0, text, final, options.deadline)
    # This dialect can't leave a step out: what is not known is the configured fall-back, else a
    # 503.
    paid = {
        "reward": value_of(turn.score, options),
        "terminated": turn.next_step is None,
        "truncated": False,
    }
    response = answer({"observation": None, **paid, "info": turn.score.document()})
    if turn.next_step is not None:
        following = Reference(where.episode, turn.next_step, where.task, where.version)
        remember(request, response, following)
    return response


@dialect.post("/close", summary="NeMo Gym: end a rollout of steps", **_POST)
async def close(request: Request, turns: TurnsPart, commands: CommandsPart) -> Response:
    """Close what /reset opened, if it still is open; closing again changes nothing."""
    tenant, _ = await _received(request, TRAINER)
    where = remembered(request)
    if where is not None and where.episode is not None:
        await turns.check_exists(tenant, where)
        await commands.close(where.episode, "the rollout ended")
    response = answer({})
    response.delete_cookie(COOKIE)
    return response


@dialect.post("/close_session", summary="NeMo Gym: end a rollout", **_POST)
async def close_session(request: Request) -> Response:
    """Nothing is kept of a session but the cookie; unknown ones succeed."""
    _, body = await _received(request)
    response = answer({name: body[name] for name in ("resources_session_id",) if name in body})
    response.delete_cookie(COOKIE)
    return response


@dialect.post("/aggregate_metrics", summary="NeMo Gym: means over rollouts", **_POST)
async def aggregate_metrics(request: Request) -> Response:
    """Mean reward and share of masked rollouts, over those that are no masked ones."""
    _, body = await _received(request)
    rows = body.get("verify_responses") or []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidError("verify_responses: wanted a list of what /verify answered")
    paid = [
        float(row["reward"])
        for row in rows
        if isinstance(row.get("reward"), int | float) and not row.get("mask_sample")
    ]
    mean = {"mean/reward": sum(paid) / len(paid)} if paid else {}
    masked = {"mean/mask_sample": (len(rows) - len(paid)) / len(rows)} if rows else {}
    return answer(
        {"group_level_metrics": [], "agent_metrics": {**mean, **masked}, "key_metrics": mean}
    )


@dialect.get(
    "/reverify_mode",
    summary="NeMo Gym: whether stored rollouts can be scored again",
    responses={**problems(401, 403)},
)
async def reverify_mode(request: Request) -> Response:
    """Always: a reward is a function of the log."""
    await caller(request, READ)
    return answer("stateless")


for _place in _PLACES:
    router.include_router(dialect, prefix=_place)
