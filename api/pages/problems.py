"""A problem, told to somebody who looks at a page."""

from __future__ import annotations

from fastapi import Request, Response

from api.core.errors import ProblemError
from api.pages.render import page
from api.pages.viewer import login_path


def told_as_page(request: Request, problem: ProblemError) -> Response | None:
    """The page that says it; None where a program asked, or the wire."""
    if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return None
    if problem.status == 401:
        if "text/event-stream" in request.headers.get("accept", ""):
            return (
                None  # a script's: it would read the page to log in as if it were what it asked for
            )
        return Response(status_code=303, headers={"location": login_path(request)})
    return page(
        "problem.html", problem.status, problem.headers, title=problem.title, detail=problem.detail
    )
