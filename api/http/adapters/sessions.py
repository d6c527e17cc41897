"""A rollout's session in a cookie: what it belongs to and which step runs, signed, so that any
replica can go on."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import Annotated

import orjson
from fastapi import Cookie, Depends, Response

from api.core.errors import InvalidError
from api.core.keys import Keys
from api.http.dependencies import KeysPart
from api.scoring.reference import Reference

COOKIE = "milestoned_session"


class SessionCookie:
    """The cookie of one rollout's request and its answer."""

    def __init__(self, keys: Keys, cookie: str | None) -> None:
        self._keys, self._cookie = keys, cookie

    def remember(self, response: Response, where: Reference) -> None:
        """Let the rollout carry ``where`` (its step is the one that runs)."""
        # Without padding: clients differ in whether they quote a value that has an equals sign.
        text = base64.urlsafe_b64encode(orjson.dumps(asdict(where))).decode().rstrip("=")
        value = f"{text}.{self._keys.signature(text)}"
        response.set_cookie(COOKIE, value, httponly=True, samesite="lax")

    def remembered(self) -> Reference | None:
        """Return what the rollout carries, or None. Raises `InvalidError` for a cookie that is not
        ours."""
        if not self._cookie:
            return None
        text, _, signature = self._cookie.partition(".")
        if not self._keys.signed(text, signature):
            raise InvalidError(f"cookie: {COOKIE} was not signed by this service")
        return Reference(**orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))


async def _session_cookie(
    keys: KeysPart,
    cookie: Annotated[str | None, Cookie(alias=COOKIE, include_in_schema=False)] = None,
) -> SessionCookie:
    return SessionCookie(keys, cookie)


SessionCookiePart = Annotated[SessionCookie, Depends(_session_cookie)]
