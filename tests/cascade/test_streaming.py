"""What a judge decides late is streamed too: to who stays, to who comes back, whenever it is
decided."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from api.live.streams import KINDS
from api.rewards.ledger import Ledger
from tests.api.service import Service, Store
from tests.cascade.stage import Endpoint
from tests.cascade.test_escalation import SILENT, answering, endpoint, final, judged, task
from tests.support.logs import episode, went

__all__ = ["answering", "endpoint"]

ENDED = ("ended", None, None)
JUDGED = ("reward", 0, "sealed")


def read(frames: bytes) -> list[tuple[str, Any, Any]]:
    """Name, step and status of each frame that is no event of the log and no milestone."""
    found = []
    for frame in frames.split(b"\n\n"):
        if frame.startswith((b"event: reward", b"event: ended")):
            name, _, data = frame.split(b"\n")
            body = orjson.loads(data[6:])
            found.append((name[7:].decode(), body.get("step"), body.get("status")))
    return found


async def told(service: Service) -> tuple[str, int]:
    """A closed episode of which a step is still asked about, and its last event."""
    id, token = await service.open(task())
    await service.tell(id, token, *episode(SILENT, [went("/cart")]))
    assert (await service.reward(id, 0)).json()["status"] == "escalating"
    return id, (await service.get(f"/v1/episodes/{id}")).json()["through"]


@pytest.mark.parametrize("decided", [False, True], ids=["while it is asked", "once it is decided"])
async def test_who_comes_back_after_the_end_gets_what_was_decided(
    store: Store, endpoint: Endpoint, *, decided: bool
) -> None:
    endpoint.say(hold=True)
    async with judged(store, endpoint) as service:
        id, through = await told(service)
        path, headers = f"/v1/episodes/{id}/stream", {"last-event-id": str(through)}
        if decided:
            endpoint.say(hold=False)
            await final(service, id)
        asked = asyncio.create_task(service.get(path, headers=headers))
        await asyncio.sleep(0.05)  # fixed: nothing may come
        assert decided or not asked.done()
        endpoint.say(hold=False)
        got = read((await asked).content)
        assert got[-2:] == [JUDGED, ENDED]
        assert (
            await service.get(path, headers={"last-event-id": str(through + 1)})
        ).status_code == 204


class Between(Ledger):
    """The service's ledger, where the judge decides between the two looks of a stream that is at
    the episode's end."""

    def __init__(self, service: Service, endpoint: Endpoint) -> None:
        self.__dict__ |= vars(service.app.state.parts.ledger)
        self._service, self._endpoint = service, endpoint
        self.at_end = 0

    async def decided(self, episode: str, through: int) -> list[int]:
        found = await super().decided(episode, through)
        await self._decide(episode, through)
        return found

    async def escalating(self, episode: str) -> bool:
        found = await super().escalating(episode)
        await self._decide(episode, self.at_end)
        return found

    async def _decide(self, episode: str, through: int) -> None:
        if through == self.at_end:
            self._endpoint.say(hold=False)
            await final(self._service, episode)


async def test_what_is_decided_between_two_looks_is_told_before_the_end(
    store: Store, endpoint: Endpoint
) -> None:
    endpoint.say(hold=True)
    async with judged(store, endpoint) as service:
        parts = service.app.state.parts
        ledger = parts.streams._ledger = Between(service, endpoint)
        id, ledger.at_end = await told(service)
        got = read(
            b"".join([frame async for frame in parts.streams.of_one(id, 0, frozenset(KINDS))])
        )
        assert got[0] == ("reward", 0, "escalating")
        assert got[-2:] == [JUDGED, ENDED]


async def test_who_wants_no_rewards_waits_for_no_judge(store: Store, endpoint: Endpoint) -> None:
    endpoint.say(hold=True)
    async with judged(store, endpoint) as service:
        id, _ = await told(service)
        answer = await service.get(f"/v1/episodes/{id}/stream", params={"kinds": "event"})
        assert read(answer.content) == [ENDED]
        endpoint.say(hold=False)
