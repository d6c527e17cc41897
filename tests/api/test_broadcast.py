"""Words from one replica to another, over a real Postgres."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import make_url

from api.core.notify import Notifier, commands_of
from api.log import broadcast
from api.log.broadcast import Broadcast
from tests.api.service import until
from tests.support.ports import free_port
from tests.support.postgres import Postgres, needs_postgres


@needs_postgres
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


async def test_what_cannot_be_sent_takes_a_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica whose connection for words is refused, as where there are too many, works on."""
    monkeypatch.setattr(broadcast, "MAX_WAITING", 5)
    url = make_url(f"postgresql://nobody@127.0.0.1:{free_port()}/none")
    here = Notifier()
    sender = Broadcast(url, here)
    await sender.start()
    try:
        for number in range(100):
            here.tell(commands_of("ep_1"), {"command": number, "kind": "step.ended", "data": {}})
        assert len(sender._waiting) == 5 + 1
    finally:
        await sender.stop()
