"""Tells the other replicas what moved, over Postgres' LISTEN and NOTIFY, so that whoever waits
there looks again.

A word is sent after its commit, so a replica that is killed in between sends none: those who wait
look again by themselves every `RECHECK_S` seconds (api/core/notify.py). After a lost connection
everybody looks again at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterable

import asyncpg
import orjson
import structlog
from sqlalchemy.engine import URL

from api.core import background
from api.core.notify import Notifier, Payload, Topic
from detectors.model.optional_values import first_or_none

CHANNEL = "milestoned"
RECHECK_S = 30.0
AGAIN_S = 1.0
"""How long to wait before a lost connection is opened again, in seconds."""
PAUSE_S = 0.005
"""From one notification, a transaction of its own, to the next; changes meanwhile share one."""
MAX_BYTES = 7_000
"""Of one notification, of which Postgres takes less than 8,000."""
MAX_PAYLOAD_BYTES = 1_000
"""Of a change with a larger payload the other replicas are told that it came, and look."""
MAX_WAITING = 10_000
"""Changes that wait with their payloads, as while the connection is lost: of further ones the
other replicas are told that they came."""

log = structlog.get_logger()


class Broadcast:
    """One replica's connection for words to and from the others."""

    def __init__(self, url: URL, notifier: Notifier) -> None:
        self._dsn = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._notifier = notifier
        self._me = uuid.uuid4().hex
        self._waiting: dict[bytes, None] = {}  # encoded: topic and payload
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen, and send what the notifier is told from now on."""
        listening = asyncio.Event()
        self._task = asyncio.create_task(self._keep(listening))
        self._notifier.spread(self._send, RECHECK_S)
        with contextlib.suppress(TimeoutError):  # without the others' words one looks by oneself
            await asyncio.wait_for(listening.wait(), AGAIN_S)

    async def stop(self) -> None:
        """Close the connection and return once it is closed."""
        await background.end(self._task)

    def _send(self, topic: Topic, payload: Payload | None) -> None:
        encoded = orjson.dumps(topic if payload is None else (*topic, payload))
        if len(encoded) > MAX_PAYLOAD_BYTES or len(self._waiting) >= MAX_WAITING:
            encoded = orjson.dumps(topic)
        self._waiting[encoded] = None
        self._news.set()

    async def _keep(self, listening: asyncio.Event) -> None:
        """Listen to other replicas, and again after each loss of the connection; then everybody
        looks for news."""
        while True:
            try:
                await self._serve(listening)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning(
                    "Other replicas can't be heard now.", why=f"{type(error).__name__}: {error}"
                )
            self._notifier.wake_all()
            await asyncio.sleep(AGAIN_S)

    async def _serve(self, listening: asyncio.Event) -> None:
        """Tell other replicas what changed here, several topics at once, while the connection
        stands."""
        conn = await asyncpg.connect(self._dsn)
        try:
            await conn.add_listener(CHANNEL, lambda *heard: self._on_notification(str(heard[3])))
            conn.add_termination_listener(lambda _: self._news.set())
            listening.set()
            while not conn.is_closed():
                await self._news.wait()
                self._news.clear()
                while self._waiting:
                    await self._notify(conn)
                    await asyncio.sleep(PAUSE_S)
        finally:
            with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await conn.close(timeout=1.0)

    async def _notify(self, conn: asyncpg.Connection) -> None:
        """Send the first of the changes that wait; they wait on where that fails."""
        together = _take(self._waiting)
        # Before it is sent: a change that is told again meanwhile is to be sent again, as the
        # others may look between the two.
        for encoded in together:
            del self._waiting[encoded]
        payload = orjson.dumps([self._me, list(map(orjson.Fragment, together))]).decode()
        try:
            await conn.execute("SELECT pg_notify($1, $2)", CHANNEL, payload)
        except BaseException:
            self._waiting = dict.fromkeys([*together, *self._waiting])
            raise

    def _on_notification(self, payload: str) -> None:
        """Wake who waits for what another replica told."""
        sender, changes = orjson.loads(payload)
        if sender != self._me:
            for what, episode, *payloads in changes:
                self._notifier.wake((what, episode), first_or_none(payloads))


def _take(waiting: Iterable[bytes]) -> list[bytes]:
    """Return the first of those that wait, as many as one notification may have."""
    taken: list[bytes] = []
    left = MAX_BYTES
    for encoded in waiting:
        left -= len(encoded) + 1
        if left < 0:
            break
        taken.append(encoded)
    return taken
