"""The health of rewards as metrics: the newest closed episodes of each tenant, counted at most once
a minute."""

from __future__ import annotations

import time
from collections.abc import Mapping

import orjson
from prometheus_client import CollectorRegistry, Gauge

from api.audit.declared import Declared, read_declared
from api.audit.health import Counts, alarms, count, in_order
from api.audit.store import Audits
from api.episodes.label_index import label_text

WINDOW = 2_000
"""The newest closed episodes that are counted, over all tenants."""
EVERY_S = 60.0
LABEL = "policy"

_SHOWN = (
    ("reward", "Mean share of what the task can give, by policy version."),
    ("goal_rate", "Successes among episodes whose success is known."),
    ("steps_per_success", "Steps of successful episodes over their number."),
    ("syntax_error_rate", "Tool calls that could not be understood, over all calls."),
    ("execution_error_rate", "Tool calls that failed otherwise, over all calls."),
    (
        "unnecessary_call_rate",
        "Tool calls that repeat an earlier one that had succeeded, over all calls.",
    ),
    (
        "masked_while_acting_rate",
        "Steps masked by a gap that began while the agent acted, over all steps.",
    ),
)


class HealthGauges:
    """Gauges of the last two versions of each tenant, and one for each alarm that the newest
    version raises."""

    def __init__(self, audits: Audits, registry: CollectorRegistry) -> None:
        self._audits = audits
        self._due = 0.0
        self._gauges = {
            name: Gauge(f"milestoned_health_{name}", says, ["tenant", "version"], registry=registry)
            for name, says in _SHOWN
        }
        self._alarms = Gauge(
            "milestoned_health_alarm",
            "1 for each alarm of docs/health.md that a policy version raises against the one"
            " before it.",
            ["tenant", "version", "alarm"],
            registry=registry,
        )

    async def refresh(self) -> None:
        """Count again, if a minute has passed."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY_S
        found = await self._counted()
        for gauge in (*self._gauges.values(), self._alarms):
            gauge.clear()
        for tenant, by_version in found.items():
            versions = in_order(by_version.values())
            for one in versions[-2:]:
                self._show(tenant, one)
            for alarm in alarms(versions):
                if alarm.version == versions[-1].version:
                    self._alarms.labels(tenant, alarm.version, alarm.name).set(1)

    def _show(self, tenant: str, one: Counts) -> None:
        """Set each gauge of a version to its figure, where that is known."""
        for name, value in one.to_json().items():
            if name in self._gauges and value is not None:
                self._gauges[name].labels(tenant, one.version).set(value)

    async def _counted(self) -> Mapping[str, Mapping[str, Counts]]:
        """Count the newest episodes by tenant and version; those without the label are left out."""
        tasks: dict[int, Declared] = {}
        found: dict[str, dict[str, Counts]] = {}
        for row in await self._audits.newest(WINDOW):
            labels = orjson.loads(row.labels)
            if LABEL not in labels:
                continue
            if row.task_number not in tasks:
                tasks[row.task_number] = await read_declared(self._audits, row.task_number)
            task = tasks[row.task_number]
            version = label_text(labels[LABEL])[:256]
            one = found.setdefault(row.tenant, {}).setdefault(version, Counts(version))
            count(one, row, orjson.loads(row.facts), task)
        return found
