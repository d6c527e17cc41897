"""A report over many episodes: what was paid for what, what was never seen, what somebody should
look at.

Episodes pass one by one; what stays is bounded by the number of tasks, versions, causes and
`SHOWN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
class _Task:
    """One version of a task over its episodes."""

    declared: Declared
    episodes: int = 0
    closed: int = 0
    totals: list[float] = field(default_factory=lambda: [0.0, 0.0])
    known_goals: int = 0
    successes: int = 0
    steps: int = 0
    masked: int = 0
    milestones: dict[str, list[float]] = field(default_factory=dict)
    """Milestone → [episodes in which it was reached, of these with a known total, value, worth]."""

    def take(self, row: Any, facts: Mapping[str, Any]) -> None:
        self.closed += 1
        if row.total is not None:
            self.totals[:] = [self.totals[0] + row.total, self.totals[1] + 1]
        if row.success is not None:
            self.known_goals += 1
            self.successes += row.success
        self.steps += row.steps
        self.masked += row.masked
        for id, (_, value, worth) in facts["milestones"].items():
            was, more = (
                self.milestones.get(id, [0, 0, 0.0, 0.0]),
                (1, row.total is not None, value, worth),
            )
            self.milestones[id] = [a + b for a, b in zip(was, more, strict=True)]

    def to_json(self) -> dict[str, Any]:
        known = self.totals[1]
        hits = {id: self.milestones.get(id, [0, 0, 0.0, 0.0]) for id in self.declared.milestones}
        return {
            "task": self.declared.id,
            "version": self.declared.version,
            "attainable": self.declared.attainable,
            "episodes": self.episodes,
            "closed": self.closed,
            "mean_total": self.totals[0] / known if known else None,
            "goal_rate": self.successes / self.known_goals if self.known_goals else None,
            "steps": self.steps,
            "masked_steps": self.masked,
            "milestones": [
                {
                    "id": id,
                    "hit_rate": of_known / known if known else None,
                    "value": value,
                    "worth": worth,
                }
                for id, (_, of_known, value, worth) in hits.items()
            ],
            "never_hit": [id for id, hit in hits.items() if known and not hit[0]],
            "always_hit": [id for id, hit in hits.items() if known and hit[1] == known],
        }


class Reporter:
    """Makes the report of one selection; ``label`` is the one that names the policy's version."""

    def __init__(self, audits: Audits, selection: AuditSelection, label: str = "policy") -> None:
        self._audits, self._selection, self._label = audits, selection, label
        self._tasks: dict[int, _Task] = {}
        self._versions: dict[str, Counts] = {}
        self._status: dict[str, int] = {}
        self._masks: dict[str, list[int]] = {}
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
        whole = {n: v if n == "cost" else int(v) for n, v in self._numbers.items()}
        masks = sorted(self._masks.items(), key=lambda item: (-item[1][0], item[0]))
        return {
            "selection": self._selection.to_json(),
            "episodes": self._status,
            "totals": whole,
            "tasks": [
                one.to_json() for one in sorted(self._tasks.values(), key=lambda t: t.declared[:2])
            ],
            "masks": [
                {"cause": cause, "steps": steps, "while_acting": acting, "episodes": episodes}
                for cause, (steps, acting, episodes) in masks
            ],
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
            "versions": [one.to_json() for one in versions],
            "alarms": [one._asdict() for one in alarms(versions)],
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
        for name, more in (
            ("steps", row.steps),
            ("masked_steps", row.masked),
            ("judged", row.judged),
        ):
            numbers[name] += more
        numbers["cost"] += row.cost
        for cause, (steps, acting) in facts["masks"].items():
            name = cause if cause in self._masks or len(self._masks) < CAUSES else "others"
            of = self._masks.setdefault(name, [0, 0, 0])
            of[:] = [of[0] + steps, of[1] + acting, of[2] + 1]
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
        found = self._tasks.get(row.task_number)
        if found is None:
            found = self._tasks[row.task_number] = _Task(
                await declared(self._audits, row.task_number)
            )
        return found

    def _version(self, labels: Mapping[str, Any]) -> Counts:
        name = label_text(labels[self._label])[:256] if self._label in labels else UNNAMED
        found = self._versions.get(name)
        if found is None:
            if len(self._versions) >= VERSIONS:
                raise InvalidError(
                    f"by: {self._label!r} has more than {VERSIONS} values here; narrow the"
                    " selection"
                )
            found = self._versions[name] = Counts(name)
        return found
