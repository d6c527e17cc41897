"""The tables of the service, in terms that SQLite and Postgres share; migrations/ is the only way they change."""

from api.tables.access import tokens
from api.tables.base import metadata
from api.tables.log import (
    commands,
    engine_states,
    episodes,
    idempotency,
    milestones,
    rewards,
    segments,
    steps,
    tasks,
)

__all__ = [
    "commands",
    "engine_states",
    "episodes",
    "idempotency",
    "metadata",
    "milestones",
    "rewards",
    "segments",
    "steps",
    "tasks",
    "tokens",
]
