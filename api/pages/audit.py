"""Audit: does what is stored hold, what is signed, who opened what with which token, what should
somebody look at."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
from fastapi import APIRouter, Request, Response

from api.audit.note import NoteError, PublicKey, opened, parse_checkpoint
from api.audit.report_text import as_html, as_report_text
from api.audit.reporting import Reporter
from api.audit.statement import log_origin
from api.audit.tree import Tree
from api.audit.verifying import Verifier
from api.auth.store import Principal
from api.core.errors import InvalidError
from api.db.database import now
from api.http.support import parts_of
from api.pages.render import HEADERS, page
from api.pages.selected import ALL, WINDOWS, asked_of, selection_of
from api.pages.viewer import viewer
from api.service.container import Parts

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


@router.get("/audit")
async def audit(request: Request) -> Response:
    """The page; ``?verify=`` an episode's id, or `newest`, recomputes those."""
    who = await viewer(request)
    parts, asked = parts_of(request), asked_of(request)
    report = await Reporter(
        parts.audits, selection_of(who, asked), asked.get("by", "policy")
    ).report()
    tree = await parts.audits.tree()
    verified = None
    if said := request.query_params.get("verify", "").strip():
        verified = await _verified(parts, who, said, asked)
    return page(
        "audit.html",
        asked=asked,
        windows=(*WINDOWS, ALL),
        report=report,
        key=_key(parts).text(),
        tree=tree,
        heads=await _heads(parts, tree),
        signing=await parts.overview.signing(who.tenant),
        outside=parts.settings.checkpoints,
        tokens=await _tokens(parts, who),
        verified=verified,
        together=TOGETHER,
        said=said,
    )


@router.get("/audit/report")
async def report_file(request: Request) -> Response:
    """The report as a file, of all that the filters select."""
    who = await viewer(request)
    form = request.query_params.get("format", "html")
    if form not in _FILES:
        raise InvalidError(f"format: got {form[:40]!r}, wanted one of {', '.join(_FILES)}")
    asked = asked_of(request)
    selection = selection_of(who, {**asked, "over": asked.get("over", ALL)})
    report = await Reporter(parts_of(request).audits, selection, asked.get("by", "policy")).report()
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


def _key(parts: Parts) -> PublicKey:
    return parts.owner.key


async def _heads(parts: Parts, tree: Any) -> list[Head]:
    """The newest signed heads over all episodes, each checked against the key and the newest
    against the tree."""
    rows = list(await parts.audits.notes(log_origin(parts.signer.name)))[-NOTES:]
    return [_head(row, _key(parts), tree) for row in reversed(rows)]


def _head(row: Any, key: PublicKey, tree: Any) -> Head:
    try:
        found = parse_checkpoint(opened(row.note, key))
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
    parts: Parts, who: Principal, said: str, asked: dict[str, str]
) -> dict[str, Any]:
    """What recomputing came to: one episode, or the newest that the filters select."""
    verifier = Verifier(parts.audits, parts.ledger, parts.settings.limits, _key(parts))
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


async def _tokens(parts: Parts, who: Principal) -> list[dict[str, Any]]:
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
    if token.revoked_at:
        return "revoked"
    return "expired" if token.expires_at and token.expires_at <= at else "in force"
