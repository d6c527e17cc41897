"""Registered tasks as environments of the Open Reward Standard.

An environment is the first part of a task's id: `shop` of `shop/cart` and `shop/sign`. Its tasks
are the latest versions, in the order in which they were first registered. A task file names no
split, so that each environment has the one of `SPLIT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from api.core.errors import BadRequestError, NotFoundError
from api.scoring.stateless import HARNESS
from api.tasks.store import Tasks
from detectors.task.ruleset import Ruleset

SPLIT = "train"
_ANSWER = "agent.answered"
_MAX_NAMES = 20
"""Names of environments in a refusal."""


class TaskName(NamedTuple):
    """A task as an environment lists it."""

    task: str
    version: str


class TaskEnvironment(NamedTuple):
    """An environment and its tasks, by index."""

    name: str
    tasks: tuple[TaskName, ...]

    def check_split(self, split: str) -> None:
        """Raises `BadRequestError` unless it has the split."""
        if split != SPLIT:
            raise BadRequestError(f"split: expected {SPLIT!r}, got {split[:80]!r}")

    def task(self, split: str, index: int) -> TaskName:
        """Return the task at ``index`` from 0. Raises `BadRequestError`."""
        self.check_split(split)
        if not 0 <= index < len(self.tasks):
            last = len(self.tasks) - 1
            raise BadRequestError(f"index: expected a whole number from 0 to {last}, got {index}")
        return self.tasks[index]


class TaskEnvironments:
    """The environments of one database."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    async def list(self, tenant: str) -> Mapping[str, TaskEnvironment]:
        """Return the environments of ``tenant`` by name, in the order of registration."""
        versions: dict[str, str] = {}
        for row in await self._tasks.listed(tenant):
            versions[row.id] = row.version
        by_name: dict[str, list[TaskName]] = {}
        for task, version in versions.items():
            by_name.setdefault(environment_of(task), []).append(TaskName(task, version))
        return {name: TaskEnvironment(name, tuple(tasks)) for name, tasks in by_name.items()}

    async def find(self, tenant: str, name: str) -> TaskEnvironment:
        """Return the environment of that name, in whatever case. Raises `NotFoundError`."""
        environments = await self.list(tenant)
        exact = environments.get(name)
        if exact is not None:
            return exact
        alike = [one for one in environments.values() if one.name.lower() == name.lower()]
        if len(alike) == 1:
            return alike[0]
        raise NotFoundError(f"environment: expected {_choices(environments)}, got {name[:80]!r}")

    async def default(self, tenant: str, preferred: str) -> TaskEnvironment:
        """Return ``preferred`` if it is one, else the first. Raises `NotFoundError`."""
        environments = await self.list(tenant)
        if preferred in environments:
            return environments[preferred]
        for environment in environments.values():
            return environment
        raise NotFoundError("environment: expected a registered task, got none")


def environment_of(task: str) -> str:
    """Return the environment that a task's id belongs to."""
    return task.strip("/").partition("/")[0] or task


def is_answer_alone(rules: Ruleset) -> bool:
    """Whether the rules hear the agent's final answer and nothing else, so that no sandbox has to
    be observed."""
    return rules.hears <= {_ANSWER} and rules.sources <= set(HARNESS)


def _choices(environments: Mapping[str, TaskEnvironment]) -> str:
    """List the environments in words, the first few by name."""
    if not environments:
        return "a registered task (there is none)"
    names = list(environments)
    more = ", …" if len(names) > _MAX_NAMES else ""
    return "one of " + ", ".join(map(repr, names[:_MAX_NAMES])) + more
