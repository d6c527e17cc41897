"""A rollout's session in a cookie: what it belongs to and which step runs, signed, so that any
replica can go on."""

from __future__ import annotations

import base64
from dataclasses import asdict

import orjson
from fastapi import Request, Response

from api.core.errors import InvalidError
from api.http.support import parts_of
from api.scoring.reference import Reference

COOKIE = "milestoned_session"


def remember(request: Request, response: Response, where: Reference) -> None:
    """Let the rollout carry ``where`` (its step is the one that runs)."""
    # Without padding: clients differ in whether they quote a value that has an equals sign in it.
    told = base64.urlsafe_b64encode(orjson.dumps(asdict(where))).decode().rstrip("=")
    response.set_cookie(
        COOKIE, f"{told}.{parts_of(request).keys.signature(told)}", httponly=True, samesite="lax"
    )


def remembered(request: Request) -> Reference | None:
    """What the rollout carries, or None. Raises `InvalidError` for a cookie that is not ours."""
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        return None
    told, _, signature = cookie.partition(".")
    if not parts_of(request).keys.signed(told, signature):
        raise InvalidError(f"cookie: {COOKIE} was not signed by this service")
    return Reference(**orjson.loads(base64.urlsafe_b64decode(told + "=" * (-len(told) % 4))))
