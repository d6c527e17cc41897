"""One recording of which four steps of five can't be known, and a service in this process that has
it.

Of five steps the first earns something; then a source is blind, a secret decides, a rule fails, a
judge is silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from api.cascade.stages import Stages
from api.cli.main import main
from api.core.settings import Limits
from api.http.adapters import openenv
from api.http.timeouts import patient
from api.stages.base import Opinion, Question
from api.tasks.plugins import load_plugins
from detectors.model.codec import canonical, sha256
from detectors.sdk.registry import add_foreign
from tests.api.service import ADMIN, Service, Store, running
from tests.detectors.test_total import sample_fragile
from tests.rescoring.corpus import written
from tests.support.logs import Said, clicked, created, episode, filled, titled, went

TASK: dict[str, Any] = {
    "id": "shop/unknown",
    "version": "1",
    "instruction": "Buy it.",
    "origin": "http://shop.test",
    "weights": {"nav": 0.25, "form": 0.25, "file": 0.25, "ui": 0.25},
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "component": "nav"},
        {
            "id": "pin",
            "when": {"field_filled": {"field": "Pin", "value": "4711"}},
            "component": "form",
        },
        {"id": "kept", "when": {"sample_fragile": {"name": "a"}}, "component": "file"},
        {"id": "buy", "when": {"element_clicked": {"name": "Buy"}}, "component": "ui"},
    ],
    "escalation": {"audit": 0, "tiers": ["judge"], "escalate": ["unscored"]},
}
STEPS: list[list[Said]] = [
    [went("/cart")],
    [
        ("gap.began", {"source": "cdp", "reason": "browser gone"}),
        ("gap.ended", {"source": "cdp"}),
        clicked("Buy"),
    ],
    [filled("Pin", None, has_value=True)],
    [created("a", size=0)],
    [titled("Nothing that a rule knows")],
]
STATUS = ["sealed", "unobserved", "unobserved", "unobserved", "escalating"]
PAID = [0.25, None, None, None, None]
"""What each step is worth, wherever somebody asks."""
MASKED = [value is None for value in PAID]


class SilentJudge:
    """A judge that takes every question and answers none."""

    name = "judge"

    def digest(self, question: Question) -> str:
        """Of the question."""
        return sha256(canonical([question.episode, question.step, question.about]))

    async def ask(self, question: Question) -> Opinion:
        """Never."""
        await asyncio.Event().wait()
        raise AssertionError(question)


SOCKET_WAIT_MS = 300
"""How long OpenEnv's socket waits here for the judge that never answers, instead of 45 s."""


@asynccontextmanager
async def recorded(store: Store) -> AsyncIterator[Way]:
    """A service that has the recording. A rule of others that fails on an empty file is installed
    in this process."""
    load_plugins()  # once in a process, and what it found takes the place of ours
    add_foreign({sample_fragile.name: (sample_fragile, "sample==1")})
    usual_ms, openenv.WAIT_MS = openenv.WAIT_MS, SOCKET_WAIT_MS
    try:
        async with running(
            store, stages=Stages({"judge": [SilentJudge()]}, {"model": "off"})
        ) as service:  # type: ignore[list-item]
            id, token = await service.open(TASK)
            await service.tell(id, token, *episode(*STEPS))
            yield Way(service, store, id)
    finally:
        openenv.WAIT_MS = usual_ms
        add_foreign({})


@asynccontextmanager
async def on_a_socket(app: Any) -> AsyncIterator[str]:
    """The application behind a real server on a port of its own, as `milestoned serve` sets it up:
    its address."""
    config = uvicorn.Config(
        app, port=0, http=patient(Limits()), ws="websockets-sansio", log_level="critical", lifespan="off",
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        assert not task.done(), "the server did not start"
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


class Way:
    """The episode, and how to ask about it."""

    def __init__(self, service: Service, store: Store, id: str) -> None:
        self.service, self.store, self.id = service, store, id

    @property
    def parts(self) -> Any:
        """The service's parts."""
        return self.service.app.state.parts

    async def json(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """What a route answers."""
        told = {} if body is None else {"json": body}
        answer = await self.service.call(method, path, **told, **more)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def page(self, path: str, **asked: str) -> httpx.Response:
        """A page, as somebody who is logged in sees it."""
        headers = {"accept": "text/html", "cookie": f"milestoned={ADMIN}"}
        answer = await self.service.get(path, None, params=asked, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer

    async def command(self, *arguments: object) -> int:
        """The command line on the stored data."""
        where = ["--database", self.store.url] if self.store.url else []
        return await asyncio.to_thread(
            main, [str(one) for one in (*arguments, "--data", self.store.folder, *where)]
        )

    async def recording(self, folder: Path) -> tuple[Path, Path]:
        """The recording and its task, as files."""
        file, task = folder / "one.mrec", folder / "one.yaml"
        file.write_bytes((await self.service.get(f"/v1/episodes/{self.id}/recording")).content)
        written(task, TASK)
        return file, task


def of_rewards(documents: list[Any]) -> None:
    """Rewards as the wire has them, step by step."""
    assert [one["step"] for one in documents] == [*range(5)]
    assert [one["reward"] for one in documents] == PAID
    assert [one["mask"] for one in documents] == MASKED
    assert [one["status"] for one in documents] == STATUS
    assert all(set(one["components"].values()) == {None} for one in documents if one["mask"])
    assert all(one["reason"] for one in documents if one["mask"])
