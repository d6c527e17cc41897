"""What is signed, when, by whom of many, and how it leaves the database; on both databases."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import orjson
import pytest

from api.audit.checkpointer import Checkpointer
from api.audit.delivery import DeliveryError, ToFile, ToUrl, delivery_of
from api.audit.facts import FactReader
from api.audit.note import PublicKey, open_note, parse_checkpoint, split
from api.audit.tree import root_of
from api.core.settings import Settings
from api.core.signing import Signer
from tests.api.audit.audited import STEPS, differences, sign, tamper, told
from tests.api.service import Service, Store, running, until
from tests.support.logs import Said, went


def heads(service: Service, file: Path) -> list[tuple[str, int]]:
    """Origin and size of each note in the file, checked with the service's key."""
    signer = service.app.state.parts.signer
    found = [
        parse_checkpoint(open_note(n, PublicKey(signer.name, signer.public)))
        for n in split(file.read_text())
    ]
    return [(one.origin, one.size) for one in found]


async def test_each_closed_episode_is_signed_and_then_the_head_over_all(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "outside" / "checkpoints"
    async with running(store, checkpoints=str(file)) as service:
        await (
            service.app.state.parts.checkpointer.stop()
        )  # it would sign the first head before the last episode
        closed = [await told(service) for _ in range(3)]
        await told(service, close=False)
        await sign(service)
        found = heads(service, file)
        assert sorted(found[:-1]) == sorted((f"milestoned/episodes/{id}", 4) for id in closed)
        assert found[-1] == ("milestoned", 3)
        await sign(service)
        assert heads(service, file) == found
        assert await service.rows("closings") == 0


async def test_a_leaf_says_what_was_signed_and_the_root_is_over_these_leaves(
    service: Service,
) -> None:
    id = await told(service)
    await sign(service)
    parts = service.app.state.parts
    leaves = [leaf async for leaf in parts.audits.leaves()]
    said = orjson.loads(leaves[0].body)
    row = await parts.episodes.get(id)
    assert (said["episode"], said["head"], said["through"], said["total"]) == (
        id,
        row.head,
        row.through,
        row.total,
    )
    assert said["opened_by"] == row.opened_by
    note = (await parts.audits.notes("milestoned"))[0].note
    head = parse_checkpoint(open_note(note, PublicKey(parts.signer.name, parts.signer.public)))
    assert (head.size, head.root) == root_of(bytes(leaf.body) for leaf in leaves)


async def test_what_was_closed_before_a_crash_is_signed_after_it(
    store: Store, tmp_path: Path
) -> None:
    async with running(store) as service:
        await service.app.state.parts.checkpointer.stop()
        id = await told(service)
        assert await service.rows("closings") == 1
    file = tmp_path / "checkpoints"
    async with running(store, checkpoints=str(file)) as service:
        await sign(service)
        assert (f"milestoned/episodes/{id}", 4) in heads(service, file)
        assert await differences(service, file) == []


async def test_replicas_sign_each_episode_once(store: Store, tmp_path: Path) -> None:
    if not store.url:
        pytest.skip("a data folder of SQLite's has one service")
    file = tmp_path / "checkpoints"
    replica = Store(tmp_path / "replica", store.url)
    (tmp_path / "replica").mkdir()
    (tmp_path / "replica" / "signing.key").write_text(_key(store))
    async with (
        running(store, checkpoints=str(file)) as one,
        running(replica, checkpoints=str(file)) as other,
    ):
        for _ in range(12):
            await told(one)
        for _ in range(5):
            await asyncio.gather(sign(one), sign(other))
        found = heads(one, file)
        episodes = [origin for origin, _ in found if origin != "milestoned"]
        assert (len(episodes), len(set(episodes))) == (12, 12)
        assert await differences(one, file) == []


def _key(store: Store) -> str:
    Signer.load(Settings(store.folder))
    return (store.folder / "signing.key").read_text()


class _Down:
    """An endpoint that refuses until it is up; what it took."""

    def __init__(self) -> None:
        self.up, self.took = False, list[str]()

    async def send(self, note: str) -> None:
        if not self.up:
            raise DeliveryError("down")
        self.took.append(note)

    async def close(self) -> None:
        pass


async def test_what_could_not_be_delivered_is_delivered_later_once(service: Service) -> None:
    await told(service)
    parts, down = service.app.state.parts, _Down()
    await parts.checkpointer.stop()
    checkpointer = Checkpointer(parts.audits, parts.ledger, parts.signer, down, parts.metrics)
    for _ in range(2):
        with pytest.raises(DeliveryError):
            await checkpointer.turn()
    down.up = True
    await checkpointer.turn()
    await checkpointer.turn()
    assert len(down.took) == 2
    assert await parts.audits.undelivered(9) == []


class _Endpoint(BaseHTTPRequestHandler):
    """Refuses the first note, takes the others."""

    took: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.took.append((self.headers["content-type"], body))
        self.send_response(503 if len(self.took) == 1 else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


async def test_an_endpoint_gets_each_note_until_it_acknowledges() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        there = delivery_of(f"http://127.0.0.1:{server.server_port}/notes")
        assert isinstance(there, ToUrl)
        with pytest.raises(DeliveryError, match="answered 503, wanted 2xx"):
            await there.send("note\n")
        await there.send("note\n")
        server.shutdown()
    with pytest.raises(DeliveryError, match="/notes: "):
        await there.send("note\n")
    await there.close()
    assert _Endpoint.took == [("text/plain; charset=utf-8", "note\n")] * 2


async def test_an_episode_that_was_broken_before_it_was_signed_holds_up_no_other(
    service: Service,
) -> None:
    await service.app.state.parts.checkpointer.stop()
    broken = await told(service)
    await tamper(
        service,
        "UPDATE segments SET frame = :f WHERE episode = :id AND first = 4",
        f=b"broken",
        id=broken,
    )
    whole = await told(service)
    await sign(service)
    assert [leaf.episode async for leaf in service.app.state.parts.audits.leaves()] == [whole]
    named = {(one.episode, one.what) for one in await differences(service)}
    assert {(broken, "segment 4"), (broken, "checkpoint"), (broken, "statement")} <= named
    assert {episode for episode, _ in named} == {broken}


async def test_whatever_a_daemon_says_of_a_gap_its_episode_is_signed_and_reported(
    service: Service,
) -> None:
    reason = f"x; event {'9' * 5_000}: y"
    blind: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": reason}),
        went("file:///srv/gold.json"),
    ]
    id = await told(service, blind, *STEPS)
    await sign(service)
    assert [leaf.episode async for leaf in service.app.state.parts.audits.leaves()] == [id]
    totals = (await service.get("/v1/audit/report")).json()["totals"]
    assert (totals["masked_steps"], totals["tamper"]) == (4, 1)


class _NotCounted(FactReader):
    """A fault of ours: it stumbles over what one episode tells."""

    def read(self, text: bytes) -> None:
        if b"/stumble" in text:
            raise KeyError("step")
        super().read(text)


async def test_what_can_not_be_counted_is_signed_all_the_same(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.audit.counting.FactReader", _NotCounted)
    await service.app.state.parts.checkpointer.stop()
    ids = [await told(service, [went("/stumble")]), await told(service)]
    await sign(service)
    assert sorted(
        [leaf.episode async for leaf in service.app.state.parts.audits.leaves()]
    ) == sorted(ids)
    assert await differences(service) == []
    report = (await service.get("/v1/audit/report")).json()
    assert (report["episodes"], [task["closed"] for task in report["tasks"]]) == (
        {"closed": 2},
        [1],
    )


async def test_a_fault_ends_no_signing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next turn comes, and signs."""
    parts = service.app.state.parts
    monkeypatch.setattr(parts.checkpointer.periodic, "retry_s", 0.01)
    pending, failed = parts.audits.pending, 0

    async def fails_once(count: int) -> list[str]:
        nonlocal failed
        failed += 1
        if failed == 1:
            raise RuntimeError("a fault of ours")
        return list(await pending(count))

    await parts.checkpointer.stop()
    monkeypatch.setattr(parts.audits, "pending", fails_once)
    id = await told(service)
    parts.checkpointer.start()
    await until(lambda: failed > 2)
    assert [leaf.episode async for leaf in parts.audits.leaves()] == [id]


async def test_a_file_that_can_not_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DeliveryError, match="directory"):
        await ToFile(tmp_path / "folder").send("note\n")
