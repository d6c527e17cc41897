"""How a policy does on each task, and how often the task should come next: for trainers that sample
tasks by what can be learned from them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson
from pydantic import BaseModel
from sqlalchemy import select

from api.core.intervals import wilson
from api.db.database import Database
from api.episodes.label_index import label_text
from api.episodes.search import EpisodeQuery, matching
from api.episodes.tables import episodes
from api.tasks.tables import tasks
from detectors.model.optional_values import mean_or_none, without_none
from detectors.task.templates import written_version

MAX_EPISODES = 100_000
"""Closed episodes that are looked at: the newest ones."""
MIN_HALF = 2
"""Known outcomes in each half of the window, below which no learning progress is told."""
FLOOR = 0.05
"""The least signal of a task: one that is always or never solved comes again now and then."""


class TaskAttempt(NamedTuple):
    """A closed episode of a task. ``outcome``: 1 or 0 where success is known, else the share of
    what is attainable, 0 to 1; None where neither is known. ``group``: its group's label."""

    outcome: float | None
    success: bool | None
    total: float | None
    group: str | None


class TaskProgressShape(BaseModel):
    """A task under a policy, over its newest closed episodes (`window`).

    `success` is the share of successes among those whose success is known, `low` and `high` its 95
    % interval (Wilson). `mean_reward` and `reward_entropy` (bits) are of the known totals.
    `flat_groups` is the share of groups in which all known totals are equal. `learning_progress`:
    the mean outcome of the newer half less that of the older. `weight` sums to 1 over all tasks.
    Null is what is not known.
    """

    task: str
    version: str
    episodes: int
    known: int
    success: float | None
    low: float | None
    high: float | None
    mean_reward: float | None
    reward_entropy: float | None
    flat_groups: float | None
    learning_progress: float | None
    weight: float


class Curriculum:
    """The progress on the tasks of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(
        self,
        tenant: str,
        policy: str | None,
        group_label: str,
        window: int,
        *,
        guided: bool = False,
    ) -> list[TaskProgressShape]:
        """Return the latest version of each of ``tenant``'s tasks, in the order of registration.

        ``policy``: only episodes whose label `policy` is this; ``window``: of each task its newest
        closed episodes, at most so many; ``guided``: also those in which hints were given.
        """
        rows = await self._database.all(
            select(tasks.c.number, tasks.c.id, tasks.c.version, tasks.c.attainable)
            .where(tasks.c.tenant == tenant)
            .order_by(tasks.c.number)
        )
        versions = {row.id: written_version(row.version) for row in rows}
        numbers = {
            row.number: row.attainable
            for row in rows
            if written_version(row.version) == versions[row.id]
        }
        label = None if policy is None else ("policy", policy)
        conditions = matching(
            EpisodeQuery(tenant, status="closed", label=label, guided=None if guided else False)
        )
        of = episodes.c
        closed = await self._database.all(
            select(of.task, of.task_number, of.success, of.total, of.labels)
            .where(*conditions)
            .order_by(of.opened_at.desc(), of.id.desc())
            .limit(MAX_EPISODES)
        )
        newest: defaultdict[str, list[TaskAttempt]] = defaultdict(list)
        for row in closed:
            attempts = newest[row.task]
            if row.task_number in numbers and len(attempts) < window:
                group = orjson.loads(row.labels).get(group_label)
                attempts.append(
                    TaskAttempt(
                        find_outcome(row.success, row.total, numbers[row.task_number]),
                        row.success,
                        row.total,
                        None if group is None else label_text(group),
                    )
                )
        return weigh_tasks({(id, version): newest[id] for id, version in versions.items()})


def find_outcome(success: bool | None, total: float | None, attainable: float) -> float | None:
    """Return an episode's outcome from 0 to 1, None where it is not known."""
    if success is not None:
        return float(success)
    if total is None or attainable <= 0:
        return None
    return min(1.0, max(0.0, total / attainable))


def weigh_tasks(
    attempts: Mapping[tuple[str, str], Sequence[TaskAttempt]],
) -> list[TaskProgressShape]:
    """Return the progress of each task (id, version), of its attempts from new to old.

    w_i = max(0.05, 4·p̂(1 - p̂)) + |LP|, divided by the sum over all tasks. p̂ = (Σ outcome + 1) /
    (n + 2) over the n known outcomes, LP the learning progress, 0 where it is not known. 4·p̂(1 -
    p̂) is the variance of an outcome beside its largest: a group that is always or never solved has
    no advantage to learn from. A task without attempts has p̂ = 0.5.
    """
    progress = [describe_attempts(name, listed) for name, listed in attempts.items()]
    total = math.fsum(one.weight for one in progress)
    return [one.model_copy(update={"weight": one.weight / total}) for one in progress]


def describe_attempts(name: tuple[str, str], attempts: Sequence[TaskAttempt]) -> TaskProgressShape:
    """Return a task's progress with a weight that is not normalised yet."""
    outcomes = without_none(one.outcome for one in attempts)
    successes = without_none(one.success for one in attempts)
    totals = without_none(one.total for one in attempts)
    chance = (math.fsum(outcomes) + 1) / (len(outcomes) + 2)
    learning = find_learning_progress(outcomes)
    success = mean_or_none(successes)
    low, high = (None, None) if success is None else wilson(success, len(successes))
    task, version = name
    return TaskProgressShape(
        task=task,
        version=version,
        episodes=len(attempts),
        known=len(outcomes),
        success=success,
        low=low,
        high=high,
        mean_reward=mean_or_none(totals),
        reward_entropy=find_entropy(totals),
        flat_groups=find_flat_share(attempts),
        learning_progress=learning,
        weight=max(FLOOR, 4 * chance * (1 - chance)) + abs(learning or 0.0),
    )


def find_learning_progress(outcomes: Sequence[float]) -> float | None:
    """Return the mean of the newer half of ``outcomes`` (new to old) less that of the older; None
    where there are too few."""
    half = len(outcomes) // 2
    if half < MIN_HALF:
        return None
    newer, older = outcomes[:half], outcomes[-half:]
    return (math.fsum(newer) - math.fsum(older)) / half


def find_entropy(totals: Sequence[float]) -> float | None:
    """Return the entropy in bits of the totals, rounded to three decimals; None without one."""
    if not totals:
        return None
    counts = Counter(round(total, 3) for total in totals)
    shares = (count / len(totals) for count in counts.values())
    return abs(math.fsum(-share * math.log2(share) for share in shares))


def find_flat_share(attempts: Iterable[TaskAttempt]) -> float | None:
    """Return the share of the groups with at least two known totals in which all are equal; None
    where there is no such group."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for attempt in attempts:
        if attempt.group is not None and attempt.total is not None:
            groups[attempt.group].append(attempt.total)
    flat = [max(totals) - min(totals) < 1e-9 for totals in groups.values() if len(totals) > 1]
    return mean_or_none(flat)
