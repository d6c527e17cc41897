"""The OpenAPI document names every route, its bodies and its problems, and answers have the shapes
it says."""

from __future__ import annotations

import re
from typing import Any, get_type_hints

import jsonschema
import pytest
from pydantic import BaseModel

from api.http.answer_shapes import MilestoneShape, RewardShape, TransitionShape, VerdictShape
from api.rewards.trajectory import TransitionJson
from detectors.model.rewards import MilestoneJson, RewardJson, VerdictJson
from tests.api.service import TASK, Service
from tests.api.test_access import ALLOWED, OPEN
from tests.support.logs import clicked, episode, went


@pytest.fixture
async def document(service: Service) -> dict[str, Any]:
    """The document."""
    found: dict[str, Any] = (await service.get("/openapi.json", None)).json()
    return found


def told(path: str) -> str:
    """A route's path as OpenAPI writes it."""
    return path.replace(":int}", "}").replace(":path}", "}")


async def test_every_route_is_there_with_its_problems(document: dict[str, Any]) -> None:
    listed = {(m.upper(), path) for path, item in document["paths"].items() for m in item}
    assert listed == {(method, told(path)) for method, path in {*ALLOWED, *OPEN}}
    for method, path in ALLOWED:
        operation = document["paths"][told(path)][method.lower()]
        assert operation["summary"]
        assert operation["description"]
        for status in ("401", "403", "503"):
            assert list(operation["responses"][status]["content"]) == [
                "application/problem+json"
            ], (path, status)


async def test_posts_tell_their_bodies_and_keys(document: dict[str, Any]) -> None:
    unkeyed = {"/v1/rewards:query", "/v1/episodes/{episode}/events", "/v1/score"}
    unkeyed |= {"/v1/groups:score", "/v1/episodes:sample", "/v1/episodes:heartbeat"}
    unkeyed |= {"/v1/reward-model/preferences", "/v1/rubrics:draft", "/v1/tasks:propose"}
    unkeyed |= {"/v1/tasks:draft", "/v1/tasks:confirm"}
    unkeyed |= {
        told(path) for _, path in ALLOWED if path.startswith("/v1/sandboxes")
    }  # a daemon says who it is
    for method, path in ALLOWED:
        if method == "POST":
            operation = document["paths"][told(path)]["post"]
            assert operation["requestBody"]["content"]
            names = [parameter["name"] for parameter in operation.get("parameters", [])]
            assert ("Idempotency-Key" in names) == (
                told(path) not in unkeyed and path.startswith("/v1/")
            ), path


