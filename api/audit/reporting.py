"""A report over many episodes: what was paid for what, what was never seen, what somebody should
look at.

Episodes pass one by one; what stays is bounded by the number of tasks, versions, causes and
`SHOWN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from api.audit.declared import Declared, declared
from api.audit.health import Counts, alarms, count, in_order
from api.audit.selection import AuditSelection
from api.audit.store import Audits
from api.core.errors import InvalidError
from api.episodes.label_index import label_text

SHOWN = 50
"""The most findings of one kind that a report lists; all are counted."""
VERSIONS = 1_000
CAUSES = 200
UNNAMED = "-"
"""The version of an episode that lacks the label."""


@dataclass(slots=True)
class _MilestoneHits:
    """In how many episodes a milestone was reached, in how many of these the total is known, and
    what it was worth in all."""

    reached: int = 0
    of_known: int = 0
    value: float = 0.0
    worth: float = 0.0


@dataclass(slots=True)
class _MaskedSteps:
    """Masked steps of one cause, those among them while the agent acted, and their episodes."""

    steps: int = 0
    while_acting: int = 0
    episodes: int = 0


@dataclass(slots=True)
class _Task:
    """One version of a task over its episodes."""

    declared: Declared
    episodes: int = 0
    closed: int = 0
    total: float = 0.0
    known_totals: int = 0
    known_goals: int = 0
    successes: int = 0
    steps: int = 0
    masked: int = 0
    milestones: dict[str, _MilestoneHits] = field(default_factory=dict)

    def take(self, row: Any, facts: Mapping[str, Any]) -> None:
        self.closed += 1
        if row.total is not None:
            self.total += row.total
            self.known_totals += 1
        if row.success is not None:
            self.known_goals += 1
            self.successes += row.success
        self.steps += row.steps
        self.masked += row.masked
        for id, (_, value, worth) in facts["milestones"].items():
            hits = self.milestones.setdefault(id, _MilestoneHits())
            hits.reached += 1
            hits.of_known += row.total is not None
            hits.value += value
            hits.worth += worth

    def to_json(self) -> dict[str, Any]:
        known = self.known_totals
        hits_by_id = {
            id: self.milestones.get(id, _MilestoneHits()) for id in self.declared.milestones
        }
        return {
            "task": self.declared.id,
            "version": self.declared.version,
            "attainable": self.declared.attainable,
            "episodes": self.episodes,
            "closed": self.closed,
            "mean_total": self.total / known if known else None,
            "goal_rate": self.successes / self.known_goals if self.known_goals else None,
            "steps": self.steps,
            "masked_steps": self.masked,
            "milestones": [
                {
                    "id": id,
                    "hit_rate": hits.of_known / known if known else None,
                    "value": hits.value,
                    "worth": hits.worth,
                }
                for id, hits in hits_by_id.items()
            ],
            "never_hit": [id for id, hits in hits_by_id.items() if known and not hits.reached],
            "always_hit": [
                id for id, hits in hits_by_id.items() if known and hits.of_known == known
            ],
        }


class Reporter:
    """Makes the report of one selection; ``label`` is the one that names the policy's version."""

    def __init__(self, audits: Audits, selection: AuditSelection, label: str = "policy") -> None:
        self._audits, self._selection, self._label = audits, selection, label
        self._tasks: dict[int, _Task] = {}
        self._versions: dict[str, Counts] = {}
        self._status: dict[str, int] = {}
        self._masks: dict[str, _MaskedSteps] = {}
        self._tamper: list[dict[str, Any]] = []
        self._edge: list[dict[str, Any]] = []
        self._numbers = dict.fromkeys(
            (
                "steps",
                "masked_steps",
                "tamper",
                "tamper_secret",
                "edge_said",
                "edge_differs",
                "judged",
                "cost",
            ),
            0.0,
        )

    async def report(self) -> dict[str, Any]:
        """The report, as JSON. Raises `InvalidError` for a label of too many values."""
        async for row, labels in self._selection.rows(self._audits):
            await self._take(row, labels)
        totals = {n: v if n == "cost" else int(v) for n, v in self._numbers.items()}
        masks = sorted(self._masks.items(), key=lambda item: (-item[1].steps, item[0]))
        tasks = sorted(self._tasks.values(), key=lambda task: task.declared[:2])
        return {
            "selection": self._selection.to_json(),
            "episodes": self._status,
            "totals": totals,
            "tasks": [task.to_json() for task in tasks],
            "masks": [{"cause": cause, **asdict(masked)} for cause, masked in masks],
            "tamper": self._tamper,
            "edge": self._edge,
            "health": self._health(),
        }

    async def health(self) -> dict[str, Any]:
        """The report's part on health alone."""
        return {"selection": self._selection.to_json(), **(await self.report())["health"]}

    def _health(self) -> dict[str, Any]:
        versions = in_order(self._versions.values())
        return {
            "label": self._label,
            "versions": [version.to_json() for version in versions],
            "alarms": [alarm._asdict() for alarm in alarms(versions)],
        }

    async def _take(self, row: Any, labels: Mapping[str, Any]) -> None:
        self._status[row.status] = self._status.get(row.status, 0) + 1
        task = await self._task(row)
        task.episodes += 1
        if row.facts is None:
            return  # it runs still, or waits for its checkpoint
        facts = orjson.loads(row.facts)
        task.take(row, facts)
        count(self._version(labels), row, facts, task.declared)
        self._findings(row, facts)

    def _findings(self, row: Any, facts: Mapping[str, Any]) -> None:
        numbers = self._numbers
        numbers["steps"] += row.steps
        numbers["masked_steps"] += row.masked
        numbers["judged"] += row.judged
        numbers["cost"] += row.cost
        for cause, (steps, while_acting) in facts["masks"].items():
            name = cause if cause in self._masks or len(self._masks) < CAUSES else "others"
            masked = self._masks.setdefault(name, _MaskedSteps())
            masked.steps += steps
            masked.while_acting += while_acting
            masked.episodes += 1
        for seq, step, url, secret in facts["tamper"]:
            numbers["tamper"] += 1
            numbers["tamper_secret"] += secret
            self._list(
                self._tamper,
                episode=row.id,
                event=seq,
                step=step,
                address=url,
                names_a_secret=secret,
            )
        for step, said, paid, same in facts["edge"]:
            numbers["edge_said"] += 1
            if not same:
                numbers["edge_differs"] += 1
                self._list(self._edge, episode=row.id, step=step, edge=said, service=paid)

    @staticmethod
    def _list(findings: list[dict[str, Any]], **finding: Any) -> None:
        if len(findings) < SHOWN:
            findings.append(finding)

    async def _task(self, row: Any) -> _Task:
        task = self._tasks.get(row.task_number)
        if task is None:
            task = _Task(await declared(self._audits, row.task_number))
            self._tasks[row.task_number] = task
        return task

    def _version(self, labels: Mapping[str, Any]) -> Counts:
        name = UNNAMED
        if self._label in labels:
            name = label_text(labels[self._label])[:256]
        if name not in self._versions and len(self._versions) >= VERSIONS:
            raise InvalidError(
                f"by: {self._label!r} has more than {VERSIONS} values here; narrow the selection"
            )
        return self._versions.setdefault(name, Counts(name))
