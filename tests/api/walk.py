"""Calls every operation that an OpenAPI document tells of, with given ids wherever an id may stand.

Bodies are made from their schemas: what is required, and every member whose name is that of the id.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.api.service import Service

NOT_ALIKE = re.compile(
    r"(ep_[0-9a-z_]{20,}|tok_\w+|m[at]_\w{20,}|[a-z]{2,4}_[a-z2-7]{16,}|err_\w+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\d-]{10}T[\d:.]+Z|\d+\.\d{6,})"
)
"""Random ids, tokens, times: what differs between any two answers."""


class Named(NamedTuple):
    """An id and the members, parameters and labels that it is given as."""

    name: str
    id: str


class Call(NamedTuple):
    """One operation with everything that it is called with."""

    method: str
    path: str
    address: str
    query: dict[str, Any]
    body: Any

    async def by(self, service: Service, token: str | None) -> tuple[int, str, str]:
        """Status, media type and body, for ``token``; what is random is blotted out."""
        service.http.cookies.clear()  # of a rollout that another call began
        more: dict[str, Any] = {} if self.body is None else {"json": self.body}
        async with asyncio.timeout(20):  # a stream that is let in does not end
            answer = await service.call(self.method, self.address, token, params=self.query, **more)
        return (
            answer.status_code,
            answer.headers.get("content-type", ""),
            NOT_ALIKE.sub("·", answer.text),
        )

    def names(self, id: str) -> bool:
        """Whether ``id`` is in the call."""
        return id in self.address or id in repr(self.query) or id in repr(self.body)


def calls(document: dict[str, Any], named: Named) -> Iterator[Call]:
    """Every operation, with ``named`` wherever it may stand."""
    for path, item in document["paths"].items():
        if (
            path == "/v1/stream"
        ):  # never ends, and takes no id; tests/api/test_streams.py looks at it
            continue
        for method, operation in item.items():
            made = Sampler(document, named)
            address = re.sub(r"\{(\w+)\}", lambda found, made=made: made.text(found[1]), path)
            parameters = [one for one in operation.get("parameters", []) if one["in"] == "query"]
            query = {p["name"]: made.text(p["name"]) for p in parameters if p["name"] in made.names}
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = None if content is None else made.value("", content["schema"])
            yield Call(method.upper(), path, address, query, body)


class Sampler:
    """Values that fit schemas and hold one id."""

    def __init__(self, document: dict[str, Any], named: Named) -> None:
        self._document = document
        self._named = named
        self.names = {named.name, f"{named.name}_id", f"{named.name}s", "id"}

    def text(self, name: str) -> str:
        """A parameter of the path or the query."""
        return self._named.id if name in self.names else "0"

    def value(self, name: str, schema: dict[str, Any]) -> Any:
        """A value of ``schema`` for the member ``name``."""
        schema = self._resolved(schema)
        kind = schema.get("type")
        if name in ("label", "labels") and kind != "object":
            label = {self._named.name: self._named.id}
            return [label] if kind == "array" else label
        if kind == "object" or "properties" in schema:
            return self._object(schema)
        if kind == "array":
            item = self.value(name, schema["items"]) if schema.get("items") else None
            return [] if item is None else [item] * max(1, schema.get("minItems", 1))
        if kind in ("integer", "number"):
            return int(schema.get("minimum", 0))
        if kind == "string":
            return self._named.id if name in self.names else str(schema.get("default", "x"))
        return False if kind == "boolean" else None

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        members, needed = schema.get("properties", {}), set(schema.get("required", ()))
        wanted = [
            n
            for n in members
            if n in needed or n in self.names or n in ("label", "labels", "items", "samples")
        ]
        made = {n: self.value(n, members[n]) for n in wanted}
        for name in ("answer", "query", "response"):  # what is to be scored
            if name in members and name not in made:
                made[name] = (
                    {"output": []}
                    if name == "response" and "title" not in members[name]
                    else made_text(members[name])
                )
        if schema.get("additionalProperties") is True:
            made |= {self._named.name: self._named.id, "response": {"output": []}}
        return made

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while True:
            if "$ref" in schema:
                schema = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            elif "anyOf" in schema or "oneOf" in schema:
                schema = (schema.get("anyOf") or schema["oneOf"])[0]
            elif "enum" in schema or "const" in schema:
                return {
                    "type": "string",
                    "default": schema.get("const", (schema.get("enum") or [""])[0]),
                }
            else:
                return schema


def made_text(schema: dict[str, Any]) -> Any:
    """Text that somebody said, alone or in a list."""
    return ["said"] if schema.get("type") == "array" else "said"
