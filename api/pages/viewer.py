"""Who looks at a page: a token, in a cookie that no script can read and no other site can send
along.

The cookie is `HttpOnly` and `SameSite=Strict`, so another site's form or link carries none; a
form's own `Origin` is looked at besides. The scopes and the tenant are the token's, exactly as on
the wire.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Cookie, Depends, Request, Response
from starlette.datastructures import QueryParams

from api.auth.store import Principal
from api.core.errors import ForbiddenError, ProblemError, UnauthorizedError
from api.http.dependencies import AuthenticatorPart
from api.http.streams import AuthorizedStream
from api.http.support import READ, authenticate, parts_of, read_body, require_scope
from api.pages.render import page

COOKIE = "milestoned"
FOR_S = 12 * 3600
MAX_FORM_BYTES = 4_096

Form = QueryParams
"""The fields of a form that was sent, each with its values."""

router = APIRouter(include_in_schema=False)


async def viewer(request: Request, scopes: frozenset[str] = READ) -> Principal:
    """Who looks; an ``episode`` in the path must be his tenant's. Raises `UnauthorizedError` and
    the like."""
    token = request.cookies.get(COOKIE)
    if not token:
        raise UnauthorizedError(
            "cookie: nobody is logged in; wanted a token with the scope read, trainer or admin"
        )
    parts = parts_of(request)
    principal = require_scope(await authenticate(parts, f"Bearer {token}"), scopes)
    episode = request.path_params.get("episode")
    if episode is not None:
        await parts.episodes.owned(principal.tenant, episode)
    return principal


def visitor(scopes: frozenset[str]) -> object:
    """Declare who may open a page, for `Annotated`: somebody with one of ``scopes``."""

    async def view(request: Request) -> Principal:
        return await viewer(request, scopes)

    return Depends(view)


Viewer = Annotated[Principal, visitor(READ)]


async def _viewer_stream(
    authenticator: AuthenticatorPart, cookie: Annotated[str, Cookie(alias=COOKIE)] = ""
) -> AuthorizedStream:
    return AuthorizedStream(authenticator, cookie)


ViewerStream = Annotated[AuthorizedStream, Depends(_viewer_stream)]
"""A live page's stream, which ends with the viewer's token."""


def login_path(request: Request) -> str:
    """Where to log in and come back from."""
    query = f"?{request.url.query}" if request.url.query else ""
    return "/login?next=" + quote(request.url.path + query, safe="")


async def sent_form(request: Request, most: int) -> Form:
    """The fields of a form that one of this site's own pages sent, of at most ``most`` bytes. Of a
    repeated field `get` returns the last value.

    Raises `ForbiddenError` for another site's, `TooLargeError`.
    """
    return QueryParams((await sent_body(request, most)).decode("utf-8", "replace"))


async def sent_body(request: Request, most: int) -> bytes:
    """What one of this site's own pages sent, of at most ``most`` bytes. Raises as `sent_form`."""
    await _check_origin(request)
    return await read_body(request, most)


async def _check_origin(request: Request) -> None:
    """Raise `ForbiddenError` for a request that another site's page makes."""
    origin = request.headers.get("origin")
    # Compared as texts: what is no address at all, such as `http://[`, is another site's too.
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise ForbiddenError(f"origin: got {origin[:80]}, wanted this site's own")


async def _login_form(request: Request) -> Form:
    return await sent_form(request, MAX_FORM_BYTES)


@router.get("/login")
async def login(next: str = "") -> Response:
    """The form that takes a token."""
    return page("login.html", next=_inner(next), problem=None)


@router.post("/login")
async def log_in(
    request: Request,  # for its scheme, which a secure cookie needs
    form: Annotated[Form, Depends(_login_form)],
    authenticator: AuthenticatorPart,
) -> Response:
    """Take the token; a wrong one is told so beside the field."""
    token, following = form.get("token", "").strip(), _inner(form.get("next", ""))
    try:
        require_scope(await authenticate(authenticator, f"Bearer {token}"), READ)
    except ProblemError as problem:
        return page("login.html", problem.status, next=following, problem=problem.detail)
    answer = Response(status_code=303, headers={"location": following})
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, max_age=FOR_S, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout", dependencies=[Depends(_check_origin)])
async def log_out() -> Response:
    """Delete the cookie that holds the token."""
    answer = Response(status_code=303, headers={"location": "/login"})
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _inner(path: str) -> str:
    """``path`` if it is one of this site's, else the first page: a link to log in leads nowhere
    else."""
    good = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if good and path.isascii() and path.isprintable() else "/episodes"
