"""Segments of closed episodes are packed together: what is stored otherwise, and that nothing else
is."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

from api.audit.difference import Difference
from api.cli.main import main
from api.core.settings import Settings
from api.db.database import Database
from api.db.migrate import upgrade
from api.log.frames import texts_in
from api.log.segments import StoredSegments
from api.log.tables import packings
from api.replay.recordings import read_frames
from common.frames import live_packer, unpack
from detectors.model.codec import sha256
from tests.api.audit.audited import STEPS, differences, sign, tamper, told, whole
from tests.api.service import Service, Store, events, frames, running

SAID = whole(*STEPS)
COUNT = -(-len(SAID) // 3)
READ: dict[str, str] = {
    "events": "/events",
    "a page of them": "/events?after=4&limit=3",
    "its trajectory": "/trajectory",
    "its rewards": "/steps/1/reward",
    "its row": "",
    "its blame": "/blame",
}


async def pack(service: Service, after_s: float = 0.0) -> int:
    """Sign what is closed, and pack what may be packed; how many rows of segments are left."""
    await sign(service)
    await service.app.state.parts.packing.turn(after_s)
    return await service.rows("segments")


async def recorded(service: Service, id: str) -> bytes:
    return (await service.get(f"/v1/episodes/{id}/recording")).content


def digests(recording: bytes) -> list[str]:
    return [segment.digest for segment in read_frames(recording, "it")]


async def test_what_is_read_is_what_was_sent(service: Service, tmp_path: Path) -> None:
    """The same answers, the same texts and digests in the recording, and verification finds
    nothing."""
    id = await told(service)
    await sign(service)
    before = {
        name: (await service.get(f"/v1/episodes/{id}{path}")).json() for name, path in READ.items()
    }
    sent = await recorded(service, id)
    assert await service.rows("segments") == COUNT
    assert await pack(service) == 1
    assert await service.rows("packings") == 0
    after = {
        name: (await service.get(f"/v1/episodes/{id}{path}")).json() for name, path in READ.items()
    }
    assert after == before
    packed = await recorded(service, id)
    assert digests(packed) == digests(sent)
    assert len(packed) < len(sent)
    assert await differences(service) == []
    file = tmp_path / "it.mrec"
    file.write_bytes(packed)
    assert main(["recording", "verify", str(file)]) == 0


async def test_a_daemon_that_lost_the_answer_is_acknowledged(service: Service) -> None:
    """Each segment again is the same segment; another one in its place is a fork."""
    id, token = await service.open()
    made = await service.tell(id, token, *SAID, sizes=[3] * len(SAID))
    assert await pack(service) == 1
    for frame in made:
        answer = await service.append(id, frame, token)
        assert answer.status_code == 200, answer.text
        assert answer.json()["through"] == len(SAID)
    other = frames(events(id, *SAID, first=1), [2])[0]
    assert (await service.append(id, other, token)).status_code == 409


async def _still_open(service: Service) -> None:
    await told(service, *STEPS[:2], close=False)
    await sign(service)


async def _unsigned(service: Service) -> None:
    await told(service)


async def _just_signed(service: Service) -> None:
    await told(service)
    await sign(service)


WAITING: dict[str, tuple[Callable[[Service], Awaitable[None]], float]] = {
    "an open episode": (_still_open, 0.0),
    "one that is not signed yet": (_unsigned, 0.0),
    "one that was signed just now": (_just_signed, 60.0),
}


@pytest.mark.parametrize("case", WAITING)
async def test_what_is_not_packed_yet(service: Service, case: str) -> None:
    make, after_s = WAITING[case]
    await make(service)
    before = await service.rows("segments")
    await service.app.state.parts.packing.turn(after_s)
    assert await service.rows("segments") == before > 1


async def test_what_somebody_changed_stays_for_verification_to_name(service: Service) -> None:
    broken, sound = await told(service), await told(service)
    await sign(service)
    await tamper(
        service,
        "UPDATE segments SET digest = :digest WHERE episode = :id AND first = 4",
        digest="0" * 64,
        id=broken,
    )
    assert await pack(service) == COUNT + 1
    found: list[Difference] = await differences(service)
    assert [(one.episode, one.what) for one in found if "digest" in one.what] == [
        (broken, "segment 4.digest")
    ]
    assert await service.rows("packings") == 0
    assert digests(await recorded(service, sound))


async def test_an_edit_within_a_pack_is_named(service: Service) -> None:
    await told(service)
    assert await pack(service) == 1
    row = await service.app.state.parts.database.first(text("SELECT frame FROM segments"))
    texts = list(texts_in(bytes(row.frame)))
    forged = texts[1].replace(b"http://shop.test/", b"http://shop.best/")
    assert forged != texts[1]
    await tamper(
        service,
        "UPDATE segments SET frame = :frame",
        frame=frames_of(texts[0], forged, *texts[2:]),
    )
    assert [one.what for one in await differences(service)][:1] == ["segment 7.prev"]


def frames_of(*texts: bytes) -> bytes:
    """One frame of these texts."""
    return live_packer().pack(b"".join(texts))


async def test_who_reads_while_it_is_packed_reads_each_segment_once(service: Service) -> None:
    id = await told(service)
    expected = [unpack(frame) async for frame in _stored(service).frames(id)]
    reading = _stored(service).frames(id)
    begun = [await anext(reading) for _ in range(2)]
    assert await pack(service) == 1
    rest = [frame async for frame in reading]
    texts = [text for frame in (*begun, *rest) for text in texts_in(frame)]
    assert texts == expected


def _stored(service: Service) -> StoredSegments:
    stored: StoredSegments = service.app.state.parts.segments
    return stored


_KILLED_AT = """
import asyncio, os, signal, sys
from sqlalchemy import event
from api.core.settings import Settings
from api.db.database import Database
from api.log.packing import Packing
from api.log.segments import StoredSegments
from pathlib import Path

