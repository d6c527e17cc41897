"""Which step what an episode earned is credited to, of what is stored: a view, which changes no
sealed reward."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select

from api.db.database import Database
from api.episodes.rows import EpisodeRow
from api.episodes.search import EpisodeQuery, matching
from api.episodes.store import Episodes
from api.episodes.tables import episodes
from api.rewards.ledger import Ledger
from api.rewards.siblings import (
    POLICY_LABEL,
    CreditEstimate,
    SiblingCreditJson,
    SiblingEpisode,
    SiblingReturns,
    policy_of,
    sibling_of_bodies,
)
from api.rewards.tables import milestones
from api.rewards.tables import rewards as rewards_table
from api.tasks.store import Tasks
from detectors.engine.attribution import Credit, credit, credited_to_cause
from detectors.model.rewards import RewardJson

MAX_SIBLINGS = 256
"""Other episodes that one is compared with: the newest ones."""
MAX_LOOKED_AT = 4_096
"""Episodes whose labels are read to find those without the label `policy`."""


class CreditView(NamedTuple):
    """Step → credit; of the view `siblings`, step → what it was estimated from as well."""

    credit: Mapping[int, float | None]
    siblings: Mapping[int, SiblingCreditJson]


class Credits:
    """The credit of the steps of one service's episodes."""

    def __init__(
        self, database: Database, ledger: Ledger, episodes: Episodes, tasks: Tasks
    ) -> None:
        self._database = database
        self._ledger, self._episodes, self._tasks = ledger, episodes, tasks

    async def by_step(
        self, row: EpisodeRow, rewards: Sequence[RewardJson], how: Credit
    ) -> CreditView:
        """Return the credit of an episode's row and its rewards."""
        closed = row.status == "closed"
        if how == "siblings":
            credits = await self._beside_siblings(row, rewards)
            return CreditView(
                {step: one.credit for step, one in credits.items()},
                {step: one.basis for step, one in credits.items()},
            )
        to_cause = (
            credited_to_cause(await self._tasks.document(row.task_number))
            if how == "cause"
            else frozenset()
        )
        return CreditView(credit(rewards, to_cause, how, closed=closed), {})

    async def of_episode(self, episode: str, how: Credit) -> CreditView:
        """The same of an episode's id. Raises `NotFoundError`."""
        row = await self._episodes.get(episode)
        return await self.by_step(
            row, [orjson.loads(body) for body in await self._ledger.all(episode)], how
        )

    async def _beside_siblings(
        self, row: EpisodeRow, rewards: Sequence[RewardJson]
    ) -> dict[int, CreditEstimate]:
        """Estimate each step's credit from what other episodes of the same rules and policy went on
        to earn."""
        policy = policy_of(orjson.loads(row.labels))
        siblings = [] if row.status != "closed" else await self._siblings(row, policy)
        bodies, baselines = await self._earned([row.id, *siblings])
        group = (row.digest, policy)
        own = SiblingEpisode(
            row.id, group, row.status == "closed", rewards, baselines.get(row.id, ())
        )

        def estimate() -> dict[int, CreditEstimate]:
            returns = SiblingReturns()
            for id in siblings:
                told = bodies.get(id, ())
                returns.add(sibling_of_bodies(id, group, told, baselines.get(id, ())))
            return returns.credit(own)

        return await asyncio.to_thread(estimate)

    async def _siblings(self, row: EpisodeRow, policy: str | None) -> list[str]:
        """Return the newest other closed episodes of the same ruleset and policy, all of whose
        rewards are known."""
        label = None if policy is None else (POLICY_LABEL, policy)
        of = episodes.c
        found = await self._database.all(
            select(of.id, of.labels)
            .where(
                *matching(
                    EpisodeQuery(
                        row.tenant, task=row.task, status="closed", label=label, guided=False
                    )
                ),
                of.digest == row.digest,
                of.total.is_not(None),
                of.id != row.id,
            )
            .order_by(of.opened_at.desc(), of.id.desc())
            .limit(MAX_LOOKED_AT if label is None else MAX_SIBLINGS)
        )
        ids = [one.id for one in found if policy_of(orjson.loads(one.labels)) == policy]
        return ids[:MAX_SIBLINGS]

    async def _earned(
        self, ids: Sequence[str]
    ) -> tuple[Mapping[str, Sequence[bytes]], Mapping[str, Sequence[str]]]:
        """Return the rewards of each episode in the order of its steps, and the milestones that
        were met before its first one."""
        rewards, reached = rewards_table.c, milestones.c
        bodies: defaultdict[str, list[bytes]] = defaultdict(list)
        baselines: defaultdict[str, list[str]] = defaultdict(list)
        listed: Sequence[Any] = await self._database.all(
            select(rewards.episode, rewards.body)
            .where(rewards.episode.in_(ids))
            .order_by(rewards.episode, rewards.step)
        )
        for one in listed:
            bodies[one.episode].append(bytes(one.body))
        listed = await self._database.all(
            select(reached.episode, reached.id).where(reached.episode.in_(ids), reached.step < 0)
        )
        for one in listed:
            baselines[one.episode].append(one.id)
        return bodies, baselines
