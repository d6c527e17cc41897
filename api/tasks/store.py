"""Registered tasks, and their compiled form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson
from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from api.core.errors import NotFoundError, RulesetChangedError, TaskExistsError
from api.db.database import Database
from api.tasks.tables import tasks
from detectors.model.caches import SizedCache
from detectors.model.codec import canonical
from detectors.model.errors import DetectorError
from detectors.task.language import Task
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.schedules import scheduled_label
from detectors.task.task_json import at_label, task_from_json, task_to_json

_RULES_BYTES = 64 * 1024 * 1024
"""Bytes of the compiled rules that are kept."""
_ENDINGS = ("outcome", "efficiency", "shaping", "step_cost")
"""Parts of a task that pay, each as a component of its name."""
_COLUMNS = (
    tasks.c.number,
    tasks.c.id,
    tasks.c.version,
    tasks.c.digest,
    tasks.c.attainable,
    tasks.c.body,
)
_AS_WRITTEN = tasks.c.version.not_like("%+%=%")
"""Not of a task whose schedules were evaluated for an episode: `1+train_step=5000`."""
_ONE = select(*_COLUMNS).where(
    tasks.c.tenant == bindparam("tenant"),
    tasks.c.id == bindparam("id"),
    tasks.c.version == bindparam("version"),
)
_LATEST = (
    select(*_COLUMNS)
    .where(
        tasks.c.tenant == bindparam("tenant"),
        tasks.c.id == bindparam("id"),
        _AS_WRITTEN,
    )
    .order_by(tasks.c.number.desc())
    .limit(1)
)
_BODY = select(tasks.c.body).where(tasks.c.number == bindparam("number"))


class TaskRow(Protocol):
    """A row of `tasks`; ``body`` is the task's canonical JSON."""

    number: int
    id: str
    version: str
    digest: str
    attainable: float
    body: bytes


class Opening(NamedTuple):
    """What an episode is opened of: a task's row, and the digest that its rules have in this
    build."""

    number: int
    id: str
    version: str
    digest: str


class Tasks:
    """The tasks of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.compiled: SizedCache[int, Ruleset] = SizedCache(_RULES_BYTES)

    async def register(self, tenant: str, task: Task) -> tuple[bool, dict[str, object]]:
        """Whether the task is new to ``tenant``, and what is answered. Raises `TaskExistsError` for
        other content."""
        body = canonical(task_to_json(task))
        rules = compile_task(task)
        row = {
            "id": task.id,
            "version": task.version,
            "digest": rules.digest,
            "attainable": rules.attainable,
        }
        try:
            return await self._register(tenant, task, row, body)
        except IntegrityError:  # another replica registered it in this moment
            return await self._register(tenant, task, row, body)

    async def _register(
        self, tenant: str, task: Task, row: dict[str, object], body: bytes
    ) -> tuple[bool, dict[str, Any]]:
        """Add a task, and say whether it is new. Raises `TaskExistsError` for other content under
        its version."""
        async with self._database.write() as conn:
            found = (
                await conn.execute(_ONE, {"tenant": tenant, "id": task.id, "version": task.version})
            ).first()
            if found is None:
                await conn.execute(insert(tasks), {**row, "tenant": tenant, "body": body})
            elif bytes(found.body) != body:
                raise TaskExistsError(
                    f"version: {task.id} has a version {task.version} with other content; wanted a"
                    " new version",
                    digest=found.digest,
                )
        return found is None, row

    async def find(self, tenant: str, id: str, version: str | None) -> TaskRow:
        """The row of a task of ``tenant``'s, of its latest registered version by default. Raises
        `NotFoundError`."""
        named = {"tenant": tenant, "id": id}
        row: TaskRow | None = await (
            self._database.first(_LATEST, named)
            if version is None
            else self._database.first(_ONE, {**named, "version": version})
        )
        if row is None:
            said = id if version is None else f"{id} version {version}"
            raise NotFoundError(f"task: there is no task {said}")
        return row

    async def current(
        self, tenant: str, id: str, version: str | None, labels: Mapping[str, object]
    ) -> Opening:
        """The task under this build's rules, whichever build it was registered with: an episode is
        opened under those. Of a task with schedules the version of what they are at ``labels``.

        Raises `NotFoundError`, `RulesetChangedError`, `SpecError`.
        """
        row = await self.find(tenant, id, version)
        rules = await self.ruleset(row.number)
        if rules.task.schedules is not None and rules.task.schedules.at is None:
            task = at_label(rules.task, scheduled_label(rules.task, labels))
            row = await self._find_or_register(tenant, task)
            rules = await self.ruleset(row.number)
        # The row stays as it was registered: while an upgrade goes on, replicas of the other build
        # serve too.
        return Opening(row.number, row.id, row.version, rules.digest)

    async def _find_or_register(self, tenant: str, task: Task) -> TaskRow:
        try:
            return await self.find(tenant, task.id, task.version)
        except NotFoundError:
            await self.register(tenant, task)
            return await self.find(tenant, task.id, task.version)

    async def listed(self, tenant: str) -> Sequence[Any]:
        """Every version of every task of ``tenant``'s, in the order of their registration."""
        columns = (tasks.c.id, tasks.c.version, tasks.c.digest, tasks.c.attainable)
        return await self._database.all(
            select(*columns).where(tasks.c.tenant == tenant, _AS_WRITTEN).order_by(tasks.c.number)
        )

    async def components(self, number: int) -> list[str]:
        """What a task's rewards are made of, as its text says: also where this build can't read its
        rules."""
        body = orjson.loads((await self._database.first(_BODY, {"number": number})).body)
        named = {one["component"] for one in body.get("milestones", ()) if "component" in one}
        return sorted(named | {name for name in _ENDINGS if name in body})

    async def document(self, number: int) -> dict[str, Any]:
        """A task as it was registered, by its row's number."""
        found: dict[str, object] = orjson.loads(
            (await self._database.first(_BODY, {"number": number})).body
        )
        return found

    async def ruleset(self, number: int) -> Ruleset:
        """The compiled rules of a task, by its row's number. Raises `RulesetChangedError` where
        this build can't."""
        rules = self.compiled.get(number)
        if rules is None:
            row = await self._database.first(_BODY, {"number": number})
            try:
                rules = compile_task(task_from_json(orjson.loads(row.body), stored=True))
            except DetectorError as error:
                raise RulesetChangedError(
                    f"task: this build can't read what another registered: {error}"
                ) from error
            self.compiled.put(number, rules, rules.shared.bytes)
        return rules
