"""NeMo Gym's resources server: `/nemo/seed_session`, `/verify`, `/close_session`, and its step
dialect.

Its own client puts no path before these, so `milestoned serve --nemo-port` offers them at the root
of a port; with observability on it puts `/ng-rollout/ID` before them. What can't be scored has
`mask_sample`, at the top as NeMo Gym's own servers have it, and in `instance_config`, which is
where NeMo-RL reads it. Below `/nemo/strict` it is a 503, for clients that ignore the mask
(verifiers).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, ConfigDict

from api.auth.store import Principal
from api.core.errors import InvalidError, ProblemError, UnavailableError
from api.http.adapters.sessions import COOKIE, SessionCookiePart
from api.http.adapters.shared import ScoreOptionsPart, clean, value_of
from api.http.authorization import requires
from api.http.dependencies import CommandsPart, OwnersPart, ScorerPart, TurnsPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.support import READ, TRAINER, answer
from api.scoring.reference import Reference, reference_of
from api.scoring.responses import calls_tools, response_text
from api.scoring.score import SampleScore
from api.scoring.scorer import ScoredSample
from detectors.model.json_value import object_or_empty
from detectors.model.optional_values import drop_keys, pick_keys

SHARED_KINDS = {404: "session_lost", 422: "verifier_error", 503: "transport_unreachable"}


class NemoBody(BaseModel):
    """A data set's row as NeMo Gym posts it: with `responses_create_params`, and to be scored with
    `response`."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: dict[str, object] | None = None
    response: dict[str, Any] | None = None


router = APIRouter(tags=["adapters"])
dialect = APIRouter(route_class=JsonRoute)
_POST: dict[str, Any] = {"responses": problems(401, 403, 404, 409, 413, 422)}
Reader = Annotated[Principal, requires(READ)]
Trainer = Annotated[Principal, requires(TRAINER)]


def _members_of(sent: NemoBody) -> dict[str, Any]:
    return sent.model_dump(exclude_unset=True)


async def _is_strict(request: Request) -> bool:
    return "/strict/" in request.url.path


def _row_of(body: dict[str, object]) -> dict[str, object]:
    """The data set's row in a body, without what the policy was asked and answered."""
    others = ("response", "responses_create_params")
    return drop_keys(body, others)


def _ours(row: dict[str, object]) -> dict[str, object]:
    """The row without an episode id of NeMo Gym's own: a rollout that it named is no episode of
    ours."""
    named = row.get("episode_id")
    rollout = named.get("rollout_id") if isinstance(named, dict) else named
    ours = isinstance(rollout, str) and rollout.startswith("ep_")
    return row if ours else drop_keys(row, ("episode_id",))


@dialect.post("/seed_session", summary="NeMo Gym: begin a rollout", **_POST)
async def seed_session(
    who: Reader,
    cookie: SessionCookiePart,
    turns: TurnsPart,
    owners: OwnersPart,
    sent: NemoBody,
) -> Response:
    """Bind the rollout, by a cookie, to the episode or task that its row names; the same again
    changes nothing."""
    body = _members_of(sent)
    where = reference_of(_ours(body))
    await turns.check_exists(who.tenant, where)
    owners.hear(who, (where.episode,))
    session = body.get("resources_session_id")
    response = answer({} if session is None else {"resources_session_id": session})
    cookie.remember(response, where)
    return response


@dialect.post("/verify", summary="NeMo Gym: score a rollout", **_POST)
async def verify(
    who: Reader,
    options: ScoreOptionsPart,
    cookie: SessionCookiePart,
    is_strict: Annotated[bool, Depends(_is_strict)],
    scorer: ScorerPart,
    owners: OwnersPart,
    sent: NemoBody,
) -> Response:
    """The row and the response again, with `reward`; `mask_sample` and a failure where nobody can
    know it."""
    body = _members_of(sent)
    if body.get("response") is None:
        raise InvalidError("response: got none, wanted an object of OpenAI's Responses")
    try:
        reference = cookie.remembered() or reference_of(_ours(_row_of(body)))
        owners.hear(who, (reference.episode,))
        sample = ScoredSample(reference, clean(response_text(body["response"])))
        outcome: SampleScore | ProblemError = await scorer.score(
            who.tenant, sample, options.folding, options.deadline
        )
    except InvalidError:
        raise
    except ProblemError as problem:
        outcome = problem
    verdict = _verdict(outcome, options.fallback, is_strict)
    if verdict["mask_sample"]:
        verdict["instance_config"] = _masked_config(body)
    return answer({**body, **verdict})


def _masked_config(row: dict[str, Any]) -> dict[str, object]:
    """The row's `instance_config` with the mask in it: the place where NeMo-RL looks for a mask."""
    sent = row.get("instance_config")
    return {**object_or_empty(sent), "mask_sample": True}


