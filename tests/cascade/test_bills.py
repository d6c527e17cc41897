"""What a question is billed: on whose budgets, how much, and that nothing stays set aside for
nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from sqlalchemy import select

from api.core.settings import Settings
from api.db.database import Database
from api.db.migrate import upgrade
from api.episodes.shared_transaction import SharedTransaction
from api.verdicts.opinions import STAGE, Asking, Opinions, keep_answer
from api.verdicts.tables import budgets, opinions
from detectors.task.language import Budget
from tests.api.service import Store, eventually, until
from tests.cascade.stage import Endpoint
from tests.cascade.test_escalation import answering, endpoint, judged, task
from tests.support.logs import episode, went

__all__ = ["answering", "endpoint"]
ANSWER = {"verdict": {}}
RUNNERS = ("one", "two")


class Books(NamedTuple):
    """The questions of two workers over one database."""

    database: Database
    together: SharedTransaction
    one: Opinions
    two: Opinions

    async def keep(
        self, asking: Asking, body: Any, calls: int, cost: float, runner: str = "one"
    ) -> None:
        """An answer, or the end of patience."""
        await self.together.do(lambda conn: keep_answer(conn, asking, runner, body, calls, cost))

    async def spent(self) -> dict[str, tuple[int, float, float]]:
        """Calls, cost and held of each episode's budget, but of those that have nothing."""
        rows = await self.database.all(select(budgets).where(budgets.c.scope != STAGE))
        found = {row.key: (row.calls, round(row.cost, 9), round(row.held, 9)) for row in rows}
        return {key: value for key, value in found.items() if value != (0, 0.0, 0.0)}

    async def open(self) -> int:
        """How many questions have no answer."""
        return len(await self.database.all(select(opinions).where(opinions.c.body.is_(None))))


@pytest.fixture
async def books(store: Store) -> AsyncIterator[Books]:
    """Empty ones."""
    database = Database(Settings(store.folder, store.url).database)
    await upgrade(database)
    together = SharedTransaction(database)
    one, two = (Opinions(together, database.embedded, runner) for runner in RUNNERS)
    yield Books(database, together, one, two)
    await database.close()


def asking(whose: str, calls: int = 4, limit: Budget | None = None) -> Asking:
    """The same question, for the episode ``whose``."""
    return Asking(
        "judge", "d" * 64, whose, calls, {("episode", whose): limit or Budget(calls=10, cost=1.0)}
    )


async def test_another_s_answer_does_not_pay_for_who_asked_first(books: Books) -> None:
    """A asked in vain, B asks the same and is answered: B pays what it took, A nothing, and nothing
    is held."""
    a, b = asking("a"), asking("b")
    assert (await books.one.begin(a, 30)).state == "ask"
    assert (await books.spent())["a"][:2] == (4, 0.0)
    await books.one.again(a, 0, 0.0)
    assert await books.spent() == {}
    assert (await books.one.begin(b, 30)).state == "ask"
    await books.keep(b, ANSWER, 3, 0.02)
    assert await books.spent() == {"b": (3, 0.02, 0.0)}
    assert (await books.one.begin(a, 30)).state == "known"


async def test_what_a_dead_worker_was_billed_goes_to_who_asks_now(books: Books) -> None:
    """Once, on the budgets of the one who takes it up."""
    assert (await books.one.begin(asking("a"), -1)).state == "ask"
    assert (await books.two.begin(asking("b"), 30)).state == "ask"
    spent = await books.spent()
    assert ("a" in spent, spent["b"][0]) == (False, 4)
    await books.keep(asking("b"), ANSWER, 2, 0.0, "two")
    assert await books.spent() == {"b": (2, 0.0, 0.0)}


async def test_two_answers_to_one_question_are_both_paid_for(books: Books) -> None:
    """The lease of the first had ended; each pays for what it used, and the first word stays."""
    first, second = asking("a"), asking("b")
    await books.one.begin(first, -1)
    await books.two.begin(second, 30)
    await books.keep(first, {"verdict": 1}, 2, 0.01)
    await books.keep(second, {"verdict": 2}, 3, 0.02, "two")
    assert await books.spent() == {"a": (2, 0.01, 0.0), "b": (3, 0.02, 0.0)}
    assert (await books.one.begin(first, 30)).body == {"verdict": 1}


