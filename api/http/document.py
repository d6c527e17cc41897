"""The OpenAPI document: FastAPI's, with every definition at the place where references look for
it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

_HERE = "#/$defs/"


class Documented(FastAPI):
    """An application whose document can be followed."""

    def openapi(self) -> dict[str, object]:
        """Return the OpenAPI document, made at the first call."""
        if self.openapi_schema is None:
            document = super().openapi()
            for item in document["paths"].values():
                for operation in item.values():
                    for content in operation.get("requestBody", {}).get("content", {}).values():
                        _hoist(document, operation["operationId"], content["schema"])
        return super().openapi()


def _hoist(document: dict[str, Any], prefix: str, schema: dict[str, object]) -> None:
    """Move the definitions of a body's schema to the document's own, where there are any."""
    definitions = schema.pop("$defs", None)
    if not isinstance(definitions, dict):
        return
    for name, definition in definitions.items():
        document["components"]["schemas"][f"{prefix}.{name}"] = definition
    _point(schema, prefix)
    _point(definitions, prefix)


def _point(node: object, prefix: str) -> None:
    """Let references of a schema point into the document, under a prefix; changes ``node``."""
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str) and target.startswith(_HERE):
            node["$ref"] = f"#/components/schemas/{prefix}.{target.removeprefix(_HERE)}"
        for part in node.values():
            _point(part, prefix)
    elif isinstance(node, list):
        for part in node:
            _point(part, prefix)