def _verdict(
    found: SampleScore | ProblemError, fallback: float | None, strict: bool
) -> dict[str, object]:
    """Return a sample's score as NeMo takes it; what is not known is masked, or an error where the
    caller is strict."""
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
) -> dict[str, object]:
    """Return a masked score: numbers where the dialect wants some, and the reason why they are
    none."""
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
async def reset(
    who: Trainer,
    options: ScoreOptionsPart,
    cookie: SessionCookiePart,
    turns: TurnsPart,
    owners: OwnersPart,
    sent: NemoBody,
) -> Response:
    """The task's instruction; the first step begins, or the one that runs is taken up."""
    where = reference_of(_ours(_row_of(_members_of(sent))))
    owners.hear(who, (where.episode,))
    instruction, step = await turns.begin(who.tenant, where, options.deadline)
    info = {"episode_id": where.episode, "task_id": where.task, "step": step}
    info |= {"supports_step_idempotency": True, "supports_explicit_close": True}
    response = answer({"observation": instruction, "info": info})
    cookie.remember(response, Reference(where.episode, step, where.task, where.version))
    return response


@dialect.post("/step", summary="NeMo Gym: a step's reward", **_POST)
async def step(
    who: Trainer,
    options: ScoreOptionsPart,
    cookie: SessionCookiePart,
    turns: TurnsPart,
    owners: OwnersPart,
    sent: NemoBody,
) -> Response:
    """The reward of the step that ends with this response. The same request again gives the same
    answer."""
    body = _members_of(sent)
    where = cookie.remembered()
    if where is None:
        raise InvalidError(f"cookie: got no {COOKIE}; wanted the one that /reset set")
    owners.hear(who, (where.episode,))
    spoken = body.get("response") or {}
    final = where.episode is None or not calls_tools(spoken)
    text = clean(response_text(spoken)) if final else None
    turn = await turns.end(who.tenant, where, where.step or 0, text, final, options.deadline)
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
        cookie.remember(response, following)
    return response


@dialect.post("/close", summary="NeMo Gym: end a rollout of steps", **_POST)
async def close(
    who: Trainer,
    cookie: SessionCookiePart,
    turns: TurnsPart,
    commands: CommandsPart,
    _sent: NemoBody,
) -> Response:
    """Close what /reset opened, if it still is open; closing again changes nothing."""
    where = cookie.remembered()
    if where is not None and where.episode is not None:
        await turns.check_exists(who.tenant, where)
        await commands.close(where.episode, "the rollout ended")
    response = answer({})
    response.delete_cookie(COOKIE)
    return response


@dialect.post(
    "/close_session", summary="NeMo Gym: end a rollout", dependencies=[requires(READ)], **_POST
)
async def close_session(sent: NemoBody) -> Response:
    """Nothing is kept of a session but the cookie; unknown ones succeed."""
    body = _members_of(sent)
    response = answer(pick_keys(body, ("resources_session_id",)))
    response.delete_cookie(COOKIE)
    return response


@dialect.post(
    "/aggregate_metrics",
    summary="NeMo Gym: means over rollouts",
    dependencies=[requires(READ)],
    **_POST,
)
async def aggregate_metrics(sent: NemoBody) -> Response:
    """Mean reward and share of masked rollouts, over those that are no masked ones."""
    rows = _members_of(sent).get("verify_responses") or []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidError("verify_responses: wanted a list of what /verify answered")
    paid = [
        float(row["reward"])
        for row in rows
        if isinstance(row.get("reward"), int | float) and not _is_masked(row)
    ]
    mean = {"mean/reward": sum(paid) / len(paid)} if paid else {}
    masked = {"mean/mask_sample": (len(rows) - len(paid)) / len(rows)} if rows else {}
    return answer(
        {"group_level_metrics": [], "agent_metrics": {**mean, **masked}, "key_metrics": mean}
    )


def _is_masked(row: dict[str, Any]) -> bool:
    """Whether a row was masked before, in itself or in its configuration."""
    config = row.get("instance_config")
    nested = isinstance(config, dict) and config.get("mask_sample")
    return bool(row.get("mask_sample") or nested)


@dialect.get(
    "/reverify_mode",
    summary="NeMo Gym: whether stored rollouts can be scored again",
    responses=problems(401, 403),
    dependencies=[requires(READ)],
)
async def reverify_mode() -> Response:
    """Always: a reward is a function of the log."""
    return answer("stateless")


async def _rollout(
    rollout: Annotated[str, Path(description="NeMo Gym's name of the rollout, not used.")],
) -> None:
    """Declare the parameter of the path."""


router.include_router(dialect, prefix="/nemo")
router.include_router(dialect, prefix="/nemo/strict")
router.include_router(
    dialect, prefix="/nemo/ng-rollout/{rollout}", dependencies=[Depends(_rollout)]
)
