"""Audit: does what is stored hold, what is signed, who opened what with which token, what should
somebody look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response

from api.audit.note import NoteError, PublicKey, open_note, parse_checkpoint
from api.audit.owning import Owner
from api.audit.report_text import as_html, as_report_text
from api.audit.reporting import Reporter
from api.audit.statement import log_origin
from api.audit.store import Audits
from api.audit.tree import Tree
from api.audit.verifying import Verifier
from api.auth.store import Principal, Tokens
from api.core.settings import Limits
from api.core.signing import Signer
from api.db.database import now
from api.episodes.store import Episodes
from api.http.dependencies import AuditsPart, PreferencesPart
from api.http.support import parts_of
from api.labelling.store import Preferences
from api.pages.render import HEADERS, page
from api.pages.selected import ALL, WINDOWS, Filters, selection_of
from api.pages.viewer import Viewer
from api.rewards.ledger import Ledger
from api.service.overview import Overview

TOGETHER = 20
"""The most episodes that one look verifies: each is recomputed from its log."""
NOTES = 10
_FILES = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
}

router = APIRouter(include_in_schema=False)


class Head(NamedTuple):
    """A signed head of the tree over all episodes; ``wrong``: what does not hold of it, or None."""

    size: int | None
    made_at: str
    delivered_at: str | None
    wrong: str | None


@dataclass(frozen=True, slots=True)
class AuditPageParts:
    """What the page uses of the service."""

    audits: Audits
    preferences: Preferences
    ledger: Ledger
    episodes: Episodes
    overview: Overview
    tokens: Tokens
    owner: Owner
    signer: Signer
    limits: Limits
    checkpoints: str | None


async def _audit_page_parts(request: Request) -> AuditPageParts:
    parts = parts_of(request)
    return AuditPageParts(
        audits=parts.audits,
        preferences=parts.preferences,
        ledger=parts.ledger,
        episodes=parts.episodes,
        overview=parts.overview,
        tokens=parts.tokens,
        owner=parts.owner,
        signer=parts.signer,
        limits=parts.settings.limits,
        checkpoints=parts.settings.checkpoints,
    )


UsedParts = Annotated[AuditPageParts, Depends(_audit_page_parts)]


@router.get("/audit")
async def audit(who: Viewer, asked: Filters, parts: UsedParts, verify: str = "") -> Response:
    """The page; ``?verify=`` an episode's id, or `newest`, recomputes those."""
    selection = selection_of(who, asked)
    by = asked.get("by", "policy")
    report = await Reporter(parts.audits, parts.preferences, selection, by).report()
    tree = await parts.audits.tree()
    verified = None
    if to_verify := verify.strip():
        verified = await _verified(parts, who, to_verify, asked)
    return page(
        "audit.html",
        asked=asked,
        windows=(*WINDOWS, ALL),
        report=report,
        key=_key(parts).text(),
        tree=tree,
        heads=await _heads(parts, tree),
        signing=await parts.overview.signing(who.tenant),
        outside=parts.checkpoints,
        tokens=await _tokens(parts, who),
        verified=verified,
        together=TOGETHER,
        said=to_verify,
    )


@router.get("/audit/report")
async def report_file(
    who: Viewer,
    asked: Filters,
    audits: AuditsPart,
    preferences: PreferencesPart,
    form: Annotated[Literal["html", "json", "text"], Query(alias="format")] = "html",
) -> Response:
    """The report as a file, of all that the filters select."""
    selection = selection_of(who, {**asked, "over": asked.get("over", ALL)})
    report = await Reporter(audits, preferences, selection, asked.get("by", "policy")).report()
    made = (
        orjson.dumps(report)
        if form == "json"
        else as_html(report)
        if form == "html"
        else as_report_text(report)
    )
    name = f"milestoned-audit-{now()[:10]}.{'txt' if form == 'text' else form}"
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}"'}
    return Response(made, 200, headers, _FILES[form])


def _key(parts: AuditPageParts) -> PublicKey:
    return parts.owner.key


async def _heads(parts: AuditPageParts, tree: Any) -> list[Head]:
    """The newest signed heads over all episodes, each checked against the key and the newest
    against the tree."""
    rows = list(await parts.audits.notes(log_origin(parts.signer.name)))[-NOTES:]
    return [_head(row, _key(parts), tree) for row in reversed(rows)]


def _head(row: Any, key: PublicKey, tree: Any) -> Head:
    """Return a checkpoint with what is wrong with it against the tree, if anything is."""
    try:
        found = parse_checkpoint(open_note(row.note, key))
    except NoteError as error:
        return Head(None, row.made_at, row.delivered_at, str(error))
    wrong = None
    if tree is None or found.size > tree.size:
        wrong = (
            f"the tree has {0 if tree is None else tree.size} leaves, the checkpoint {found.size}"
        )
    elif found.size == tree.size and Tree.load(tree.size, bytes(tree.full)).root() != found.root:
        wrong = "the tree has another root"
    return Head(found.size, row.made_at, row.delivered_at, wrong)


async def _verified(
    parts: AuditPageParts, who: Principal, said: str, asked: dict[str, str]
) -> dict[str, object]:
    """What recomputing came to: one episode, or the newest that the filters select."""
    verifier = Verifier(parts.audits, parts.ledger, parts.limits, _key(parts))
    if said != "newest":
        await parts.episodes.owned(who.tenant, said)
        chosen = [said]
    else:
        selection = selection_of(who, asked)
        rows = selection.rows(parts.audits)
        chosen = [row.id async for row, _ in rows if row.status == "closed"][:TOGETHER]
    differences = [one for episode in chosen async for one in verifier.episode(episode)]
    return {
        "episodes": chosen,
        "differences": differences,
        "events": verifier.events,
        "rewards": verifier.rewards,
    }


async def _tokens(parts: AuditPageParts, who: Principal) -> list[dict[str, Any]]:
    """Each token of the tenant's, what it opened and whether it is in force; never the token
    itself."""
    opened_by = await parts.overview.openers(who.tenant)
    rows = [row for row in await parts.tokens.listed() if row.tenant == who.tenant]
    names = ("id", "label", "scope", "created_at", "last_used")
    told = [
        {name: getattr(row, name) for name in names} | {"state": _state(row, now())} for row in rows
    ]
    return [{**one, "opened": opened_by.get(one["id"], 0)} for one in told]


def _state(token: Any, at: str) -> str:
    """Say whether a token is in force at a time."""
    if token.revoked_at:
        return "revoked"
    return "expired" if token.expires_at and token.expires_at <= at else "in force"
