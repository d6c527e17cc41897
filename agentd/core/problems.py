"""Refusals of the loopback port as RFC 9457 problem documents, and reading a request's body within
bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from agentd.core.wire_limits import deeper

PROBLEM = "application/problem+json"
BODY_BYTES = 1 << 20
"""The longest body that the port reads: an action, an answer or a tool's result. As the service of its own bodies."""
BODY_DEPTH = 100
"""How deep a body may nest; the same."""


class ProblemError(Exception):
    """A refusal: HTTP status, title, detail, and members such as field, value and wanted."""

    def __init__(self, status: int, title: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.members = {
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": detail,
        } | members


def field_problem(field: str, value: Any, wanted: str, status: int = 422) -> ProblemError:
    """The refusal of one field; a long value is shown by its beginning."""
    shown = value if isinstance(value, int | float | bool | type(None)) else str(value)[:120]
    return ProblemError(
        status,
        "Wrong field",
        f"{field} is {shown!r}, wanted {wanted}",
        field=field,
        value=shown,
        wanted=wanted,
    )


def answer(value: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(value), status, media_type="application/json")


async def on_problem(request: Request, error: Exception) -> Response:
    """The exception handler for `ProblemError`."""
    assert isinstance(error, ProblemError)
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else None
    return Response(orjson.dumps(error.members), error.status, headers, media_type=PROBLEM)


async def body_of(
    request: Request, fields: Mapping[str, tuple[type, ...]], needed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The request's JSON object, its fields checked against ``fields`` (``object``: any); raises
    `ProblemError`."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > BODY_BYTES:
            raise ProblemError(
                413,
                "Body too large",
                f"the body is longer than {BODY_BYTES} bytes",
                wanted=BODY_BYTES,
            )
    try:
        body = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError as error:
        raise ProblemError(400, "Not JSON", f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise field_problem("body", body, "a JSON object")
    if deeper(body, BODY_DEPTH):
        wanted = f"at most {BODY_DEPTH} lists and objects in each other"
        raise ProblemError(
            422, "Nested too deep", f"the body is nested deeper than {BODY_DEPTH}", wanted=wanted
        )
    for name, value in body.items():
        if name not in fields:
            raise field_problem(
                name, value, f"no such field, only {', '.join(fields) or 'an empty object'}"
            )
        if not _fits(value, fields[name]):
            raise field_problem(
                name, value, " or ".join(_WORDS.get(kind, kind.__name__) for kind in fields[name])
            )
    for name in needed:
        if name not in body:
            raise field_problem(name, None, "a value: the field is missing")
    return body


_WORDS = {int: "a whole number", str: "a string", bool: "true or false", type(None): "null"}


def _fits(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds or object in kinds
    return isinstance(value, kinds)
