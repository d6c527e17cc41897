"""For auditors: why a step was worth what it was, what is signed, whether it holds, and reports
over many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from api.audit.explaining import Explainer
from api.audit.owning import Owner
from api.audit.report_text import as_html, as_report_text
from api.audit.reporting import Reporter
from api.audit.selection import AuditSelection
from api.audit.statement import episode_origin, log_origin
from api.audit.store import Audits
from api.audit.verifying import Verifier
from api.auth.store import Principal
from api.core.settings import Limits
from api.core.signing import Signer
from api.episodes.store import Episodes
from api.http.audit_shapes import (
    CheckpointsShape,
    EvaluationShape,
    ExplanationShape,
    HealthShape,
    ReportShape,
    VerificationShape,
)
from api.http.authorization import requires
from api.http.dependencies import AuditsPart, PreferencesPart
from api.http.describe import problems
from api.http.parameters import EpisodeId, Step
from api.http.support import READ, answer, parts_of
from api.rewards.ledger import Ledger

router = APIRouter(tags=["audit"])


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


Reader = Annotated[Principal, requires(READ)]
ShortText = Annotated[str, Field(max_length=512)]


async def _reporter(
    who: Reader,
    audits: AuditsPart,
    preferences: PreferencesPart,
    task: Annotated[ShortText | None, Query(description="Episodes of this task alone.")] = None,
    status: Annotated[
        Literal["open", "closing", "closed"] | None,
        Query(description="Episodes that stand so alone."),
    ] = None,
    label: Annotated[
        str | None,
        Query(max_length=1_200, description="Episodes with this label alone, as NAME=VALUE."),
    ] = None,
    since: Annotated[
        ShortText | None,
        Query(description="Opened at or after this date or time, ISO 8601 in UTC."),
    ] = None,
    until: Annotated[
        ShortText | None, Query(description="Opened before this date or time.")
    ] = None,
    by: Annotated[
        str, Query(max_length=512, description="The label that names the policy's version.")
    ] = "policy",
    split: Annotated[
        ShortText | None,
        Query(description="A label by which the evaluation is told apart further."),
    ] = None,
    guided: Annotated[
        bool, Query(description="Evaluate also episodes in which hints were given.")
    ] = False,
) -> Reporter:
    selection = AuditSelection(
        task=task,
        status=status,
        label=label,
        since=since,
        until=until,
        tenant=who.tenant,
        guided=guided,
    )
    return Reporter(audits, preferences, selection, by, split)


ReporterPart = Annotated[Reporter, Depends(_reporter)]


@router.get(
    "/v1/episodes/{episode}/steps/{step:step}/explanation",
    summary="Why a step was worth what it was",
    response_model=ExplanationShape,
    responses=problems(401, 403, 404),
    dependencies=[requires(READ)],
)
async def explanation(episode: EpisodeId, step: Step, parts: UsedParts) -> Response:
    """The sealed reward with rule, evidence, verdicts, who opened the episode, what the edge
    computed, what is signed."""
    explainer = Explainer(parts.audits, parts.ledger, parts.signer.name)
    return answer(await explainer.explain(episode, step))


@router.get(
    "/v1/audit/verify",
    summary="Recompute an episode",
    response_model=VerificationShape,
    responses=problems(401, 403, 404, 422),
)
async def verify(
    who: Reader,
    parts: UsedParts,
    episode: Annotated[str, Query(min_length=1, max_length=512, description="The episode's id.")],
) -> Response:
    """Chain, checkpoints and all rewards of one episode, recomputed from its log alone; every
    difference is named."""
    await parts.episodes.owned(who.tenant, episode)
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
    response_model=CheckpointsShape,
    responses=problems(401, 403, 404, 422),
)
async def checkpoints(
    who: Reader,
    parts: UsedParts,
    episode: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=512,
            description="That episode's notes, instead of those over all episodes.",
        ),
    ] = None,
) -> Response:
    """Signed notes in C2SP's tlog-checkpoint form, and the public key."""
    origin = log_origin(parts.signer.name)
    if episode is not None:
        await parts.episodes.owned(who.tenant, episode)
        origin = episode_origin(parts.signer.name, episode)
    notes = [row.note for row in await parts.audits.notes(origin)]
    return answer({"key": parts.owner.key.text(), "checkpoints": notes})


@router.get(
    "/v1/audit/report",
    summary="A report over many episodes",
    response_model=ReportShape,
    responses={
        200: {"content": {"text/plain": {}, "text/html": {}}},
        **problems(401, 403, 422),
    },
)
async def report(
    reporter: ReporterPart,
    format: Annotated[
        Literal["json", "text", "html"], Query(description="How to write it.")
    ] = "json",
) -> Response:
    """Rewards by task, milestones never and always reached, masks, tampering, edge and service,
    health."""
    report = await reporter.report()
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
    response_model=HealthShape,
    responses=problems(401, 403, 422),
)
async def health(reporter: ReporterPart) -> Response:
    """Each policy version against the one before it; docs/health.md defines every alarm."""
    return answer(await reporter.health())


@router.get(
    "/v1/reports/evaluation",
    summary="How good each policy version is",
    response_model=EvaluationShape,
    responses=problems(401, 403, 422),
)
async def evaluation(reporter: ReporterPart) -> Response:
    """Success, pass@k and consistency with intervals, what steps did, and which version people
    preferred; docs/audit.md has the formulas."""
    return answer(await reporter.evaluation())