async def test_who_gives_up_leaves_another_s_question_alone(books: Books) -> None:
    """It is asked by somebody else by now."""
    await books.one.begin(asking("a"), -1)
    await books.two.begin(asking("b"), 30)
    await books.keep(asking("a"), None, 1, 0.0)
    assert (await books.open(), (await books.spent())["b"][0]) == (1, 4)


async def test_the_end_of_patience_leaves_no_row(books: Books) -> None:
    """What it took is paid; nothing is billed for an answer that nobody waits for."""
    await books.one.begin(asking("a"), 30)
    await books.keep(asking("a"), None, 1, 0.005)
    assert (await books.open(), await books.spent()) == (0, {"a": (1, 0.005, 0.0)})


async def test_an_attempt_without_an_answer_is_paid_for(books: Books) -> None:
    """Until the budget is spent: then nobody is asked again."""
    a = asking("a", calls=2, limit=Budget(calls=5))
    for calls in (2, 4):
        assert (await books.one.begin(a, 30)).state == "ask"
        await books.one.again(a, 2, 0.01)
        assert await books.spent() == {"a": (calls, calls / 200, 0.0)}
    assert (await books.one.begin(a, 30)).state == "spent"


async def test_what_is_asked_once_leaves_no_row(books: Books) -> None:
    """It is charged with what it took, and the next one is taken to cost as much."""
    first = asking("a", limit=Budget(cost=0.03))
    assert (await books.one.begin_once(first, 30)).state == "ask"
    await books.one.end_once(first, 2, 0.02)
    assert (await books.open(), await books.spent()) == (0, {"a": (2, 0.02, 0.0)})
    second = first._replace(digest="e" * 64)
    assert (await books.one.begin_once(second, 30)).state == "spent"


async def test_what_is_asked_once_and_was_left_by_a_dead_asker_stays_charged(books: Books) -> None:
    """Nobody asks it again, and nobody knows whether it was answered: what was set aside is what it
    cost, and holds nobody up."""
    await books.one.begin_once(asking("a"), 30)
    await books.one.end_once(asking("a"), 2, 0.02)
    left, other = (asking("a")._replace(digest=letter * 64) for letter in "ef")
    await books.one.begin_once(left, -1)
    assert await books.spent() == {"a": (6, 0.02, 0.02)}
    assert (await books.two.begin_once(other, 30)).state == "ask"
    await books.two.end_once(other, 1, 0.01)
    assert (await books.open(), await books.spent()) == (0, {"a": (7, 0.05, 0.0)})


async def test_leases_are_kept_of_what_is_asked_alone(books: Books) -> None:
    """What nobody works at any more comes free when its lease ends."""
    other = asking("b")._replace(digest="e" * 64)
    await books.one.begin(asking("a"), 0.05)
    await books.one.begin(other, 0.05)
    await books.one.renew([other], 30)
    async with asyncio.timeout(60):
        while (state := (await books.two.begin(asking("a"), 30)).state) == "busy":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert state == "ask"
    assert (await books.two.begin(other, 30)).state == "busy"


async def test_a_deleted_episode_holds_no_money(store: Store, endpoint: Endpoint) -> None:
    """Its question was open: what was set aside of the tenant's and the day's budgets is free; the
    answer is paid."""
    endpoint.say(hold=True)
    came = endpoint.calls()["came"]
    async with judged(store, endpoint, budgets={"day": Budget(calls=5, cost=1.0)}) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode([went("/deleted-meanwhile")]))
        await until(lambda: endpoint.calls()["came"] > came)
        database = service.app.state.parts.database
        day = select(budgets).where(budgets.c.scope == "day")
        row = await database.first(day)
        assert (row.calls, row.held > 0) == (1, True)
        assert (
            await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "test"})
        ).status_code == 200
        row = await database.first(day)
        assert (row.calls, row.held) == (0, 0.0)
        endpoint.say(hold=False)

        async def charged() -> Any:
            row = await database.first(day)
            return row.calls and row

        row = await eventually(charged)
        assert (row.calls, row.cost, row.held) == (1, 0.01, 0.0)
