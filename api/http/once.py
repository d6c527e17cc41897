"""Idempotency-Key: the same key, token, route and body give the same answer, and the effect once.

Final answers are stored; concurrent duplicates wait for the first. An answer that is not final
(202) is worked out again: its effect is known by the same intent, so it is not repeated. Server
errors and refusals of the moment (429) are never stored: they did nothing, and the same request
later is welcome.
"""

from __future__ import annotations

import hashlib
from asyncio import Lock
from collections.abc import Awaitable, Callable
from typing import Annotated
from weakref import WeakValueDictionary

from fastapi import Depends, Header, Request, Response

from api.auth.store import Principal
from api.core.errors import KeyReusedError, ProblemError, TooManyError
from api.episodes.idempotency import Answers, Given
from api.http.dependencies import AnswersPart
from api.http.support import PROBLEM

Work = Callable[[str | None], Awaitable[Response]]
Change = Callable[[bytes], bytes]
_PASSING = TooManyError.status
_ACCEPTED = 202


def keep_body(body: bytes) -> bytes:
    """Store the answer as it is."""
    return body


class Idempotency:
    """The Idempotency-Key of one request; ``key`` is None where it has none."""

    def __init__(self, request: Request, answers: Answers, key: str | None) -> None:
        self._request, self._answers, self._key = request, answers, key

    async def once(
        self,
        who: Principal,
        work: Work,
        conceal: Change = keep_body,
        reveal: Change = keep_body,
    ) -> Response:
        """Answer what ``work`` answers, or what it answered before. ``work`` gets the intent, None
        without a key.

        ``conceal`` takes out of an answer what must not be stored, ``reveal`` puts it back. Raises
        `KeyReusedError` where the key was used for another body.
        """
        if self._key is None:
            return await work(None)
        request = self._request
        intent = _digest("\n".join((who.id, request.method, request.url.path, self._key)).encode())
        digest = _digest(request.state.content)
        locks: WeakValueDictionary[str, Lock] = request.app.state.intents
        lock = locks.setdefault(intent, Lock())
        async with lock:
            given = await self._answers.find(intent)
            if given is not None and given.request != digest:
                raise KeyReusedError(
                    "Idempotency-Key: it was used for another body; wanted a new key"
                )
            if given is not None and given.status is not None:
                replay = {"idempotency-replayed": "true"}
                return Response(reveal(given.body or b""), given.status, replay, given.media_type)
            response = await _run(work, intent)
            if _is_final(response):
                stored = conceal(bytes(response.body))
                final = Given(digest, response.status_code, response.media_type, stored)
                await self._answers.keep(intent, final)
            elif response.status_code == _ACCEPTED and given is None:
                await self._answers.keep(intent, Given(digest, None, None, None))
            return response


async def _idempotency(
    request: Request,
    answers: AnswersPart,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=255,
            description=(
                "The same key with the same body gives the same answer again; another body is"
                " refused (422)."
            ),
        ),
    ] = None,
) -> Idempotency:
    return Idempotency(request, answers, key)


IdempotencyPart = Annotated[Idempotency, Depends(_idempotency)]


def _is_final(response: Response) -> bool:
    """Whether an answer may be kept for its key: neither a passing failure nor one that goes on."""
    is_passing = response.status_code >= 500 or response.status_code == _PASSING
    return not is_passing and response.status_code != _ACCEPTED


async def _run(work: Work, intent: str) -> Response:
    try:
        return await work(intent)
    except ProblemError as problem:
        return Response(problem.body(), problem.status, problem.headers, PROBLEM)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
