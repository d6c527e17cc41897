"""People's words as rows, and what they are asked next: what others disagree on first, then what
nobody saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Select, bindparam, delete, insert, select

from api.db.database import Database, now
from api.episodes.tables import episodes
from api.labelling.tables import preferences
from api.verdicts.recorded import DECIDED
from api.verdicts.tables import escalations, verdicts
from detectors.model.optional_values import without_none

PAIR = ("first", "second", "tie", "unsure")
STEP = ("yes", "no", "unsure")
LOOKED_AT = 400
"""The newest words, episodes and verdicts that are looked at for what comes next."""

MAX_PAIRS = 100_000
UNSCORED = "unscored"
AUDITED = "an audit drew it by lot"

_tenant: object = bindparam("tenant")
_p, _e, _v = preferences.c, episodes.c, verdicts.c
_ALL = select(preferences).where(_p.tenant == _tenant).order_by(_p.number)
_CLOSED = (
    select(episodes)
    .where(_e.tenant == _tenant, _e.status == "closed")
    .order_by(_e.opened_at.desc(), _e.id.desc())
    .limit(LOOKED_AT)
)
_WAITING = (
    select(escalations, _e.task, _e.task_number)
    .join(episodes, _e.id == escalations.c.episode)
    .where(_e.tenant == _tenant, escalations.c.audit.is_(False))
    .order_by(escalations.c.queued_at)
    .limit(LOOKED_AT)
)
_SAID = (
    select(verdicts.c.body, _e.task)
    .join(episodes, _e.id == _v.episode)
    .where(_e.tenant == _tenant)
    .order_by(_e.opened_at.desc(), _v.episode, _v.seq)
    .limit(LOOKED_AT)
)


_FIRST, _SECOND = episodes.alias("first_episode"), episodes.alias("second_episode")
_PAIRS = (
    select(
        _p.choice,
        _FIRST.c.opened_at.label("first_opened_at"),
        _FIRST.c.labels.label("first_labels"),
        _SECOND.c.opened_at.label("second_opened_at"),
        _SECOND.c.labels.label("second_labels"),
    )
    .join(_FIRST, _FIRST.c.id == _p.first)
    .join(_SECOND, _SECOND.c.id == _p.second)
    .order_by(_p.number.desc())
    .limit(MAX_PAIRS)
)


class ComparedEpisodes(NamedTuple):
    """What one person said of two episodes, with their openings and labels."""

    choice: str
    first_opened_at: str
    first_labels: Mapping[str, Any]
    second_opened_at: str
    second_labels: Mapping[str, Any]


class LabelWord(NamedTuple):
    """What one person says of one pair, or of one item of one step (``second`` empty)."""

    task: str
    first: str
    second: str
    step: int
    item: str
    choice: str
    final: bool = False


class _Said(NamedTuple):
    """What tiers said of one item; ``audit``: by lot, without effect."""

    scores: list[float | None]
    audit: bool

    def find_reason(self, *, is_open: bool) -> str | None:
        """Why a person is asked about the item; None: nobody is. ``is_open``: its step has no
        value, since no tier was sure enough."""
        known = without_none(self.scores)
        if not known or (is_open and not self.audit):
            return "nobody was sure"
        if min(known) < 0.5 <= max(known):
            return "model and judge say the contrary"
        return AUDITED if self.audit else None


class Preferences:
    """The preferences of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def say(self, tenant: str, annotator: str, word: LabelWord) -> None:
        """Keep it; what the same person said of the same before is replaced."""
        row = {"tenant": tenant, "annotator": annotator, **word._asdict()}
        same = [
            _p[name] == row[name]
            for name in ("tenant", "annotator", "first", "second", "step", "item")
        ]
        async with self._database.write() as conn:
            await conn.execute(delete(preferences).where(*same))
            await conn.execute(insert(preferences), {**row, "said_at": now()})

    async def all(self, tenant: str, task: str | None = None) -> Sequence[Any]:
        """Every word, in the order in which they were said."""
        return await self._of_task(_ALL, _p.task, tenant, task)

    async def everybody(self) -> Sequence[object]:
        """Every word of every tenant, in the order in which they were said."""
        return await self._database.all(select(preferences).order_by(_p.number))

    async def pairs(self, tenant: str | None, task: str | None = None) -> list[ComparedEpisodes]:
        """Return what people said of pairs of episodes that are still there, the newest
        `MAX_PAIRS`; of every tenant where ``tenant`` is None."""
        statement = _PAIRS
        if tenant is not None:
            statement = statement.where(_p.tenant == tenant)
        if task is not None:
            statement = statement.where(_p.task == task)
        return [
            ComparedEpisodes(
                row.choice,
                row.first_opened_at,
                orjson.loads(row.first_labels),
                row.second_opened_at,
                orjson.loads(row.second_labels),
            )
            for row in await self._database.all(statement)
        ]

    async def closed(self, tenant: str, task: str | None = None) -> Sequence[Any]:
        """Return the closed episodes that were opened last, newest first."""
        return await self._of_task(_CLOSED, _e.task, tenant, task)

    async def waiting(self, tenant: str, task: str | None = None) -> Sequence[Any]:
        """Items of steps that wait for an answer, the oldest first."""
        return await self._of_task(_WAITING, _e.task, tenant, task)

    async def _of_task(
        self, statement: Select[Any], column: Any, tenant: str, task: str | None
    ) -> Sequence[Any]:
        """Return the rows of a statement for a tenant; of one task where ``task`` is given."""
        if task is not None:
            statement = statement.where(column == task)
        return await self._database.all(statement, {"tenant": tenant})

    async def unsettled(
        self, tenant: str, task: str | None = None
    ) -> list[tuple[str, int, str, str, str]]:
        """(episode, step, item, task, why) where no tier was sure enough, or two said the
        contrary; then those of which an audit asked, so that labels are also of what was sure."""
        rows = await self._database.all(
            _SAID if task is None else _SAID.where(_e.task == task), {"tenant": tenant}
        )
        items: dict[tuple[str, int, str, str], _Said] = {}
        open_steps: set[tuple[str, int]] = set()
        for row in rows:
            event = orjson.loads(bytes(row.body))
            if event["kind"] == DECIDED:
                if event["status"] == UNSCORED:
                    open_steps.add((event["episode"], event["step"]))
                continue
            at = (event["episode"], event["step"], event["item"], row.task)
            said = items.setdefault(at, _Said([], event["audit"]))
            said.scores.append(event["verdict"]["score"])
        reasons = {at: said.find_reason(is_open=at[:2] in open_steps) for at, said in items.items()}
        found = [(*at, why) for at, why in reasons.items() if why is not None]
        return sorted(found, key=lambda one: one[-1] == AUDITED)


def removed_with(episode: str) -> Any:
    """What goes when an episode does: what was said of it."""
    return delete(preferences).where((_p.first == episode) | (_p.second == episode))