async def test_every_parameter_of_a_path_is_declared(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        named = set(re.findall(r"{(\w+)}", path))
        for method, operation in item.items():
            parameters = operation.get("parameters", [])
            declared = {one["name"] for one in parameters if one["in"] == "path"}
            assert declared == named, (method, path)


async def test_every_route_tells_the_scopes_that_may_call_it(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for method, path in OPEN:
        assert "security" not in document["paths"][told(path)][method.lower()], path
    for (method, path), may in ALLOWED.items():
        [requirement] = document["paths"][told(path)][method.lower()]["security"]
        scopes = {name for name, allowed in may.items() if allowed} - {"own", "other"}
        # The operator's own scope is beside that of each: NOBODY's routes are the daemon's alone.
        assert set(requirement["token"]) == scopes, (method, path)


async def test_no_reference_leads_nowhere(document: dict[str, Any]) -> None:
    def walk(node: Any) -> None:
        if isinstance(node, dict):
            target = node.get("$ref")
            if isinstance(target, str):
                assert target.startswith("#/components"), target
                assert target.rpartition("/")[2] in document["components"]["schemas"], target
            for one in node.values():
                walk(one)
        elif isinstance(node, list):
            for one in node:
                walk(one)

    walk(document)


async def test_answers_have_the_shapes_that_are_told(
    service: Service, document: dict[str, Any]
) -> None:
    id, token = await service.open()
    await service.tell(id, token, *episode([went("/cart")], [clicked("Buy")]))
    fresh, _ = await service.open()
    asked: list[tuple[str, str, str, Any]] = [
        ("GET", "/v1/tasks", "/v1/tasks", None),
        ("GET", "/v1/tasks/{id}", f"/v1/tasks/{TASK['id']}", None),
        ("POST", "/v1/tasks", "/v1/tasks", {**TASK, "version": "2"}),
        ("POST", "/v1/episodes", "/v1/episodes", {"task": TASK["id"]}),
        ("GET", "/v1/episodes/{episode}", f"/v1/episodes/{id}", None),
        ("GET", "/v1/episodes/{episode}/plan", f"/v1/episodes/{id}/plan", None),
        (
            "GET",
            "/v1/episodes/{episode}/steps/{step}/reward",
            f"/v1/episodes/{id}/steps/0/reward",
            None,
        ),
        (
            "GET",
            "/v1/episodes/{episode}/steps/{step}/reward",
            f"/v1/episodes/{fresh}/steps/0/reward",
            None,
        ),
        (
            "POST",
            "/v1/rewards:query",
            "/v1/rewards:query",
            {"items": [{"episode": id, "step": s} for s in (0, 5)]},
        ),
        (
            "POST",
            "/v1/score",
            "/v1/score",
            {"samples": [{"episode": id}, {"episode": "ep_nobody"}]},
        ),
        ("POST", "/v1/groups:score", "/v1/groups:score", {"episodes": [id, fresh]}),
        ("POST", "/v1/reward-model/preferences", "/v1/reward-model/preferences", {}),
        ("GET", "/v1/episodes", "/v1/episodes?limit=1", None),
        ("GET", "/v1/curriculum", "/v1/curriculum", None),
        ("POST", "/v1/episodes:sample", "/v1/episodes:sample", {"task": "shop/cart", "n": 2}),
        ("POST", "/get_reward", "/get_reward", {"query": ["x"], "prompts": [""], "labels": [id]}),
        ("POST", "/adapters/slime/score", "/adapters/slime/score", {"response": "x", "label": id}),
        ("POST", "/v1/episodes/{episode}/steps", f"/v1/episodes/{fresh}/steps", {"wait_ms": 0}),
        (
            "POST",
            "/v1/episodes/{episode}/steps/{step}:advance",
            f"/v1/episodes/{fresh}/steps/0:advance",
            {"wait_ms": 0},
        ),
        (
            "POST",
            "/v1/episodes/{episode}/steps/{step}:seal",
            f"/v1/episodes/{fresh}/steps/1:seal",
            {"wait_ms": 0},
        ),
        ("POST", "/v1/episodes/{episode}:close", f"/v1/episodes/{id}:close", {}),
        ("POST", "/v1/episodes/{episode}:close", f"/v1/episodes/{fresh}:close", {"wait_ms": 0}),
        ("GET", "/v1/episodes/{episode}/events", f"/v1/episodes/{id}/events", None),
        ("GET", "/v1/episodes/{episode}/trajectory", f"/v1/episodes/{id}/trajectory", None),
        ("GET", "/v1/episodes/{episode}/blame", f"/v1/episodes/{id}/blame", None),
        ("GET", "/v1/episodes/{episode}/start", f"/v1/episodes/{id}/start", None),
        (
            "GET",
            "/v1/episodes/{episode}/steps/{step}/explanation",
            f"/v1/episodes/{id}/steps/0/explanation",
            None,
        ),
        ("GET", "/v1/audit/verify", f"/v1/audit/verify?episode={id}", None),
        ("GET", "/v1/audit/checkpoints", f"/v1/audit/checkpoints?episode={id}", None),
        ("GET", "/v1/audit/report", "/v1/audit/report", None),
        ("GET", "/v1/reports/health", "/v1/reports/health", None),
        ("GET", "/v1/reports/evaluation", "/v1/reports/evaluation", None),
    ]
    for method, path, address, body in asked:
        answer = await service.call(method, address, json=body)
        told_answer = document["paths"][path][method.lower()]["responses"][str(answer.status_code)]
        schema = {
            **told_answer["content"]["application/json"]["schema"],
            "components": document["components"],
        }
        jsonschema.validate(answer.json(), schema)


@pytest.mark.parametrize(
    ("shape", "declared"),
    [
        (RewardShape, RewardJson),
        (MilestoneShape, MilestoneJson),
        (VerdictShape, VerdictJson),
        (TransitionShape, TransitionJson),
    ],
    ids=lambda kind: kind.__name__,
)
def test_what_is_stored_is_declared_with_the_fields_that_are_told(
    shape: type[BaseModel], declared: type
) -> None:
    assert set(shape.model_fields) == set(get_type_hints(declared))
