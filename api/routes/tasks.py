"""Tasks: registered once a version, never changed."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response

from api.errors import InvalidError
from api.routes.describe import body, keyed, problems
from api.routes.once import once
from api.routes.shapes import TaskShape, TasksShape
from api.routes.support import AUTHOR, READ, answer, bad_task, caller, parts_of, read_body
from api.schema import task_schema
from api.tasks import BadTaskError, check_task, load_task_yaml
from detectors.types import Task

router = APIRouter(tags=["tasks"])
_YAML = ("application/yaml", "application/x-yaml", "text/yaml")


@router.post(
    "/v1/tasks",
    status_code=201,
    summary="Register a task",
    responses={
        200: {"model": TaskShape, "description": "It was registered already."},
        201: {"model": TaskShape},
        **problems(401, 403, 409, 413, 422),
    },
    openapi_extra=keyed(body({"application/json": task_schema(), "application/yaml": {"type": "string"}})),
)
async def register(request: Request) -> Response:
    """Register a task from JSON or YAML. The same version with other content is refused with 409."""
    who = await caller(request, AUTHOR)
    parts = parts_of(request)
    content = await read_body(request, parts.settings.limits.task_bytes)

    async def work(_intent: str | None) -> Response:
        new, said = await parts.tasks.register(who.tenant, _task(request, content))
        return answer(said, 201 if new else 200)

    return await once(request, who, content, work)


def _task(request: Request, content: bytes) -> Task:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind in _YAML:
            return load_task_yaml(content.decode())
        return check_task(orjson.loads(content))
    except BadTaskError as error:
        raise bad_task(error) from None
    except (UnicodeDecodeError, orjson.JSONDecodeError) as error:
        raise InvalidError(
            f"body: {error}; wanted a task as JSON, or as YAML with content-type application/yaml"
        ) from None


@router.get("/v1/tasks", summary="All tasks", responses={200: {"model": TasksShape}, **problems(401, 403)})
async def listed(request: Request) -> Response:
    """Every version of every task, in the order of registration."""
    who = await caller(request, READ | AUTHOR)
    rows = await parts_of(request).tasks.listed(who.tenant)
    return answer({"tasks": [_said(row) for row in rows]})


@router.get(
    "/v1/tasks/{id:path}", summary="A task", responses={200: {"model": TaskShape}, **problems(401, 403, 404, 422)}
)
async def one(request: Request, id: str, version: Annotated[str | None, Query()] = None) -> Response:
    """A task, of its latest registered version by default."""
    who = await caller(request, READ | AUTHOR)
    row = await parts_of(request).tasks.find(who.tenant, id, version)
    return answer({**_said(row), "task": orjson.loads(bytes(row.body))})


def _said(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("id", "version", "digest", "attainable")}
