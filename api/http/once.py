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
from weakref import WeakValueDictionary

from fastapi import Request, Response

from api.auth.store import Principal
from api.core.errors import InvalidError, KeyReusedError, ProblemError, TooManyError
from api.episodes.idempotency import Given
from api.http.support import PROBLEM, parts_of

Work = Callable[[str | None], Awaitable[Response]]
Change = Callable[[bytes], bytes]
_MAX_KEY_LENGTH = 255
_PASSING = TooManyError.status
_ACCEPTED = 202


def unchanged(body: bytes) -> bytes:
    """Store the answer as it is."""
    return body


async def once(
    request: Request,
    who: Principal,
    body: bytes,
    work: Work,
    conceal: Change = unchanged,
    reveal: Change = unchanged,
) -> Response:
    """What ``work`` answers, or what it answered before. ``work`` gets the intent, None without a
    key.

    ``conceal`` takes out of an answer what must not be stored, ``reveal`` puts it back.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return await work(None)
    if not 0 < len(key) <= _MAX_KEY_LENGTH:
        raise InvalidError(f"Idempotency-Key: {len(key)} characters, wanted 1 to {_MAX_KEY_LENGTH}")
    intent = _digest("\n".join((who.id, request.method, request.url.path, key)).encode())
    digest = _digest(body)
    locks: WeakValueDictionary[str, Lock] = request.app.state.intents
    lock = locks.setdefault(intent, Lock())
    async with lock:
        answers = parts_of(request).answers
        given = await answers.find(intent)
        if given is not None and given.request != digest:
            raise KeyReusedError("Idempotency-Key: it was used for another body; wanted a new key")
        if given is not None and given.status is not None:
            replay = {"idempotency-replayed": "true"}
            return Response(reveal(given.body or b""), given.status, replay, given.media_type)
        response = await _run(work, intent)
        if _is_final(response):
            stored = conceal(bytes(response.body))
            final = Given(digest, response.status_code, response.media_type, stored)
            await answers.keep(intent, final)
        elif response.status_code == _ACCEPTED and given is None:
            await answers.keep(intent, Given(digest, None, None, None))
        return response


def _is_final(response: Response) -> bool:
    is_passing = response.status_code >= 500 or response.status_code == _PASSING
    return not is_passing and response.status_code != _ACCEPTED


async def _run(work: Work, intent: str) -> Response:
    try:
        return await work(intent)
    except ProblemError as problem:
        return Response(problem.body(), problem.status, problem.headers, PROBLEM)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
