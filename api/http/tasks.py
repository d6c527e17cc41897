"""Registration and reading of tasks: a version is registered once and never changed."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from api.attack.registration import require_attack
from api.auth.store import Principal
from api.core.errors import InvalidError
from api.core.settings import Settings
from api.core.yaml_apart import ApartReader
from api.http.answer_shapes import TaskShape, TasksShape
from api.http.authorization import requires
from api.http.dependencies import LimitsPart, SettingsPart, TasksPart, YamlPart
from api.http.describe import body, problems
from api.http.once import IdempotencyPart
from api.http.support import AUTHOR, READ, answer, bad_task, read_body
from api.replay.task_tests import BadTestError, lacking, run_tests
from api.rewards.rendering import total_in_words
from api.tasks.schema import task_schema
from api.tasks.store import TaskRow
from api.tasks.task_files import BadTaskError, bad_yaml, check_task
from common.yaml_text import BadYamlError, Lines
from detectors.task.language import Task
from detectors.task.ruleset import compile_task

router = APIRouter(tags=["tasks"])
Author = Annotated[Principal, requires(AUTHOR)]
Reader = Annotated[Principal, requires(READ | AUTHOR)]
_YAML = ("application/yaml", "application/x-yaml", "text/yaml")


async def _task_content(request: Request, who: Author, limits: LimitsPart) -> bytes:
    """Read a task, which is JSON or YAML and larger than other bodies may be."""
    content = await read_body(request, limits.task_bytes)
    request.state.content = content
    return content


@router.post(
    "/v1/tasks",
    status_code=201,
    summary="Register a task",
    response_model=TaskShape,
    responses={
        200: {"model": TaskShape, "description": "It was registered already."},
        **problems(401, 403, 409, 413, 422),
    },
    openapi_extra=body({"application/json": task_schema(), "application/yaml": {"type": "string"}}),
)
async def register(
    who: Author,
    content: Annotated[bytes, Depends(_task_content)],
    settings: SettingsPart,
    tasks: TasksPart,
    yaml: YamlPart,
    idempotency: IdempotencyPart,
    content_type: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Register a task from JSON or YAML. The same version with other content is refused with 409.

    A template (`parameters`) is registered filled with its `values`, as a version of its own."""
    media_type = content_type.partition(";")[0].strip().lower()

    async def work(_intent: str | None) -> Response:
        """Check the task, its proof where that is wanted, and register it. Answer 201 for a new
        one."""
        spec, lines = await _parse_task(content, media_type, yaml)
        # Beside the loop that answers everybody, as the recordings below: a large task takes a
        # while to check.
        task = await asyncio.to_thread(_check_task, spec, lines)
        if settings.needs_proof:
            await asyncio.to_thread(require_proof, task, spec, settings)
        is_new, document = await tasks.register(who.tenant, task)
        return answer(document, 201 if is_new else 200)

    return await idempotency.once(who, work)


async def _parse_task(content: bytes, media_type: str, yaml: ApartReader) -> tuple[object, Lines]:
    """Parse a task's JSON or YAML: its unchecked values, and the lines of its keys if it is YAML.

    Raises `InvalidError`.
    """
    try:
        if media_type in _YAML:
            return await yaml.read(content)
        return orjson.loads(content), {}
    except BadYamlError as error:
        raise bad_task(bad_yaml(error)) from None
    except orjson.JSONDecodeError as error:
        raise InvalidError(
            f"body: {error}; wanted a task as JSON, or as YAML with content-type application/yaml"
        ) from None


def _check_task(spec: object, lines: Lines) -> Task:
    try:
        return check_task(spec, lines, values_needed=True)
    except BadTaskError as error:
        raise bad_task(error) from None


def require_proof(task: Task, spec: Any, settings: Settings) -> None:
    """Refuse a task whose own recordings do not show what this service was started to ask for.

    Raises `InvalidError`.
    """
    try:
        if settings.tasks_need_tests:
            _require_tests(task, spec.get("tests", []))
        if settings.tasks_need_attack:
            require_attack(compile_task(task), spec.get("tests", []))
    except BadTestError as error:
        raise InvalidError(f"task: {error}", errors=[error.as_problem()]) from None


def _require_tests(task: Task, tests: object) -> None:
    """Require that the task can be reached, and not be had for nothing. Raises `BadTestError`."""
    missing = lacking(tests)
    if missing is not None:
        raise BadTestError("tests", tests, f"{missing}: this service takes no task without")
    for n, result in enumerate(run_tests(compile_task(task), tests, None)):
        if result.wrong is not None:
            raise BadTestError(f"tests[{n}]", total_in_words(result.total), str(result.wrong))


@router.get("/v1/schemas/task", summary="The JSON Schema of task files")
async def schema() -> Response:
    """For editors, which complete and check task files by it (`$schema`); it needs no token."""
    return answer(task_schema())


@router.get(
    "/v1/tasks", summary="All tasks", response_model=TasksShape, responses=problems(401, 403)
)
async def listed(who: Reader, tasks: TasksPart) -> Response:
    """Every version of every task, in the order of registration."""
    rows = await tasks.listed(who.tenant)
    return answer({"tasks": [_task_document(row) for row in rows]})


@router.get(
    "/v1/tasks/{id:path}",
    summary="A task",
    response_model=TaskShape,
    responses=problems(401, 403, 404, 422),
    operation_id="one_v1_tasks__id__get",
)
async def find_task(
    who: Reader,
    id: Annotated[str, Path(description="The task's id.")],
    tasks: TasksPart,
    version: Annotated[str | None, Query(description="The latest by default.")] = None,
) -> Response:
    """A task, of its latest registered version by default."""
    row = await tasks.find(who.tenant, id, version)
    return answer({**_task_document(row), "task": orjson.loads(bytes(row.body))})


def _task_document(row: TaskRow) -> dict[str, object]:
    return {name: getattr(row, name) for name in ("id", "version", "digest", "attainable")}
