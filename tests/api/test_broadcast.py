"""Words from one replica to another, over a real Postgres."""

from __future__ import annotations

import asyncio

from sqlalchemy import make_url

from api.core.notify import Notifier
from api.log.broadcast import Broadcast
from tests.api.service import until
from tests.support.postgres import Postgres, needs_postgres

pytestmark = needs_postgres


async def test_a_change_that_is_told_while_the_same_one_is_sent_is_sent_again(
    postgres: Postgres,
) -> None:
    """Else whoever looked in between would wait for the change that it has not seen."""
    url = make_url(postgres.database())
    here, there = Notifier(), Notifier()
    sender, receiver = Broadcast(url, here), Broadcast(url, there)
    heard: list[str] = []
    there.subscribe("log", heard.append)
    await receiver.start()
    await sender.start()
    try:
        here.tell(("log", "ep_1"))
        await asyncio.sleep(0)  # the sender wakes
        await asyncio.sleep(0)  # and waits for Postgres
        here.tell(("log", "ep_1"))
        here.tell(("log", "ep_2"))
        await until(lambda: "ep_2" in heard)
        assert heard == ["ep_1", "ep_1", "ep_2"]
    finally:
        await sender.stop()
        await receiver.stop()
