"""Each episode's log of verdicts: what was said beyond the rules, chained, and what was decided by
it.

The journal beside the sandbox numbers an episode's events, and may be gone when a judge answers.
What the service hears afterwards is an event of its own, in a chain beside the episode's log: added
under the lock of the episode's row, read back for ever, never changed (docs/decisions/0015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, String, bindparam, delete, func, insert, select, update

from api.db.database import Database, now
from api.episodes.shared_transaction import SharedTransaction
from api.episodes.tables import episodes
from api.log.arrivals import arriving
from api.log.tables import arrivals
from api.rewards.ledger import ASIDE, DECIDE, TOTAL
from api.rewards.ledger_rows import reward_rows
from api.verdicts.escalations import GOAL, RELEASE
from api.verdicts.opinions import Asking, keep_answer
from api.verdicts.recorded import DECIDED, GIVEN, words_of
from api.verdicts.tables import escalations, verdicts
from detectors.engine.resolution import Word
from detectors.model.codec import GENESIS, canonical, sha256
from detectors.model.types import Reward

_v = verdicts.c
_ALL = (
    select(verdicts)
    .where(_v.episode == bindparam("episode"), _v.seq > bindparam("after"))
    .order_by(_v.seq)
)
_LAST = (
    select(_v.seq, _v.digest)
    .where(_v.episode == bindparam("episode"))
    .order_by(_v.seq.desc())
    .limit(1)
)
_OF_STEP = (
    select(verdicts)
    .where(_v.episode == bindparam("episode"), _v.step == bindparam("step"))
    .order_by(_v.seq)
)
# Made once: building a statement takes longer than running it.
_e = escalations.c
_this = (
    (_e.episode == bindparam("of_episode"))
    & (_e.step == bindparam("of_step"))
    & (_e.item == bindparam("of_item"))
)
# Of the one who took it; a person's word counts whoever has it.
_held = _this & (
    (_e.runner == bindparam("by", type_=String)) | bindparam("by", type_=String).is_(None)
)
_GOES_ON = update(escalations).where(_held).values(attempts=0).returning(_e.audit)
_ANSWERED = delete(escalations).where(_held).returning(_e.audit)
_WAITING = select(func.count()).where(
    _e.episode == bindparam("episode"), _e.step == bindparam("step"), _e.audit.is_(False)
)
_ADD = insert(verdicts)
_SUCCESS = (
    update(episodes)
    .where(episodes.c.id == bindparam("of_episode"))
    .values(success=bindparam("new_success"))
)

Conclude = Callable[[Sequence[Word]], Reward]


class VerdictRow(NamedTuple):
    """One word that is to be kept. ``data``: the event's; ``asking``: the question that was put for
    it, if one was; ``kept``: the answer as others are given it; ``last``: no other tier is asked
    about the item."""

    episode: str
    step: int
    item: str
    data: Mapping[str, Any] | None
    asking: Asking | None = None
    kept: Mapping[str, Any] | None = None
    calls: int = 0
    cost: float = 0.0
    last: bool = True


class Verdicts:
    """The logs of verdicts of one database."""

    def __init__(self, database: Database, together: SharedTransaction) -> None:
        self._database, self._together = database, together
        self._arrive = insert(arrivals).values(dict(arriving(database.embedded).fixed))

    async def read_log(self, episode: str, after: int = 0) -> list[dict[str, Any]]:
        """The events of an episode's log of verdicts, each with its ``digest``."""
        rows = await self._database.all(_ALL, {"episode": episode, "after": after})
        return [{**orjson.loads(bytes(row.body)), "digest": row.digest} for row in rows]

    async def rows(self, episode: str) -> Sequence[Any]:
        """The same as they are stored."""
        return await self._database.all(_ALL, {"episode": episode, "after": 0})

    async def of_step(self, episode: str, step: int) -> list[dict[str, Any]]:
        """Return the verdicts of one step, as JSON, in the order in which they were given."""
        rows = await self._database.all(_OF_STEP, {"episode": episode, "step": step})
        return [orjson.loads(bytes(row.body)) for row in rows]

    async def keep(self, said: VerdictRow, runner: str | None, conclude: Conclude) -> Reward | None:
        """Keep one word; the step's final reward where it was the last one that the step waited
        for.

        ``runner`` is who took the item; where another has it by now, nothing is kept. None: whoever
        has it (a person's word). ``conclude`` makes the final reward of the step's words.
        """
        return await self._together.do(
            lambda conn: self._keep(conn, said, runner, conclude), said.episode
        )

    def _keep(
        self, conn: Connection, said: VerdictRow, runner: str | None, conclude: Conclude
    ) -> Reward | None:
        """Keep a verdict in the step's chain, and decide the step with the last one that it waits
        for."""
        if said.asking is not None:
            keep_answer(conn, said.asking, runner, said.kept, said.calls, said.cost)
        item = {
            "of_episode": said.episode,
            "of_step": said.step,
            "of_item": said.item,
            "by": runner,
        }
        row = conn.execute(_ANSWERED if said.last else _GOES_ON, item).first()
        if row is None:
            return None
        chain = _Chain(conn, said.episode, said.step)
        if said.data is not None:
            chain.add(GIVEN, {"item": said.item, "audit": row.audit, **said.data})
        if said.last and said.item == GOAL and not row.audit:
            self._tell_goal(conn, chain, conclude)
        reward = self._decide(conn, chain, conclude) if said.last and not row.audit else None
        chain.write()
        return reward

    def _decide(self, conn: Connection, chain: _Chain, conclude: Conclude) -> Reward | None:
        """Decide a step once nothing waits for a verdict any more; return its reward, None
        before."""
        episode, step = chain.episode, chain.step
        names = {"episode": episode, "step": step}
        if conn.execute(_WAITING, names).scalar_one():
            return None
        given = _read_given(conn, chain)
        reward = conclude(words_of(given))
        (stored,) = reward_rows([reward])
        data: dict[str, object] = {"verdicts": [one["seq"] for one in given if not one["audit"]]}
        data |= {name: getattr(reward, name) for name in ("status", "reward", "decided_by")}
        data["sha256"] = sha256(stored["body"])
        chain.add(DECIDED, data)
        values = {f"new_{name}": stored[name] for name in ("status", "reward", "body")}
        conn.execute(DECIDE, {"of_episode": episode, "of_step": step, **values})
        conn.execute(TOTAL, {"of_episode": episode})
        if reward.done:
            conn.execute(_SUCCESS, {"of_episode": episode, "new_success": reward.success})
        conn.execute(self._arrive, {"episode": episode, "first": ASIDE, "last": step, "earned": 1})
        return reward

    def _tell_goal(self, conn: Connection, chain: _Chain, conclude: Conclude) -> None:
        """Say whether the episode succeeded, though its last step may wait for other answers, and
        let go of the steps that wait for that."""
        success = conclude(words_of(_read_given(conn, chain))).success
        conn.execute(_SUCCESS, {"of_episode": chain.episode, "new_success": success})
        conn.execute(RELEASE, {"of_episode": chain.episode})


