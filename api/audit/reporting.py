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

from api.audit.declared import Declared, read_declared
from api.audit.evaluation import PolicyOutcomes
from api.audit.health import Counts, alarms, count, in_order
from api.audit.selection import AuditSelection
from api.audit.store import Audits
from api.core.errors import InvalidError
from api.episodes.label_index import label_text
from api.labelling.ratings import Comparison, rate_versions
from api.labelling.store import Preferences
from detectors.model.optional_values import ratio_or_none

SHOWN = 50
"""The most findings of one kind that a report lists; all are counted."""
VERSIONS = 1_000
CAUSES = 200
TOGETHER = 500
"""Episodes whose steps are counted by one query."""
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
        """Add a closed episode; means and rates leave out what is not known."""
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
        """Return the task's figures as the report has them."""
        known = self.known_totals
        hits_by_id = {
            id: self.milestones.get(id, _MilestoneHits()) for id in self.declared.milestones
        }
        never_hit = [id for id, hits in hits_by_id.items() if known and not hits.reached]
        return {
            "task": self.declared.id,
            "version": self.declared.version,
            "attainable": self.declared.attainable,
            "episodes": self.episodes,
            "closed": self.closed,
            "mean_total": ratio_or_none(self.total, known),
            "goal_rate": ratio_or_none(self.successes, self.known_goals),
            "steps": self.steps,
            "masked_steps": self.masked,
            "milestones": [
                {
                    "id": id,
                    "hit_rate": ratio_or_none(hits.of_known, known),
                    "value": hits.value,
                    "worth": hits.worth,
                }
                for id, hits in hits_by_id.items()
            ],
            "never_hit": never_hit,
            "never_loaded": [id for id in never_hit if id in self.declared.documents],
            "always_hit": [
                id for id, hits in hits_by_id.items() if known and hits.of_known == known
            ],
        }


