"""What every route does alike: who calls, what was sent, what is answered.

Routes declare their bodies, parameters and callers (api/http/authorization.py, json_route.py,
parameters.py). The hot routes (segments, one reward, many rewards) call the functions here
themselves: FastAPI's resolving would cost them more than all else that they do before the database.
"""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import orjson
from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import HTTPConnection

from api.auth.rates import Rates
from api.auth.store import Principal, Tokens
from api.core.described import Described
from api.core.errors import (
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
)
from api.core.frames import MAX_NUMBER, nested_beyond
from api.core.json_values import fault_of
from api.core.notify import Deadline
from api.http.queries import check_query
from api.service.container import Parts
from api.tasks.task_files import BadTaskError

JSON = "application/json"
PROBLEM = "application/problem+json"
ADMIN = frozenset(("admin",))
AUTHOR = frozenset(("admin", "tasks"))
TRAINER = frozenset(("admin", "trainer"))
READ = frozenset(("admin", "trainer", "read"))
METRICS = frozenset(("admin", "metrics"))
SANDBOX = frozenset(("admin", "sandbox"))
HINTS = frozenset(("admin", "hints"))
MAX_SEQ = 2**63 - 1
SIZE_DIGITS = 18
"""Digits of a body's stated size that are read."""
KEY_AND_VALUE, SHA256 = r"^[^=]+=.*$", r"^[0-9a-f]{64}$"
DEPTH = 100
"""How deep a body may be nested: what becomes an event fits into a segment."""
MAX_VALUES = 1_000_000
_UNUSUAL = re.compile(rb"NaN|Infinity|[0-9]{17}|[eE][+]?[0-9]{2}|\\u[dD][89a-fA-F]")
"""What a number that JSON has not, or half a surrogate pair, is written with."""
NOBODY: frozenset[str] = frozenset()

Model = TypeVar("Model", bound=BaseModel)


