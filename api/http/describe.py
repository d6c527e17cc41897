"""What FastAPI can't derive for OpenAPI: problems, and what the hot routes read themselves."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from api.http.authorization import Authorization
from api.http.shapes import ProblemShape
from api.http.support import PROBLEM

_SAID = {
    401: "No token, or none that is known.",
    403: "The token's scope does not allow this.",
    404: "There is no such thing.",
    409: "It contradicts what is already so.",
    410: "It was deleted; `tombstone` is the signed statement of it.",
    413: "Larger than the wire allows.",
    422: "Not what was wanted; `errors` names path, value and wanted.",
    429: "More than the token may have at once. See Retry-After.",
    503: "The store can't be used now; nothing was written. See Retry-After.",
}


_ALWAYS = (429, 503)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problem answers of a route, with those of every route."""
    content = {
        PROBLEM: {
            "schema": ProblemShape.model_json_schema(ref_template="#/components/schemas/{model}")
        }
    }
    gone = (410,) if 404 in statuses else ()
    return {
        status: {"description": _SAID[status], "content": content}
        for status in (*statuses, *gone, *_ALWAYS)
    }


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a JSON body of ``model``, for a hot route that reads its body itself."""
    schema = model.model_json_schema()
    schema.update(_inlined(schema))
    return body({"application/json": schema})


def secured(scopes: frozenset[str]) -> dict[str, Any]:
    """Describe the scopes of a hot route that finds out itself who calls."""
    return {"security": [{Authorization.scheme_name: sorted(scopes)}]}


def body(content: dict[str, Any]) -> dict[str, Any]:
    """A body of these media types and schemas."""
    return {
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": s} for kind, s in content.items()},
        }
    }


def _in_path(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
    }


EPISODE = _in_path("episode", "The episode's id.", {"type": "string"})
STEP = _in_path("step", "The step's number.", {"type": "integer"})
WAIT = {
    "name": "wait_ms",
    "in": "query",
    "required": False,
    "description": "Milliseconds to wait at most.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 50_000, "default": 0},
}
"""Parameters of the hot routes, which read them themselves."""


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema`` with its definitions put where they are used: an operation's body has no place for
    them."""
    definitions = schema.pop("$defs", {})

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            return (
                walk(definitions[name])
                if name in definitions
                else {k: walk(v) for k, v in node.items()}
            )
        return [walk(one) for one in node] if isinstance(node, list) else node

    out: dict[str, Any] = walk(schema)
    return out
