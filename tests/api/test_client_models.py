"""The client's models are generated from the OpenAPI document; `make check` refuses old ones."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from milestoned_client.episode_lists import EpisodeFilters

from tools.client_models import generate_models, merge_shapes, name_references, openapi_document

FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "count": ({"type": "integer"}, "count: int"),
    "reward": ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "reward: float | None"),
    "state": ({"type": "string", "enum": ["open", "closed"]}, 'state: Literal["open", "closed"]'),
    "evidence": (
        {"type": "array", "items": {"type": "integer"}},
        "evidence: tuple[int, ...]",
    ),
    "known": (
        {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
        "known: tuple[float | None, ...]",
    ),
    "waiting": (
        {"type": "object", "additionalProperties": {"type": "string"}},
        "waiting: Mapping[str, str]",
    ),
    "data": ({"type": "object", "additionalProperties": True}, "data: JsonObject"),
    "action": ({"title": "Action"}, "action: Json"),
    "part": ({"$ref": "#/components/schemas/PartShape"}, "part: Part"),
    "late": ({"type": "string"}, "late: str | None = None"),
    "parts": (
        {"type": "array", "items": {"$ref": "#/components/schemas/PartShape"}},
        "parts: tuple[Part, ...] = ()",
    ),
}
"""For each field its schema, and how the model declares it. The last two are not required."""
WHOLE: dict[str, Any] = {
    "type": "object",
    "description": "What was made of it.",
    "properties": {
        **{name: schema for name, (schema, _) in FIELDS.items()},
        "at": {"type": "integer", "description": "In nanoseconds; null while there is none."},
    },
    "required": [*list(FIELDS)[:-2], "at"],
}
PART: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
}


@pytest.fixture(scope="module")
def module() -> str:
    """The generated module of two models."""
    whole = name_references(WHOLE, {"PartShape": "Part"})
    return generate_models({"Whole": whole, "Part": PART}).decode()


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_declared_as_its_schema_says(module: str, name: str) -> None:
    assert f"\n    {FIELDS[name][1]}\n" in module


def test_descriptions_become_docstrings(module: str) -> None:
    assert '    """What was made of it."""\n' in module
    assert '    at: int\n    """In nanoseconds; None while there is none."""\n' in module


def test_a_model_of_two_answers_has_all_fields_and_requires_those_of_both() -> None:
    credited = {**PART, "properties": {**PART["properties"], "credit": {"type": "number"}}}
    credited = {**credited, "required": ["id", "credit"]}
    merged = merge_shapes([PART, credited])
    assert (list(merged["properties"]), merged["required"]) == (["id", "credit"], ["id"])


def test_a_schema_that_no_model_is_named_for_is_refused() -> None:
    with pytest.raises(KeyError, match="NewShape"):
        name_references({"$ref": "#/components/schemas/NewShape"}, {})


def test_the_filters_of_lists_are_the_parameters_of_the_route() -> None:
    """They are written in the client by hand, since a query is no schema."""
    parameters = openapi_document()["paths"]["/v1/episodes"]["get"]["parameters"]
    told = {
        one["name"]: choices(one["schema"])
        for one in parameters
        if one["in"] == "query" and one["name"] not in ("limit", "cursor")
    }
    hints = get_type_hints(EpisodeFilters)
    declared = {
        name: list(get_args(hint)) if get_origin(hint) is Literal else []
        for name, hint in hints.items()
    }
    assert declared == told


def choices(schema: dict[str, Any]) -> list[str]:
    """The texts that a schema chooses from, where it does."""
    return [value for part in schema.get("anyOf", [schema]) for value in part.get("enum", [])]