class Body(Described):
    """A request's body: members that it does not have are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AnswerShape(Described):
    """A part of an answer; a text below a field is its description in the OpenAPI document."""

    # Answers are described by these, not made: what checks values is built for the document alone.
    model_config = ConfigDict(defer_build=True)


class StepConvertor(Convertor[int]):
    """A step in a path. Starlette's ``int`` takes any number of digits, of which Python refuses to
    make a number."""

    regex = "[0-9]{1,10}"

    def convert(self, value: str) -> int:
        """The step that the path names."""
        return int(value)

    def to_string(self, value: int) -> str:
        """How a path names the step."""
        return str(value)


# Here, since a route's path is read when the route is declared: `{step:step}`.
register_url_convertor("step", StepConvertor())


def parts_of(connection: HTTPConnection) -> Parts:
    """Return the service behind this connection, with all its parts.

    For dependencies (api/http/dependencies.py) and the hot routes alone: a handler gets what it
    uses.
    """
    parts: Parts = connection.app.state.parts
    return parts


async def caller(request: Request, scopes: frozenset[str], own: str | None = None) -> Principal:
    """Who calls, if that token has one of ``scopes`` or is the append token of the episode ``own``.

    An ``episode`` in the path that is not the caller's tenant's is not there at all.
    Raises `UnauthorizedError`, `TooManyError`, `ForbiddenError`, `NotFoundError`, `GoneError`.
    """
    principal = await scoped_caller(request, scopes, own)
    await check_episode(request, principal)
    return principal


async def scoped_caller(
    request: Request, scopes: frozenset[str], own: str | None = None, key_header: str | None = None
) -> Principal:
    """Return who calls, without a look at the episode in the path.

    ``key_header``: a header in which the token may stand by itself, where there is no
    `Authorization`. Raises `UnauthorizedError`, `TooManyError`, `ForbiddenError`, and
    `InvalidError` for a parameter that the route does not have.
    """
    authorization = authorization_of(request, key_header)
    known = await authenticate(parts_of(request), authorization)
    principal = require_scope(known, scopes, own)
    check_query(request)
    return principal


def authorization_of(request: HTTPConnection, key_header: str | None) -> str:
    """Return the Authorization header, or the one that the header ``key_header`` stands for; empty
    where there is neither."""
    authorization = request.headers.get("authorization", "")
    if not authorization and key_header is not None:
        key = request.headers.get(key_header, "").strip()
        authorization = f"Bearer {key}" if key else ""
    return authorization


async def check_episode(request: Request, principal: Principal) -> None:
    """Refuse an ``episode`` in the path that is not the tenant's, and note that its owner may have
    called. Raises `NotFoundError`, `GoneError`."""
    episode = request.path_params.get("episode")
    if episode is None:
        return
    if not episode.isascii() or "\0" in episode:
        raise NotFoundError("episode: there is no episode of such letters")
    parts = parts_of(request)
    await parts.episodes.owned(principal.tenant, episode)
    parts.owners.hear(principal, (episode,))


class Authentication(Protocol):
    """The parts of the service that know tokens and count what is asked with them."""

    @property
    def tokens(self) -> Tokens:
        """What finds out whose a token is."""

    @property
    def rates(self) -> Rates:
        """What each token asked for lately."""


async def authenticate(parts: Authentication, authorization: str) -> Principal:
    """Return whose token the header has, and count one more request of it. Raises
    `UnauthorizedError`, `TooManyError`."""
    principal = await parts.tokens.principal(token_of(authorization))
    parts.rates.request(principal)
    return principal


def require_scope(
    principal: Principal, scopes: frozenset[str], own: str | None = None
) -> Principal:
    """The same, if its scope is one of ``scopes`` or it belongs to the episode ``own``. Raises
    `ForbiddenError`."""
    is_own = own is not None and principal.scope == "append" and principal.episode == own
    if is_own or principal.scope in scopes:
        return principal
    wanted = sorted(scopes)
    if own is not None:
        wanted.append(f"the append token of {own[:80]}")
    raise ForbiddenError(
        f"authorization: the token's scope is {principal.scope}, wanted {' or '.join(wanted)}"
    )


def token_of(authorization: str) -> str:
    """The token in an Authorization header: Bearer, or the password of Basic, which is how an
    address carries one (``http://token:TOKEN@host``) for trainers that take nothing but an address.
    Raises `UnauthorizedError`."""
    scheme, _, credentials = authorization.partition(" ")
    credentials = credentials.strip()
    if scheme.lower() == "bearer" and credentials:
        return credentials
    if scheme.lower() == "basic":
        try:
            token = base64.b64decode(credentials, validate=True).decode().partition(":")[2]
        except ValueError:
            token = ""
        if token:
            return token
    raise UnauthorizedError(
        "authorization: wanted `Bearer` and a token, or `Basic` with it as the password"
    )


async def while_known(
    parts: Authentication, token: str, body: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """A stream for as long as its token is in force: one that is revoked or expires ends it at the
    next word."""
    async for sent in body:
        if not await is_in_force(parts.tokens, token):
            return
        yield sent


async def while_permitted(
    parts: Authentication, token: str, body: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The same of a file, which is cut off, so that nobody takes its beginning for the whole.

    Raises `UnauthorizedError` instead of the next piece.
    """
    async for sent in body:
        if not await is_in_force(parts.tokens, token):
            raise UnauthorizedError("authorization: the token ended while the file was sent")
        yield sent


async def is_in_force(tokens: Tokens, token: str) -> bool:
    """Whether ``token`` is known; also where nobody can tell now."""
    with suppress(UnavailableError):
        try:
            await tokens.principal(token)
        except UnauthorizedError:
            return False
    return True


def stated_size(request: Request) -> int | None:
    """The bytes that a body is said to have, of a longer number than any body's its beginning; None
    where the head says nothing that is one."""
    stated = request.headers.get("content-length", "")
    return int(stated[:SIZE_DIGITS]) if stated.isascii() and stated.isdecimal() else None


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body, or `TooLargeError` as soon as it is known to be too large."""
    stated = stated_size(request)
    if stated is not None and stated > limit:
        raise TooLargeError(f"body: {stated} bytes, wanted at most {limit}")
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise TooLargeError(f"body: more than {limit} bytes, wanted at most {limit}")
        chunks.append(chunk)
    return b"".join(chunks)


def parse_body(model: type[Model], body: bytes) -> Model:
    """The body as ``model``; an empty one is an empty object. Raises `InvalidError` naming every
    problem."""
    if nested_beyond(body, DEPTH):
        raise InvalidError(f"body: nested deeper than {DEPTH}")
    try:
        message = model.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise invalid_error(error.errors(include_url=False)) from None
    except ValueError as error:  # a number of more digits than Python reads
        raise InvalidError(f"body: {error}") from None
    if _UNUSUAL.search(body) is not None:
        fault = fault_of(message.model_dump(), DEPTH + 1, MAX_VALUES)
        if fault is not None:
            problem = {"path": _dotted(fault.path), "value": fault.value, "wanted": fault.wanted}
            raise InvalidError(
                f"{problem['path']}: got {fault.value}, wanted {fault.wanted}", errors=[problem]
            )
    return message


_PATTERNS = {
    KEY_AND_VALUE: "KEY=VALUE",
    SHA256: "a sha256, 64 hexadecimal digits",
}
"""What the patterns of shapes say in words."""


def invalid_error(errors: Any) -> InvalidError:
    """Pydantic's errors as the house says them: path, value, wanted."""
    problems = [
        {"path": _dotted(e["loc"]), "value": repr(e.get("input"))[:120], "wanted": _expected(e)}
        for e in errors
    ]
    first = problems[0]
    link = ": " if first["wanted"] == errors[0]["msg"] else ", wanted "
    return InvalidError(
        f"{first['path']}: got {first['value']}{link}{first['wanted']}", errors=problems
    )


def _expected(error: Any) -> str:
    """What was expected in place of a value: the choices by their names, what a pattern stands for,
    else Pydantic's words."""
    if error["type"] != "literal_error":
        pattern = error.get("ctx", {}).get("pattern")
        return _PATTERNS.get(pattern, str(error["msg"]))
    return "one of " + ", ".join(re.findall(r"'([^']*)'", error["ctx"]["expected"]))


def invalid_parameters(errors: Any) -> InvalidError:
    """FastAPI's errors of a query, header or path likewise: their name is the path."""
    return invalid_error([{**error, "loc": error["loc"][1:]} for error in errors])


def bad_task(error: BadTaskError) -> InvalidError:
    """A task's problems, all of them."""
    return InvalidError(
        f"task: {len(error.problems)} problems, the first: {error.problems[0]}",
        errors=[problem.to_json() for problem in error.problems],
    )


def _dotted(location: tuple[str | int, ...]) -> str:
    """Return a place in a body as a path, "body" for all of it."""
    out = ""
    for part in location:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out or "body"


def whole_query(request: Request, name: str, default: int, most: int) -> int:
    """A whole number of the query, from 0 to ``most``. Raises `InvalidError`."""
    if not request.scope["query_string"]:
        return default
    text = request.query_params.get(name)
    return default if text is None else whole(name, text, most)


def whole_header(request: Request, name: str, default: int = 0) -> int:
    """A whole number of a header, from 0. Raises `InvalidError`."""
    text = request.headers.get(name)
    return default if text is None else whole(name, text, MAX_SEQ)


def whole(name: str, text: str, most: int) -> int:
    """A whole number from 0 to ``most``. Raises `InvalidError` that names it."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise InvalidError(f"{name}: got {text[:40]!r}, wanted a whole number from 0 to {most}")
    return int(text)


def deadline_of(request: Request) -> Deadline:
    """How long the caller is ready to wait, by its query."""
    return Deadline(whole_query(request, "wait_ms", 0, parts_of(request).settings.limits.wait_ms))


def checked_step(step: int) -> int:
    """``step`` as a number that the log can hold. Raises `NotFoundError`."""
    if step > MAX_NUMBER:
        raise NotFoundError(f"step: got {step}, wanted at most {MAX_NUMBER}")
    return step


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Make a response whose body is ``value`` as JSON."""
    return Response(orjson.dumps(value), status, headers, JSON)
