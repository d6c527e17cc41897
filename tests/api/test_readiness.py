"""Whether an episode's daemon sees, as its log tells: asked at once, waited for, lost and back."""

from __future__ import annotations

import asyncio
from typing import Any

import zstandard

from tests.api.service import TASK, Service, events, texts, until

OPENED: Any = ("episode.opened", {"task": TASK["id"], "digest": "d"})


def began(source: str, reason: str = "starting", **more: str) -> Any:
    return ("gap.began", {"source": source, "reason": reason, **more})


def ended(source: str, **more: str) -> Any:
    return ("gap.ended", {"source": source, **more})


class Daemon:
    """Appends what it is told, a segment a time; the first has ``opens`` events."""

    def __init__(
        self, service: Service, episode: str, token: str, *said: Any, opens: int = 1
    ) -> None:
        self._service, self._episode, self._token = service, episode, token
        self._texts = iter(texts(events(episode, *said), [opens, *[1] * (len(said) - opens)]))

    async def tell(self, count: int = 1) -> None:
        for _ in range(count):
            frame = zstandard.compress(next(self._texts))
            assert (
                await self._service.append(self._episode, frame, self._token)
            ).status_code == 200


async def asked(service: Service, episode: str, wait_ms: int = 0) -> dict[str, Any]:
    answer = await service.get(f"/v1/episodes/{episode}/ready", params={"wait_ms": wait_ms})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_each_source_is_named_until_it_sees(service: Service) -> None:
    id, token = await service.open()
    first = await asked(service, id)
    assert (first["ready"], first["status"], first["sources"]) == (False, "open", [])
    assert first["waiting"].keys() == {"agentd"}
    daemon = Daemon(
        service, id, token,
        OPENED, began("cdp"), began("files"), ended("cdp"), ended("files"),
        began("cdp", "request is off", part="request"), began("cdp", "the browser closed the connection"), ended("cdp"),
        ("episode.closed", {"reason": "done"}),
    )  # fmt: skip
    await daemon.tell(3)
    assert (await asked(service, id))["waiting"] == {"cdp": "starting", "files": "starting"}
    await daemon.tell()
    said = await asked(service, id, 10)
    assert (said["ready"], said["waiting"], said["through"]) == (False, {"files": "starting"}, 4)
    assert said["sources"] == [
        {"source": "cdp", "sees": True, "reason": None},
        {"source": "files", "sees": False, "reason": "starting"},
    ]
    waits = asyncio.create_task(asked(service, id, 50_000))
    await until(lambda: bool(service.app.state.notifier.waiting))
    await daemon.tell()
    assert ((await waits)["ready"], (await waits)["waiting"]) == (True, {})
    await daemon.tell()
    assert (await asked(service, id))["ready"], "a part of a page comes and goes"
    await daemon.tell()
    assert (await asked(service, id))["waiting"] == {"cdp": "the browser closed the connection"}
    await daemon.tell()
    assert (await asked(service, id, 50_000))["ready"]
    await daemon.tell()
    closed = await asked(service, id, 50_000)
    assert (closed["ready"], closed["status"], closed["waiting"]) == (
        False,
        "closed",
        {"episode": "the episode is closed"},
    )


async def test_what_was_remembered_is_what_the_log_says(service: Service) -> None:
    """Read anew, as another replica does, it is the same."""
    id, token = await service.open()
    daemon = Daemon(service, id, token, OPENED, began("cdp"), ended("cdp"), began("cdp", "lost"))
    for _ in range(4):
        await daemon.tell()
        remembered = await asked(service, id)
        service.app.state.parts.readiness.forget()
        assert await asked(service, id) == remembered


async def test_a_task_that_nothing_is_watched_for_is_ready_once_a_daemon_begins(
    service: Service,
) -> None:
    id, token = await service.open()
    await Daemon(service, id, token, OPENED).tell()
    assert (await asked(service, id))["ready"]


async def test_an_episode_that_waits_for_a_sandbox_says_so(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    id = (await service.post("/v1/episodes", {"task": TASK["id"], "sandbox": "any"})).json()[
        "episode"
    ]
    assert (await asked(service, id, 10))["waiting"] == {
        "sandbox": "no sandbox of the fleet has taken the episode"
    }


async def test_texts_and_numbers_of_sources_are_bounded(service: Service) -> None:
    id, token = await service.open()
    said = [began("x" * 5_000, "y" * 5_000), *(began(f"s{n}") for n in range(100))]
    daemon = Daemon(service, id, token, OPENED, *said)
    await daemon.tell(1 + len(said))
    waiting = (await asked(service, id))["waiting"]
    assert len(waiting) == 64
    assert max(len(name) + len(why) for name, why in waiting.items()) == 1_000
