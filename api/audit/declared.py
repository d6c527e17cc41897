"""What reports need of a registered task, read once for all of its episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from api.audit.store import Audits
from detectors.model.errors import DetectorError
from detectors.task.language import Task
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json


class Declared(NamedTuple):
    """One version of a task.

    ``again``: the milestones that one episode may be paid for more than once; ``components``: of
    each milestone; ``documents``: the milestones that pay only where a document was loaded from an
    address."""

    id: str
    version: str
    attainable: float
    milestones: tuple[str, ...]
    again: frozenset[str]
    components: Mapping[str, str]
    documents: frozenset[str]


async def read_declared(audits: Audits, number: int) -> Declared:
    """The task in row ``number``; one that was edited into nonsense declares nothing (`audit
    verify` names it)."""
    row = await audits.task(number)
    try:
        task = task_from_json(orjson.loads(row.body), stored=True)
    except (DetectorError, ValueError):
        return Declared(row.id, row.version, row.attainable, (), frozenset(), {}, frozenset())
    components = {one.id: one.component for one in task.milestones}
    return Declared(
        row.id,
        row.version,
        row.attainable,
        tuple(components),
        repeatable(task),
        components,
        asking_for_documents(task),
    )


def asking_for_documents(task: Task) -> frozenset[str]:
    """The milestones that do not pay for an address that only page script put there."""
    asking = (node.owner for node in compile_task(task).nodes if node.loaded is not None)
    return frozenset(task.milestones[owner].id for owner in asking)


def repeatable(task: Task) -> frozenset[str]:
    """The milestones that one episode may be paid for more than once: only these can be farmed."""
    return frozenset(
        one.id
        for one in task.milestones
        if one.penalty is None
        and (
            one.repeat > 1 or one.revoke_on is not None or task.credit.get(one.component) == "level"
        )
    )