def _read_given(conn: Connection, chain: _Chain) -> list[dict[str, Any]]:
    """The words on a step, those that this transaction adds among them."""
    names = {"episode": chain.episode, "step": chain.step}
    rows = [(row.kind, row.body) for row in conn.execute(_OF_STEP, names)]
    rows += [(row["kind"], row["body"]) for row in chain.rows]
    return [orjson.loads(bytes(body)) for kind, body in rows if kind == GIVEN]


class _Chain:
    """What one transaction adds to an episode's chain about a step: ``rows``, until `write` stores
    them all at once.

    The caller holds the lock of the episode's row.
    """

    def __init__(self, conn: Connection, episode: str, step: int) -> None:
        self._conn, self.episode, self.step = conn, episode, step
        self.rows: list[dict[str, Any]] = []

    def add(self, kind: str, data: Mapping[str, object]) -> None:
        """Append an event to the rows, chained to the one before it."""
        seq, prev = self._last()
        of = {
            "episode": self.episode,
            "seq": seq + 1,
            "step": self.step,
            "kind": kind,
            "prev": prev,
        }
        body = canonical({**data, **of, "at": now()})
        self.rows.append({**of, "digest": sha256(body), "body": body})

    def write(self) -> None:
        """Store the rows that were added to the log of verdicts."""
        if self.rows:
            self._conn.execute(_ADD, self.rows)

    def _last(self) -> tuple[int, str]:
        """Return number and digest of the last verdict of the step."""
        if self.rows:
            return self.rows[-1]["seq"], self.rows[-1]["digest"]
        last = self._conn.execute(_LAST, {"episode": self.episode}).first()
        return (0, GENESIS) if last is None else (last.seq, last.digest)
