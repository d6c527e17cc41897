"""The client's results are declared in the client, which has no dependency but httpx; what they
declare is what the OpenAPI document says of the answers that they are made of."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

import pytest
from milestoned_client import results

from tests.api.service import Service

EPISODE = "/v1/episodes/{episode}"
MODELS: dict[type, tuple[str, str, str]] = {
    results.Registered: ("post", "/v1/tasks", ""),
    results.Opened: ("post", "/v1/episodes", ""),
    results.Lease: ("get", f"{EPISODE}/sandbox", ""),
    results.EpisodeStatus: ("get", EPISODE, ""),
    results.Readiness: ("get", f"{EPISODE}/ready", ""),
    results.Noted: ("post", f"{EPISODE}/steps", ""),
    results.Milestone: ("get", f"{EPISODE}/steps/{{step}}/reward", "milestones"),
    results.Reward: ("get", f"{EPISODE}/steps/{{step}}/reward", ""),
    results.Closing: ("post", f"{EPISODE}:close", ""),
    results.Event: ("get", f"{EPISODE}/events", "events"),
    results.Transition: ("get", f"{EPISODE}/trajectory", "steps"),
}
"""For each model the operation whose answer it is made of; with a name, of the items of that
list."""
NOT_OF_THE_ANSWER = {"Reward.body", "Reward.credit", "Transition.credit", "Closing.rewards"}
"""Fields of a model that its answer has not, or not so: the bytes as they came; a credit that only
answers have that were asked for it; rewards, which are empty where the answer has null."""
LEFT_OUT = {
    "Registered": {"task"},  # as it was sent
    "Opened": {"sandbox"},  # which `sandbox()` returns, also while it is waited for
    "EpisodeStatus": {"at", "head", "opened_at", "closed_at"},  # of use to a daemon and to people
    "Noted": {"status"},  # which the HTTP status says, too
    "Readiness": {"sources"},  # a daemon's own report; `waiting` says what is missing
}
"""What a model leaves out of its answer."""
_TYPES: dict[object, set[str]] = {
    str: {"string"},
    int: {"integer"},
    float: {"number", "integer"},
    bool: {"boolean"},
    type(None): {"null"},
    tuple: {"array"},
}


def resolve(document: Mapping[str, Any], schema: Any) -> Any:
    """Follow a schema's reference."""
    while "$ref" in schema:
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def answer_schema(document: Mapping[str, Any], model: type) -> Any:
    """The schema of the object that a model is made of."""
    method, path, items = MODELS[model]
    responses = document["paths"][path][method]["responses"]
    succeeded = next(answer for status, answer in responses.items() if status.startswith("2"))
    schema = resolve(document, succeeded["content"]["application/json"]["schema"])
    if items:
        schema = resolve(document, schema["properties"][items]["items"])
    return schema


def schema_types(document: Mapping[str, Any], schema: Any) -> set[str]:
    """The JSON types of what a schema allows; of one that allows everything all of them."""
    schema = resolve(document, schema)
    if "anyOf" in schema:
        return set().union(*(schema_types(document, part) for part in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return {"string"}
    if "type" not in schema:
        return {"any"}
    return {schema["type"]}


def schema_choices(document: Mapping[str, Any], schema: Any) -> set[str]:
    """The texts that a schema chooses from, where it does."""
    schema = resolve(document, schema)
    parts = [resolve(document, part) for part in schema.get("anyOf", [schema])]
    return {str(value) for part in parts for value in part.get("enum", [part.get("const")])}


def hint_types(hint: Any) -> set[str]:
    """The JSON types that a field of a model holds."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return set().union(*(hint_types(part) for part in typing.get_args(hint)))
    if hint is Any:
        return {"any"}
    if origin is typing.Literal:
        return {"string"}
    if origin is tuple:
        return {"array"}
    if dataclasses.is_dataclass(hint) or (origin or hint) is Mapping:
        return {"object"}
    return _TYPES[hint]


@pytest.fixture
async def document(service: Service) -> dict[str, Any]:
    """The OpenAPI document."""
    answer: dict[str, Any] = (await service.get("/openapi.json", None)).json()
    return answer


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
async def test_a_model_has_the_fields_of_its_answer(document: dict[str, Any], model: type) -> None:
    schema = answer_schema(document, model)
    properties, required = schema["properties"], set(schema.get("required", ()))
    hints = typing.get_type_hints(model, vars(results) | {"Mapping": Mapping})
    for field in dataclasses.fields(model):
        name = f"{model.__name__}.{field.name}"
        if name in NOT_OF_THE_ANSWER:
            continue
        assert field.name in properties, f"{name}: no field of the answer"
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        assert has_default or field.name in required, f"{name}: the answer may lack it"
        hint, given = hints[field.name], properties[field.name]
        held, sent = hint_types(hint), schema_types(document, given)
        assert "any" in held | sent or sent <= held, f"{name}: holds {held}, is sent {sent}"
        literals = [part for part in (hint, *typing.get_args(hint)) if _is_literal(part)]
        choices = {value for literal in literals for value in typing.get_args(literal)}
        assert not choices or choices == schema_choices(document, given), name


def _is_literal(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Literal


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
async def test_an_answer_has_no_field_that_its_model_lacks(
    document: dict[str, Any], model: type
) -> None:
    fields = {field.name for field in dataclasses.fields(model)}
    left_out = set(answer_schema(document, model)["properties"]) - fields
    assert left_out == LEFT_OUT.get(model.__name__, set())


def test_every_result_is_compared() -> None:
    """But for a verdict, which is open to further keys, and the items of a stream, which are
    compared as what they hold."""
    declared = {
        value
        for value in vars(results).values()
        if dataclasses.is_dataclass(value) and value.__module__ == results.__name__
    }
    assert declared - set(MODELS) == {results.Verdict, results.StreamItem}
