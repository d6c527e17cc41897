"""What JsonRoute keeps that FastAPI's own reading of a body loses, on a route of each kind."""

from __future__ import annotations

import pytest
from fastapi import APIRouter, Response

from api.http.json_route import JsonRoute
from api.http.shapes import Close
from tests.api.service import TASK, Service

OPENING = b'{"task": "%s"}' % TASK["id"].encode()
KINDS = ["application/json", "text/plain", "application/x-www-form-urlencoded", "no kind", None]


@pytest.mark.parametrize("kind", KINDS)
async def test_any_content_type_is_taken_for_json(service: Service, kind: str | None) -> None:
    await service.post("/v1/tasks", TASK)
    headers = {} if kind is None else {"content-type": kind}
    answer = await service.call("POST", "/v1/episodes", content=OPENING, headers=headers)
    assert answer.status_code == 201, answer.text


async def test_no_body_is_an_empty_object(service: Service) -> None:
    id, _ = await service.open()
    assert (await service.call("POST", f"/v1/episodes/{id}:close")).status_code in (200, 202)
    refused = await service.call("POST", "/v1/episodes")
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "task")


@pytest.mark.parametrize("body", [b"{", b"x" * 20_000_000, b"[" * 200, b'{"task": NaN}'])
async def test_a_body_of_nobody_s_is_not_read(service: Service, body: bytes) -> None:
    answer = await service.call("POST", "/v1/episodes", None, content=body)
    assert answer.status_code == 401


REFUSED = {
    "cut off": (b'{"task": "x"', 422, "body"),
    "too large": (b'{"task": "' + b"x" * 20_000_000, 413, None),
    "nested too deep": (b'{"task": ' + b"[" * 200, 422, None),
    "not a number": (b'{"task": "x", "seed": NaN}', 422, "seed"),
    "an unknown member": (b'{"task": "x", "colour": 1}', 422, "colour"),
    "of another type": (b'{"task": 7}', 422, "task"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_names_its_place(service: Service, name: str) -> None:
    body, status, path = REFUSED[name]
    answer = await service.call("POST", "/v1/episodes", content=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    if path is not None:
        assert answer.json()["errors"][0]["path"] == path


ODD_NUMBERS = ["-1", "+1", "1.0", " 1", "1_0", "x", "9" * 30, ""]


@pytest.mark.parametrize("text", ODD_NUMBERS)
async def test_a_number_of_the_query_is_digits(service: Service, text: str) -> None:
    id, _ = await service.open()
    answer = await service.call("GET", f"/v1/episodes/{id}/events", params={"after": text})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "after")


def test_a_body_without_a_caller_is_no_route() -> None:
    router = APIRouter(route_class=JsonRoute)

    async def close(closing: Close) -> Response:
        return Response(closing.reason)

    with pytest.raises(TypeError, match="requires"):
        router.post("/close")(close)
