"""The live stream: everything once and in order, and going on after a break."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.api.processes import Process
from tests.api.service import TASK, Service, events, frames
from tests.support.logs import clicked, episode, went

SAID = episode([went("/cart")], [clicked("Buy")])


class Sent(NamedTuple):
    """One frame of the stream."""

    name: str
    id: int


def told(lines: Iterator[str], most: int = 1_000) -> list[Sent]:
    """At most ``most`` frames, comments left out."""
    found: list[Sent] = []
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("id: "):
            found.append(Sent(name, int(line[4:])))
        elif not line and len(found) == most:
            break
    return found


WHOLE = [
    Sent("event", 1),
    Sent("event", 2),
    Sent("event", 3),
    Sent("milestone", 3),
    Sent("event", 4),
    Sent("reward", 4),
    Sent("event", 5),
    Sent("milestone", 5),
    Sent("milestone", 5),
    Sent("event", 6),
    Sent("reward", 6),
    Sent("ended", 7),
]


@pytest.mark.parametrize("sizes", [[], [1] * 6, [3, 1]])
async def test_a_closed_episode_streams_whole_and_ends(service: Service, sizes: list[int]) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID, sizes=sizes)
    answer = await service.get(f"/v1/episodes/{id}/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert told(iter(answer.text.split("\n"))) == WHOLE


@pytest.mark.parametrize("last", [1, 2, 3, 4, 5, 6])
async def test_it_goes_on_after_the_last_id_and_repeats_only_what_that_event_earned(
    service: Service, last: int
) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID, sizes=[4])
    answer = await service.get(f"/v1/episodes/{id}/stream", headers={"last-event-id": str(last)})
    again = [one for one in WHOLE if one.id == last and one.name != "event"]
    assert told(iter(answer.text.split("\n"))) == again + [one for one in WHOLE if one.id > last]


async def test_nothing_is_left_to_stream(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    ended = WHOLE[-1].id
    assert (
        await service.get(f"/v1/episodes/{id}/stream", headers={"last-event-id": str(ended)})
    ).status_code == 204
    assert (
        await service.get(f"/v1/episodes/{id}/stream", headers={"last-event-id": "x"})
    ).status_code == 422


def test_a_watcher_sees_an_open_episode_move(tmp_path: Path) -> None:
    process = Process(tmp_path / "data")
    process.start()
    admin = {"authorization": f"Bearer {process.admin}"}
    with httpx.Client(base_url=process.url, timeout=30) as http:
        http.post("/v1/tasks", json=TASK, headers=admin)
        opened = http.post("/v1/episodes", json={"task": TASK["id"]}, headers=admin).json()
        id, daemon = opened["episode"], {"authorization": f"Bearer {opened['token']}"}
        with http.stream("GET", f"/v1/episodes/{id}/stream", headers=admin) as answer:
            lines = answer.iter_lines()
            seen: list[Sent] = []
            for frame in frames(events(id, *SAID), [1, 2, 2]):
                http.post(
                    f"/v1/episodes/{id}/events", content=frame, headers=daemon
                ).raise_for_status()
                upto = http.get(f"/v1/episodes/{id}", headers=admin).json()["through"]
                seen += told(lines, len([one for one in WHOLE if one.id <= upto]) - len(seen))
            assert seen + told(lines) == WHOLE
    process.stop()
