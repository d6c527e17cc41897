"""Each episode's log of verdicts: what was said beyond the rules, chained, and what was decided by it.

The journal beside the sandbox numbers an episode's events, and may be gone when a judge answers. What the service hears
afterwards is an event of its own, in a chain beside the episode's log: added under the lock of the episode's row, read
back for ever, never changed (docs/decisions/0015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from api.cascade.recorded import DECIDED, GIVEN, words_of
from api.ledger import ASIDE, DECIDE, TOTAL, reward_rows
from api.store.arrivals import arriving
from api.store.database import Database, now
from api.store.opinions import Asking, answered
from api.store.together import Together
from api.tables import episodes, escalations, verdicts
from detectors.codec import GENESIS, canonical, sha256
from detectors.deciding import Word
from detectors.types import Reward

_v = verdicts.c
_ALL = select(verdicts).where(_v.episode == bindparam("episode"), _v.seq > bindparam("after")).order_by(_v.seq)
_LAST = select(_v.seq, _v.digest).where(_v.episode == bindparam("episode")).order_by(_v.seq.desc()).limit(1)
_OF_STEP = select(verdicts).where(_v.episode == bindparam("episode"), _v.step == bindparam("step")).order_by(_v.seq)

Conclude = Callable[[Sequence[Word]], Reward]


class Said(NamedTuple):
    """One word that is to be kept. ``data``: the event's; ``asking``: the question that was put for it, if one was;
    ``kept``: the answer as others are given it; ``last``: no other tier is asked about the item."""

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

    def __init__(self, database: Database, together: Together) -> None:
        self._database, self._together = database, together
        self._arrive = arriving(database.embedded)

    async def of(self, episode: str, after: int = 0) -> list[dict[str, Any]]:
        """The events of an episode's log of verdicts, each with its ``digest``."""
        rows = await self._database.all(_ALL, {"episode": episode, "after": after})
        return [{**orjson.loads(bytes(row.body)), "digest": row.digest} for row in rows]

    async def rows(self, episode: str) -> Sequence[Any]:
        """The same as they are stored."""
        return await self._database.all(_ALL, {"episode": episode, "after": 0})

    async def of_step(self, episode: str, step: int) -> list[dict[str, Any]]:
        """Those of one step."""
        rows = await self._database.all(_OF_STEP, {"episode": episode, "step": step})
        return [orjson.loads(bytes(row.body)) for row in rows]

    async def keep(self, said: Said, runner: str | None, conclude: Conclude) -> Reward | None:
        """Keep one word; the step's final reward where it was the last one that the step waited for.

        ``runner`` is who took the item; where another has it by now, nothing is kept. None: whoever has it (a person's
        word). ``conclude`` makes the final reward of the step's words.
        """
        return await self._together.do(lambda conn: self._keep(conn, said, runner, conclude), said.episode)

    def _keep(self, conn: Connection, said: Said, runner: str | None, conclude: Conclude) -> Reward | None:
        item = _item(said.episode, said.step, said.item)
        row = conn.execute(select(escalations).where(*item)).first()
        if said.asking is not None:
            answered(conn, said.asking, runner, said.kept, said.calls, said.cost)
        if row is None or (runner is not None and row.runner != runner):
            return None
        if said.data is not None:
            append(conn, said.episode, said.step, GIVEN, {"item": said.item, "audit": row.audit, **said.data})
        if not said.last:
            conn.execute(update(escalations).where(*item).values(attempts=0))
            return None
        conn.execute(delete(escalations).where(*item))
        return None if row.audit else self._decide(conn, said.episode, said.step, conclude)

    def _decide(self, conn: Connection, episode: str, step: int, conclude: Conclude) -> Reward | None:
        c = escalations.c
        waiting = select(func.count()).where(c.episode == episode, c.step == step, c.audit.is_(False))
        if conn.execute(waiting).scalar_one():
            return None
        rows = conn.execute(_OF_STEP, {"episode": episode, "step": step}).all()
        given = [orjson.loads(bytes(row.body)) for row in rows if row.kind == GIVEN]
        reward = conclude(words_of(given))
        (stored,) = reward_rows([reward])
        data: dict[str, Any] = {"verdicts": [one["seq"] for one in given if not one["audit"]]}
        data |= {name: getattr(reward, name) for name in ("status", "reward", "decided_by")}
        data["sha256"] = sha256(stored["body"])
        append(conn, episode, step, DECIDED, data)
        values = {f"new_{name}": stored[name] for name in ("status", "reward", "body")}
        conn.execute(DECIDE, {"of_episode": episode, "of_step": step, **values})
        conn.execute(TOTAL, {"of_episode": episode})
        if reward.done:
            conn.execute(update(episodes).where(episodes.c.id == episode).values(success=reward.success))
        conn.execute(self._arrive, {"episode": episode, "first": ASIDE, "last": step, "earned": 1})
        return reward


def append(conn: Connection, episode: str, step: int, kind: str, data: Mapping[str, Any]) -> None:
    """Add one event to the chain. The caller holds the lock of the episode's row."""
    last = conn.execute(_LAST, {"episode": episode}).first()
    seq, prev = (1, GENESIS) if last is None else (last.seq + 1, last.digest)
    body = canonical({**data, "episode": episode, "seq": seq, "prev": prev, "at": now(), "kind": kind, "step": step})
    row = {"episode": episode, "seq": seq, "step": step, "kind": kind, "prev": prev, "digest": sha256(body)}
    conn.execute(insert(verdicts), {**row, "body": body})


def _item(episode: str, step: int, item: str) -> tuple[Any, ...]:
    c = escalations.c
    return c.episode == episode, c.step == step, c.item == item
