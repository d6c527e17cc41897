"""What FastAPI can't derive for OpenAPI: problems, and what the hot routes read themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel

from api.http.answer_shapes import ProblemShape
from api.http.authorization import Authorization
from api.http.support import PROBLEM
from detectors.model.json_value import object_or_empty

_SAID = {
    400: "It contradicts itself or what it names.",
    401: "No token, or none that is known.",
    403: "The token's scope does not allow this.",
    404: "There is no such thing.",
    409: "It contradicts what is already so.",
    410: "It was deleted; `tombstone` is the signed statement of it.",
    413: "Larger than the wire allows.",
    422: "Not what was wanted; `errors` names path, value and wanted.",
    429: "More than the token may have at once. See Retry-After.",
    500: "A fault of the service, not of the request.",
    503: "The store, or an endpoint that this needs, can't be used now; nothing was written."
    " See Retry-After.",
}


_ALWAYS = (429, 503)


def problems(*statuses: int) -> dict[int | str, dict[str, object]]:
    """The problem answers of a route, with those of every route."""
    content = {PROBLEM: {"schema": _problem_schema()}}
    gone = (410,) if 404 in statuses else ()
    return {
        status: {"description": _SAID[status], "content": content}
        for status in (*statuses, *gone, *_ALWAYS)
    }


@cache
def _problem_schema() -> dict[str, object]:
    return ProblemShape.model_json_schema(ref_template="#/components/schemas/{model}")


def takes(model: type[BaseModel]) -> dict[str, object]:
    """Describe a JSON body of ``model``, for a hot route that reads its body itself."""
    schema = model.model_json_schema()
    schema.update(_inlined(schema))
    return body({"application/json": schema})


def describe_scopes(scopes: frozenset[str]) -> dict[str, object]:
    """Describe the scopes of a hot route that finds out itself who calls."""
    return {"security": [{Authorization.scheme_name: sorted(scopes)}]}


def body(content: dict[str, object]) -> dict[str, object]:
    """A body of these media types and schemas."""
    return {
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": s} for kind, s in content.items()},
        }
    }


def _in_path(name: str, description: str, schema: dict[str, object]) -> dict[str, object]:
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


def _inlined(schema: dict[str, object]) -> dict[str, object]:
    """``schema`` with its definitions put where they are used: an operation's body has no place for
    them."""
    found = schema.pop("$defs", {})
    definitions = object_or_empty(found)

    def inline(node: object) -> object:
        """Return a schema with each reference replaced by what it points at."""
        if isinstance(node, Mapping):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            return inline(definitions[name]) if name in definitions else inline_members(node)
        return [inline(part) for part in node] if isinstance(node, list) else node

    def inline_members(node: Mapping[str, object]) -> dict[str, object]:
        return {name: inline(part) for name, part in node.items()}

    return inline_members(schema)