async def main(folder, url, word):
    database = Database(Settings(Path(folder), url).database)
    def kill(conn, cursor, statement, *rest):
        if statement.startswith(word):
            os.kill(os.getpid(), signal.SIGKILL)
    event.listen(database.writer.sync_engine, "before_cursor_execute", kill)
    await Packing(database, StoredSegments(database)).turn(0.0)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("word", ["DELETE FROM packings", "INSERT INTO segments"])
async def test_a_packer_that_is_killed_loses_nothing(store: Store, word: str) -> None:
    async with running(store) as service:
        id = await told(service)
        await sign(service)
        sent = digests(await recorded(service, id))
    arguments = [sys.executable, "-c", _KILLED_AT, str(store.folder), store.url, word]
    ended = await asyncio.to_thread(
        subprocess.run, arguments, env={**os.environ}, capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    async with running(store) as service:
        assert await service.rows("segments") == COUNT
        assert digests(await recorded(service, id)) == sent
        assert await pack(service) == 1
        assert digests(await recorded(service, id)) == sent
        assert await differences(service) == []


async def test_the_older_schema_has_a_row_a_segment_again(store: Store) -> None:
    async with running(store) as service:
        id = await told(service)
        sent = digests(await recorded(service, id))
        assert await pack(service) == 1
    database = Database(Settings(store.folder, store.url).database)
    async with database.write() as conn:
        await conn.run_sync(_downgrade)
    rows = await database.all(text("SELECT digest, frame FROM segments ORDER BY first"))
    assert (
        [row.digest for row in rows] == [sha256(unpack(bytes(row.frame))) for row in rows] == sent
    )
    await upgrade(database)
    assert [row.episode for row in await database.all(packings.select())] == [id]
    await database.close()


def _downgrade(connection: Any) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[2] / "migrations"))
    config.attributes["connection"] = connection
    command.downgrade(config, "0017")
