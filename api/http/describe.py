"""How routes are described in OpenAPI: bodies that the handlers read themselves, problems,
parameters."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

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


def takes(model: type[BaseModel], keyed: bool = True, required: bool = True) -> dict[str, Any]:
    """A JSON body of ``model``; ``keyed``: the route honours Idempotency-Key."""
    schema = model.model_json_schema()
    schema.update(_inlined(schema))
    extra = body({"application/json": schema}, required)
    return {**extra, "parameters": [_KEY]} if keyed else extra


def body(content: dict[str, Any], required: bool = True) -> dict[str, Any]:
    """A body of these media types and schemas."""
    return {
        "requestBody": {
            "required": required,
            "content": {kind: {"schema": s} for kind, s in content.items()},
        }
    }


def keyed(extra: dict[str, Any]) -> dict[str, Any]:
    """Add the header Idempotency-Key to a route's OpenAPI members."""
    return {**extra, "parameters": [*extra.get("parameters", []), _KEY]}


def query(name: str, says: str, most: int, default: int = 0) -> dict[str, Any]:
    """A whole number of the query."""
    schema = {"type": "integer", "minimum": 0, "maximum": most, "default": default}
    return {"name": name, "in": "query", "required": False, "description": says, "schema": schema}


WAIT = query("wait_ms", "Milliseconds to wait at most.", 50_000)

_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "The same key with the same body gives the same answer again; another body is refused"
        " (422)."
    ),
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


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
