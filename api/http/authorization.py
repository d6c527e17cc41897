"""Authentication of a route as a FastAPI dependency: who calls, with which scopes.

async def plan(who: Annotated[Principal, requires(READ, or_own=True)]) -> Response: ...
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

from fastapi import Request, Security
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from api.auth.store import Principal
from api.core.errors import GoneError
from api.http.support import check_episode, scoped_caller

_DESCRIPTION = "A token of the service; also as the password of Basic. The scopes are alternatives."


class Authorization(SecurityBase):
    """Finds out who calls and refuses whoever has none of ``scopes``.

    ``or_own``: the append token of the episode in the path may call too. ``even_deleted``: the
    episode in the path may be a deleted one. ``key_header``: see `scoped_caller`. An episode of
    another tenant is refused as unknown.
    """

    scheme_name = "token"

    def __init__(
        self, scopes: frozenset[str], or_own: bool, even_deleted: bool, key_header: str | None
    ) -> None:
        self.model = HTTPBearer(description=_DESCRIPTION)
        self._scopes, self._or_own, self._even_deleted = scopes, or_own, even_deleted
        self._key_header = key_header

    async def __call__(self, request: Request) -> Principal:
        """Return the caller; asked again for the same request it counts no second time.

        Raises `UnauthorizedError`, `TooManyError`, `ForbiddenError`, `NotFoundError`, `GoneError`.
        """
        known: Principal | None = getattr(request.state, "caller", None)
        if known is None:
            own = request.path_params["episode"] if self._or_own else None
            known = await scoped_caller(request, self._scopes, own, self._key_header)
            with suppress(GoneError) if self._even_deleted else nullcontext():
                await check_episode(request, known)
            request.state.caller = known
        return known


def requires(
    scopes: frozenset[str],
    *,
    or_own: bool = False,
    even_deleted: bool = False,
    key_header: str | None = None,
) -> Any:
    """Declare who may call a route, for `Annotated`: tokens with one of ``scopes``.

    ``or_own``: also the append token of the episode in the path. ``even_deleted``: the path may
    name a deleted episode, of which the handler is left to answer. ``key_header``: the header in
    which a trainer's own client sends the token, beside `Authorization`.
    """
    authorization = Authorization(scopes, or_own, even_deleted, key_header)
    return Security(authorization, scopes=sorted(scopes))
