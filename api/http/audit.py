"""For auditors: why a step was worth what it was, what is signed, whether it holds, and reports
over many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from api.audit.explaining import Explainer
from api.audit.owning import Owner
from api.audit.report_text import as_html, as_report_text
from api.audit.reporting import Reporter
from api.audit.selection import AuditSelection
from api.audit.statement import episode_origin, log_origin
from api.audit.store import Audits
from api.audit.verifying import Verifier
from api.auth.store import Principal
from api.core.errors import InvalidError
from api.core.settings import Limits
from api.core.signing import Signer
from api.episodes.store import Episodes
from api.http.audit_shapes import (
    CheckpointsShape,
    ExplanationShape,
    HealthShape,
    ReportShape,
    VerificationShape,
)
from api.http.dependencies import AuditsPart
from api.http.describe import problems
from api.http.support import READ, answer, caller, checked_step, parts_of
from api.rewards.ledger import Ledger

router = APIRouter(tags=["audit"])
_FORMATS = ("json", "text", "html")


@dataclass(frozen=True, slots=True)
class AuditParts:
    """What auditing one episode uses of the service."""

    audits: Audits
    ledger: Ledger
    episodes: Episodes
    owner: Owner
    signer: Signer
    limits: Limits


async def _audit_parts(request: Request) -> AuditParts:
    parts = parts_of(request)
    return AuditParts(
        audits=parts.audits,
        ledger=parts.ledger,
        episodes=parts.episodes,
        owner=parts.owner,
        signer=parts.signer,
        limits=parts.settings.limits,
    )


UsedParts = Annotated[AuditParts, Depends(_audit_parts)]


def _words(
    name: str, says: str, *, required: bool = False, of: tuple[str, ...] = ()
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "maxLength": 512}
    if of:
        schema["enum"] = list(of)
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": says,
        "schema": schema,
    }


_SELECTED = [
    _words("task", "Episodes of this task alone."),
    _words("status", "Episodes that stand so alone.", of=("open", "closing", "closed")),
    _words("label", "Episodes with this label alone, as NAME=VALUE."),
    _words("since", "Opened at or after this date or time, ISO 8601 in UTC."),
    _words("until", "Opened before this date or time."),
    _words("by", "The label that names the policy's version; `policy` by default."),
]


@router.get(
    "/v1/episodes/{episode}/steps/{step:step}/explanation",
    summary="Why a step was worth what it was",
    responses={200: {"model": ExplanationShape}, **problems(401, 403, 404)},
)
async def explanation(request: Request, parts: UsedParts) -> Response:
    """The sealed reward with rule, evidence, verdicts, who opened the episode, what the edge
    computed, what is signed."""
    await caller(request, READ)
    explainer = Explainer(parts.audits, parts.ledger, parts.signer.name)
    step = checked_step(request.path_params["step"])
    return answer(await explainer.explain(request.path_params["episode"], step))


@router.get(
    "/v1/audit/verify",
    summary="Recompute an episode",
    responses={200: {"model": VerificationShape}, **problems(401, 403, 404, 422)},
    openapi_extra={"parameters": [_words("episode", "The episode's id.", required=True)]},
)
async def verify(request: Request, parts: UsedParts) -> Response:
    """Chain, checkpoints and all rewards of one episode, recomputed from its log alone; every
    difference is named."""
    who = await caller(request, READ)
    episode = await _episode(request, parts, who)
    key = parts.owner.key
    verifier = Verifier(parts.audits, parts.ledger, parts.limits, key)
    differences = [difference._asdict() async for difference in verifier.episode(episode)]
    return answer(
        {
            "episode": episode,
            "verified": not differences,
            "events": verifier.events,
            "rewards": verifier.rewards,
            "key": key.text(),
            "differences": differences,
        }
    )


@router.get(
    "/v1/audit/checkpoints",
    summary="What is signed",
    responses={200: {"model": CheckpointsShape}, **problems(401, 403, 404, 422)},
    openapi_extra={
        "parameters": [
            _words("episode", "That episode's notes, instead of those over all episodes.")
        ]
    },
)
async def checkpoints(request: Request, parts: UsedParts) -> Response:
    """Signed notes in C2SP's tlog-checkpoint form, and the public key."""
    who = await caller(request, READ)
    origin = log_origin(parts.signer.name)
    if "episode" in request.query_params:
        origin = episode_origin(parts.signer.name, await _episode(request, parts, who))
    notes = [row.note for row in await parts.audits.notes(origin)]
    return answer({"key": parts.owner.key.text(), "checkpoints": notes})


@router.get(
    "/v1/audit/report",
    summary="A report over many episodes",
    responses={
        200: {"model": ReportShape, "content": {"text/plain": {}, "text/html": {}}},
        **problems(401, 403, 422),
    },
    openapi_extra={"parameters": [*_SELECTED, _words("format", "json by default.", of=_FORMATS)]},
)
async def report(request: Request, audits: AuditsPart) -> Response:
    """Rewards by task, milestones never and always reached, masks, tampering, edge and service,
    health."""
    who = await caller(request, READ)
    format = request.query_params.get("format", "json")
    if format not in _FORMATS:
        raise InvalidError(f"format: got {format[:40]!r}, wanted one of {', '.join(_FORMATS)}")
    report = await _reporter(request, audits, who).report()
    if format == "html":
        return Response(as_html(report), media_type="text/html; charset=utf-8", headers=_NO_SCRIPT)
    if format == "text":
        return Response(as_report_text(report), media_type="text/plain")
    return answer(report)


_NO_SCRIPT = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    )
}


@router.get(
    "/v1/reports/health",
    summary="Does the reward still mean what it should",
    responses={200: {"model": HealthShape}, **problems(401, 403, 422)},
    openapi_extra={"parameters": _SELECTED},
)
async def health(request: Request, audits: AuditsPart) -> Response:
    """Each policy version against the one before it; docs/health.md defines every alarm."""
    who = await caller(request, READ)
    return answer(await _reporter(request, audits, who).health())


def _reporter(request: Request, audits: Audits, who: Principal) -> Reporter:
    query = request.query_params
    names = ("task", "status", "label", "since", "until")
    conditions: dict[str, Any] = {name: query.get(name) for name in names}
    selection = AuditSelection(**conditions, tenant=who.tenant)
    return Reporter(audits, selection, query.get("by", "policy"))


async def _episode(request: Request, parts: AuditParts, who: Principal) -> str:
    """The episode that the query names, if it is the caller's tenant's. Raises `InvalidError`,
    `NotFoundError`."""
    episode = request.query_params.get("episode")
    if not episode:
        raise InvalidError("episode: got none, wanted an episode's id")
    await parts.episodes.owned(who.tenant, episode)
    return episode
