"""What reports need of a registered task, read once for all of its episodes."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from api.audit.health import repeatable
from api.store.audits import Audits
from detectors.errors import DetectorError
from detectors.task_json import task_from_json


class Declared(NamedTuple):
    """One version of a task; ``again``: the milestones that one episode may be paid for more than once."""

    id: str
    version: str
    attainable: float
    milestones: tuple[str, ...]
    again: frozenset[str]


async def declared(audits: Audits, number: int) -> Declared:
    """The task in row ``number``; one that was edited into nonsense declares nothing (`audit verify` names it)."""
    row = await audits.task(number)
    try:
        task = task_from_json(orjson.loads(row.body))
    except (DetectorError, ValueError):
        return Declared(row.id, row.version, row.attainable, (), frozenset())
    return Declared(row.id, row.version, row.attainable, tuple(one.id for one in task.milestones), repeatable(task))