class Reporter:
    """Makes the report of one selection; ``label`` is the one that names the policy's version,
    ``split`` one by which its evaluation is told apart further."""

    def __init__(
        self,
        audits: Audits,
        preferences: Preferences,
        selection: AuditSelection,
        label: str = "policy",
        split: str | None = None,
    ) -> None:
        self._audits, self._preferences, self._selection = audits, preferences, selection
        self._label, self._split = label, split
        self._tasks: dict[int, _Task] = {}
        self._versions: dict[str, Counts] = {}
        self._outcomes: dict[tuple[str, str | None], PolicyOutcomes] = {}
        self._uncounted: dict[str, PolicyOutcomes] = {}
        self._status: dict[str, int] = {}
        self._guided = 0
        self._masks: dict[str, _MaskedSteps] = {}
        self._tamper: list[dict[str, object]] = []
        self._edge: list[dict[str, object]] = []
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
            if len(self._uncounted) == TOGETHER:
                await self._count_steps()
        await self._count_steps()
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
            "starts": await self._starts(),
            "health": self._health(),
            "evaluation": await self._evaluation(),
        }

    async def _starts(self) -> list[dict[str, object]]:
        """Starts that are unlike the others of their task or that it does not expect, of all its
        closed episodes, whatever else is selected."""
        found: list[dict[str, object]] = []
        for number, task in self._tasks.items():
            named = {"task": task.declared.id, "version": task.declared.version}
            for start in await self._audits.unusual_starts(number):
                found.append({**named, **start})
        return found[:SHOWN]

    async def health(self) -> dict[str, Any]:
        """The report's parts on health and on starts, alone."""
        report = await self.report()
        return {
            "selection": self._selection.to_json(),
            **report["health"],
            "starts": report["starts"],
        }

    async def evaluation(self) -> dict[str, Any]:
        """The report's part on how good each version is, alone."""
        return {"selection": self._selection.to_json(), **(await self.report())["evaluation"]}

    async def _evaluation(self) -> dict[str, object]:
        """Return each version's outcomes, and how versions are preferred to each other."""
        outcomes = sorted(
            self._outcomes.values(), key=lambda one: (one.first_opened, one.version, one.split)
        )
        pairs = await self._preferences.pairs(self._selection.tenant, self._selection.task)
        comparisons = [
            Comparison(
                self._name(pair.first_labels, self._label),
                self._name(pair.second_labels, self._label),
                pair.choice,
            )
            for pair in pairs
            if self._selection.accepts(pair.first_opened_at, pair.first_labels)
            and self._selection.accepts(pair.second_opened_at, pair.second_labels)
        ]
        return {
            "label": self._label,
            "split": self._split,
            "guided_left_out": self._guided,
            "versions": [one.to_json() for one in outcomes],
            "preferred": [rating.model_dump() for rating in rate_versions(comparisons)],
        }

    async def _count_steps(self) -> None:
        """Count the steps of the episodes that were taken since the last time."""
        for episode, steps in (await self._audits.step_counts(list(self._uncounted))).items():
            outcomes = self._uncounted[episode]
            outcomes.steps = outcomes.steps.plus(steps)
        self._uncounted = {}

    def _evaluate(self, row: Any, labels: Mapping[str, Any], attainable: float) -> None:
        """Count an episode for its version and split. Raises `InvalidError` for too many of
        these."""
        version = self._name(labels, self._label)
        split = None if self._split is None else self._name(labels, self._split)
        if (version, split) not in self._outcomes and len(self._outcomes) >= VERSIONS:
            raise InvalidError(
                f"split: {self._label!r} and {self._split!r} have more than {VERSIONS} values"
                " together here; narrow the selection"
            )
        outcomes = self._outcomes.setdefault((version, split), PolicyOutcomes(version, split))
        share = None if row.total is None or attainable <= 0 else row.total / attainable
        outcomes.count(row.task_number, opened_at=row.opened_at, success=row.success, total=share)
        self._uncounted[row.id] = outcomes

    def _health(self) -> dict[str, object]:
        """Return each version's counts in the order in which they came, and the alarms."""
        versions = in_order(self._versions.values())
        return {
            "label": self._label,
            "versions": [version.to_json() for version in versions],
            "alarms": [alarm._asdict() for alarm in alarms(versions)],
        }

    async def _take(self, row: Any, labels: Mapping[str, Any]) -> None:
        """Add an episode; of one that runs still only that it is there."""
        self._status[row.status] = self._status.get(row.status, 0) + 1
        task = await self._task(row)
        task.episodes += 1
        if row.facts is None:
            return  # it runs still, or waits for its checkpoint
        facts = orjson.loads(row.facts)
        task.take(row, facts)
        count(self._version(labels), row, facts, task.declared)
        if self._selection.guided or not row.guided:
            self._evaluate(row, labels, task.declared.attainable)
        else:
            self._guided += 1
        self._findings(row, facts)

    def _findings(self, row: Any, facts: Mapping[str, Any]) -> None:
        """Add an episode's masks, tampering and differences of the edge."""
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
    def _list(findings: list[dict[str, object]], **finding: object) -> None:
        """Add a finding to a list, up to as many as the report shows."""
        if len(findings) < SHOWN:
            findings.append(finding)

    async def _task(self, row: Any) -> _Task:
        """Return the figures of an episode's task, read once."""
        task = self._tasks.get(row.task_number)
        if task is None:
            task = _Task(await read_declared(self._audits, row.task_number))
            self._tasks[row.task_number] = task
        return task

    def _version(self, labels: Mapping[str, object]) -> Counts:
        """Return the counts of an episode's version. Raises `InvalidError` for too many
        versions."""
        name = self._name(labels, self._label)
        if name not in self._versions and len(self._versions) >= VERSIONS:
            raise InvalidError(
                f"by: {self._label!r} has more than {VERSIONS} values here; narrow the selection"
            )
        return self._versions.setdefault(name, Counts(name))

    @staticmethod
    def _name(labels: Mapping[str, Any], label: str) -> str:
        """Return a label's value as a name, `UNNAMED` where an episode lacks it."""
        return label_text(labels[label])[:256] if label in labels else UNNAMED
