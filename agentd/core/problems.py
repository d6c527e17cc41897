"""Refusals of the loopback port as problem documents (RFC 9457); bodies read within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from agentd.core.wire_limits import deeper

PROBLEM = "application/problem+json"
BODY_BYTES = 1 << 20
"""The longest body that is read: an action, an answer or a tool's result. As the service's."""
BODY_DEPTH = 100
"""How deep a body may nest. As the service's."""


class ControlProblemError(Exception):
    """A refusal: HTTP status, title, detail, and members such as field, value and wanted."""

    def __init__(self, status: int, title: str, detail: str, **members: object) -> None:
        super().__init__(detail)
        self.status = status
        self.members: dict[str, object] = {
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": detail,
            **members,
        }


def field_problem(field: str, value: object, wanted: str, status: int = 422) -> ControlProblemError:
    """Make the refusal of one field; a long value is shown by its first 120 characters."""
    shown = value if isinstance(value, int | float | bool | type(None)) else str(value)[:120]
    detail = f"{field} is {shown!r}, wanted {wanted}"
    return ControlProblemError(
        status, "Wrong field", detail, field=field, value=shown, wanted=wanted
    )


def answer(value: object, status: int = 200) -> Response:
    """Make a JSON response of ``value``."""
    return Response(orjson.dumps(value), status, media_type="application/json")


async def on_problem(request: Request, error: Exception) -> Response:
    """Answer a `ControlProblemError`; an exception handler of Starlette's."""
    assert isinstance(error, ControlProblemError)
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else None
    return Response(orjson.dumps(error.members), error.status, headers, media_type=PROBLEM)


async def body_of(
    request: Request, fields: Mapping[str, tuple[type, ...]], needed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Read the request's JSON object; raises `ControlProblemError`.

    ``fields``: the types that each field may have (``object``: any), other fields are refused;
    ``needed``: the fields that may not be missing.
    """
    raw = await _read_body(request)
    body = parse_object(raw, "body") if raw else {}
    check_fields(body, fields, needed)
    return body


def check_fields(
    body: Mapping[str, object], fields: Mapping[str, tuple[type, ...]], needed: tuple[str, ...] = ()
) -> None:
    """Raise `ControlProblemError` for the first field of an object that is none of ``fields``, of
    another type, or of ``needed`` and missing."""
    for name, value in body.items():
        if name not in fields:
            known = ", ".join(fields) or "an empty object"
            raise field_problem(name, value, f"no such field, only {known}")
        if not _fits(value, fields[name]):
            kinds = (_WORDS.get(kind, kind.__name__) for kind in fields[name])
            raise field_problem(name, value, " or ".join(kinds))
    for name in needed:
        if name not in body:
            raise field_problem(name, None, "a value: the field is missing")


async def _read_body(request: Request) -> bytearray:
    """Read the whole body of a request. Raises `ControlProblemError`, 413, as soon as it is longer
    than `BODY_BYTES`."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > BODY_BYTES:
            detail = f"the body is longer than {BODY_BYTES} bytes"
            raise ControlProblemError(413, "Body too large", detail, wanted=BODY_BYTES)
    return raw


def parse_object(raw: bytes | bytearray, name: str) -> dict[str, object]:
    """Parse a JSON object, which messages call ``name``. Raises `ControlProblemError`."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ControlProblemError(400, "Not JSON", f"the {name} is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise field_problem(name, body, "a JSON object")
    if deeper(body, BODY_DEPTH):
        detail = f"the {name} is nested deeper than {BODY_DEPTH}"
        expected = f"at most {BODY_DEPTH} lists and objects in each other"
        raise ControlProblemError(422, "Nested too deep", detail, wanted=expected)
    return body


_WORDS = {
    int: "a whole number",
    str: "a string",
    bool: "true or false",
    dict: "an object",
    type(None): "null",
}


def _fits(value: object, kinds: tuple[type, ...]) -> bool:
    """Return whether ``value`` is of one of ``kinds``; true and false are no whole numbers."""
    if isinstance(value, bool):
        return bool in kinds or object in kinds
    return isinstance(value, kinds)
