"""Episodes that are not over and were opened under rules that this build has not: another build's,
or a plug-in's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select

from api.auth.tables import tokens
from api.core.errors import RulesetChangedError
from api.db.database import Database
from api.episodes.tables import episodes
from api.tasks.store import Tasks

_UNDER = (episodes.c.task_number, episodes.c.digest)
# By the owners, since the index on the status begins with them.
_OWNED = episodes.c.tenant.in_(select(tokens.c.tenant).distinct())
_NOT_OVER = (
    select(*_UNDER, func.count().label("many"))
    .where(episodes.c.status.in_(("open", "closing")), _OWNED)
    .group_by(*_UNDER)
)
_CLOSING = select(episodes.c.id, *_UNDER).where(episodes.c.status == "closing", _OWNED)


class Strangers:
    """Those of one database."""

    def __init__(self, database: Database, tasks: Tasks) -> None:
        self._database, self._tasks = database, tasks

    async def count(self) -> int:
        """Count the ones that are not closed yet."""
        return sum(row.many for row in await self._strange(await self._database.all(_NOT_OVER)))

    async def closing(self) -> list[str]:
        """Those that somebody asked to close: nobody can append their end while this build
        serves."""
        return [row.id for row in await self._strange(await self._database.all(_CLOSING))]

    async def _strange(self, rows: Sequence[Any]) -> list[Any]:
        """Return the rows whose rules are not those of this build."""
        found = []
        for row in rows:
            try:
                digest = (await self._tasks.ruleset(row.task_number)).digest
            except RulesetChangedError:
                digest = None
            if digest != row.digest:
                found.append(row)
        return found
