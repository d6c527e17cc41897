"""The real application in this process, spoken to over its wire, and segments made of what is
said."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx
from sqlalchemy import text

from api.app import create_app
from api.cascade.stages import Stages
from api.core.settings import Limits, Settings, StageSettings, TelemetrySettings
from common.frames import live_packer
from detectors.model.codec import GENESIS, encode_segment, sha256
from detectors.model.types import Event
from tests.support.logs import Said, log
from tests.support.statements import share

ADMIN = "mt_admin-of-the-tests"
SECRET = "the secret of the tests"
T = TypeVar("T")
share()

TASK: dict[str, Any] = {
    "id": "shop/cart",
    "version": "1",
    "instruction": "Put it into the cart.",
    "origin": "http://shop.test",
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
        {"id": "buy", "when": {"element_clicked": {"role": "button", "name": "Buy"}}},
        {"id": "done", "when": {"goal": {"requires": ["cart", "buy"]}}},
    ],
}


@dataclass(slots=True)
class Service:
    """A client of the running application, with the words that tests use."""

    http: httpx.AsyncClient
    app: Any

    async def call(
        self, method: str, path: str, token: str | None = ADMIN, **more: Any
    ) -> httpx.Response:
        """One request as ``token``."""
        headers = {
            **({"authorization": f"Bearer {token}"} if token else {}),
            **more.pop("headers", {}),
        }
        return await self.http.request(method, path, headers=headers, **more)

    async def get(self, path: str, token: str | None = ADMIN, **more: Any) -> httpx.Response:
        """A GET."""
        return await self.call("GET", path, token, **more)

    async def metrics(self) -> dict[str, float]:
        """What /metrics tells, by name and labels."""
        lines = (await self.get("/metrics")).text.splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")
        }

    async def post(
        self, path: str, body: Any = None, token: str | None = ADMIN, **more: Any
    ) -> httpx.Response:
        """A POST of JSON."""
        return await self.call("POST", path, token, json={} if body is None else body, **more)

    async def append(self, episode: str, frame: bytes, token: str) -> httpx.Response:
        """A daemon's POST of one frame."""
        return await self.call("POST", f"/v1/episodes/{episode}/events", token, content=frame)

    async def open(self, task: dict[str, Any] | None = None) -> tuple[str, str]:
        """A new episode of ``task`` and its append token."""
        task = task or TASK
        assert (await self.post("/v1/tasks", task)).status_code in (200, 201)
        opened = await self.post("/v1/episodes", {"task": task["id"]})
        assert opened.status_code == 201, opened.text
        return opened.json()["episode"], opened.json()["token"]

    async def tell(
        self, episode: str, token: str, *said: Said, sizes: Iterable[int] = ()
    ) -> list[bytes]:
        """Post what was said as segments (one by default) and give the frames."""
        made = frames(events(episode, *said), sizes)
        for frame in made:
            answer = await self.append(episode, frame, token)
            assert answer.status_code == 200, answer.text
        return made

    async def reward(self, episode: str, step: int, **query: Any) -> httpx.Response:
        """A reward."""
        return await self.get(f"/v1/episodes/{episode}/steps/{step}/reward", params=query)

    async def rows(self, table: str) -> int:
        """How many rows a table has."""
        answer = await self.app.state.parts.database.first(text(f"SELECT count(*) FROM {table}"))
        return int(answer[0])


async def until(condition: Callable[[], bool]) -> None:
    """Return once ``condition`` holds; fail after a minute."""
    latest = time.monotonic() + 60
    while time.monotonic() < latest:
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("what was waited for did not come")


async def eventually(look: Callable[[], Awaitable[T]]) -> T:
    """What ``look`` finds, once it finds something; fails after a minute."""
    latest = time.monotonic() + 60
    while time.monotonic() < latest:
        if found := await look():
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("what was waited for did not come")


class Store(NamedTuple):
    """Where a service keeps its data: its own folder, and a database's address (empty: SQLite in
    the folder)."""

    folder: Path
    url: str = ""


@asynccontextmanager
async def running(
    store: Store,
    checkpoints: str = "",
    tasks_need_tests: bool = False,
    tasks_need_attack: bool = False,
    stages: Stages | None = None,
    cascade: StageSettings | None = None,
    workers: int = 0,
    telemetry: TelemetrySettings | None = None,
    **limits: Any,
) -> AsyncIterator[Service]:
    """The application over the database of ``store``."""
    kept = Limits(
        **{"lease_ms": 50, **limits}
    )  # most tests' sandboxes do not wait on an open channel
    settings = Settings(
        store.folder,
        store.url,
        secret=SECRET,
        admin_token=ADMIN,
        checkpoints=checkpoints,
        tasks_need_tests=tasks_need_tests,
        tasks_need_attack=tasks_need_attack,
        workers=workers,
        limits=kept,
        stages=cascade or StageSettings(),
        telemetry=telemetry or TelemetrySettings(),
    )
    app = create_app(settings, stages)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://service.test", timeout=60
        ) as http:
            yield Service(http, app)


def events(episode: str, *said: Said, first: int = 1) -> list[Event]:
    """Numbered events of ``episode``."""
    return log(*said, episode=episode, first=first)


def texts(said: Sequence[Event], sizes: Iterable[int] = (), prev: str = GENESIS) -> list[bytes]:
    """Chained segment texts of ``sizes`` events, the last one of what is left."""
    out: list[bytes] = []
    start = 0
    for size in itertools.chain(sizes, (len(said),)):
        part = said[start : start + size]
        if part:
            out.append(encode_segment(part, prev))
            prev = sha256(out[-1])
        start += size
    return out


def frames(said: Sequence[Event], sizes: Iterable[int] = (), prev: str = GENESIS) -> list[bytes]:
    """The same, compressed: what a daemon sends."""
    packer = live_packer()
    return [packer.pack(text) for text in texts(said, sizes, prev)]
