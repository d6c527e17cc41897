"""The office's routes: pages that hold still, a form, downloads, a mailbox, settings, a search."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from . import pages


def create_office() -> Starlette:
    """The office as an ASGI app. It keeps nothing: each run of an agent finds it as the first did."""
    return Starlette(
        routes=[
            Route("/", _fixed(pages.HOME)),
            Route("/plans", _fixed(pages.PLAN_LIST)),
            Route("/plans/{slug}", _plan),
            Route("/leave", _fixed(pages.LEAVE)),
            Route("/leave", _request_leave, methods=["POST"]),
            Route("/leave/sent", _fixed(pages.LEAVE_SENT)),
            Route("/reports", _fixed(pages.REPORTS)),
            Route("/reports/{month}.csv", _report),
            Route("/mail", _fixed(pages.mail_list())),
            Route("/mail", _send, methods=["POST"]),
            Route("/mail/new", _fixed(pages.MAIL_EDITOR)),
            Route("/settings", _fixed(pages.SETTINGS)),
            Route("/settings/display", _fixed(pages.DISPLAY)),
            Route("/settings/display", _save, methods=["POST"]),
            Route("/settings/language", _fixed(pages.LANGUAGE)),
            Route("/library", _library),
            Route("/library/{slug}", _document),
            Route("/api/ping", lambda _request: JSONResponse({"ok": True})),
        ]
    )


def _fixed(html: str) -> Callable[[Request], Response]:
    return lambda _request: HTMLResponse(html)


def _missing() -> Response:
    return HTMLResponse(pages.page("Not found", "<p>There is no such page.</p>"), 404)


def _plan(request: Request) -> Response:
    found = pages.PLANS.get(request.path_params["slug"])
    return HTMLResponse(pages.plan(found)) if found else _missing()


async def _request_leave(request: Request) -> Response:
    fields = dict(parse_qsl((await request.body()).decode()))
    if not all(fields.get(name) for name in ("name", "from", "days")):
        return HTMLResponse(pages.page("Leave", "<p>Something is missing.</p>"), 422)
    return RedirectResponse("/leave/sent", 303)


def _report(request: Request) -> Response:
    content = pages.MONTHS.get(request.path_params["month"])
    if content is None:
        return _missing()
    headers = {"content-disposition": 'attachment; filename="report.csv"'}
    return Response(content, headers=headers, media_type="text/csv")


async def _send(request: Request) -> Response:
    await request.body()
    return HTMLResponse(pages.mail_list("Your message was sent."))


async def _save(request: Request) -> Response:
    is_known = isinstance(json.loads(await request.body()).get("dark"), bool)
    return JSONResponse({"saved": is_known}, 200 if is_known else 422)


def _library(request: Request) -> Response:
    query = request.query_params.get("q", "").strip()
    words = query.lower().split()
    found = {
        slug: one
        for slug, one in pages.DOCUMENTS.items()
        if all(word in one[0].lower() for word in words)
    }
    return HTMLResponse(pages.library(query, found))


def _document(request: Request) -> Response:
    found = pages.DOCUMENTS.get(request.path_params["slug"])
    return HTMLResponse(pages.document(*found)) if found else _missing()
