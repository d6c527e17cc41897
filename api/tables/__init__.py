"""The tables of the service, in terms that SQLite and Postgres share; migrations/ is the only way they change."""

from api.tables.access import tokens
from api.tables.audit import audit_trees, checkpoints, closings, episode_facts, leaves
from api.tables.base import metadata
from api.tables.fleet import leases, sandboxes
from api.tables.log import (
    arrivals,
    commands,
    engine_states,
    episodes,
    idempotency,
    milestones,
    rewards,
    segments,
    steps,
    tasks,
    tombstones,
)
from api.tables.marks import episode_marks
from api.tables.preferences import preferences
from api.tables.rescores import rescored, rescores
from api.tables.verdicts import budgets, escalations, opinions, verdicts

__all__ = [
    "arrivals",
    "audit_trees",
    "budgets",
    "checkpoints",
    "closings",
    "commands",
    "engine_states",
    "episode_facts",
    "episode_marks",
    "episodes",
    "escalations",
    "idempotency",
    "leases",
    "leaves",
    "metadata",
    "milestones",
    "opinions",
    "preferences",
    "rescored",
    "rescores",
    "rewards",
    "sandboxes",
    "segments",
    "steps",
    "tasks",
    "tokens",
    "tombstones",
    "verdicts",
]
