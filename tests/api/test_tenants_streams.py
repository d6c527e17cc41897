"""Streams and files that are sent in pieces: their ids tell nothing of other tenants, and they end
with the token and with the episode."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from api.core.errors import GoneError, ProblemError, UnauthorizedError
from api.live.stream_ids import StreamIds
from api.live.streams import KINDS, WatchQuery
from api.log.arrivals import START, LogPlace
from api.ors import streaming
from api.pages.zipping import whole
from api.rescoring.corpus import Corpus, CorpusSelection
from tests.api.daemon import Daemon
from tests.api.service import ADMIN, TASK, Service, Store, running, until
from tests.api.test_streams import Told, read
from tests.api.test_tenants import tenant, worked
from tests.support.logs import clicked, episode, went

SAID = episode([went("/cart")], [clicked("Buy")])
ALL = frozenset(KINDS)
KEY = bytes(range(64))
PATIENCE_S = 60.0


def test_an_id_is_read_by_the_tenant_that_it_was_given_to_and_by_nobody_else() -> None:
    ids, place = StreamIds(KEY), LogPlace(7, 12_345)
    given = ids.of_event("a", place, 6).decode()
    assert ids.read("a", given) == (place, 6)
    assert StreamIds(KEY).of_event("a", place, 6).decode() == given, "at any replica"
    for tenant_, id in (
        ("b", given),
        ("a", given[:-1] + ("b" if given[-1] != "b" else "c")),
        ("a", given.upper()),
        ("a", "7.12345.6"),
        ("a", ""),
        ("a", "é" * 64),
        ("a", "1" * 64),
    ):
        with pytest.raises(ValueError, match="id"):
            ids.read(tenant_, id)
    with pytest.raises(ValueError, match="id"):
        StreamIds(KEY[::-1]).read("a", given)


def test_ids_of_one_place_do_not_show_that_it_is_one() -> None:
    ids = StreamIds(KEY)
    drawn = {ids.of_place("a", START) for _ in range(100)}
    assert len(drawn) == 100
    for id in drawn:
        place, after = ids.read("a", id.decode())
        assert place == START
        assert 2**62 <= after < 2**63


async def taken(frames: AsyncIterator[bytes], count: int) -> list[Told]:
    """The next ``count`` frames of a stream."""
    got: list[Told] = []
    async with asyncio.timeout(PATIENCE_S):
        async for frame in frames:
            told = read(frame)
            if told is not None:
                got.append(told)
            if len(got) == count:
                break
    return got


async def test_the_stream_of_all_does_not_tell_how_much_others_write(service: Service) -> None:
    """By none of its ids, of its own events and of how far it is; and it goes on after each."""
    stranger = await tenant(service, "stranger")
    task = {**TASK, "id": "own/cart"}
    assert (await service.post("/v1/tasks", task, stranger)).status_code == 201
    opened = (await service.post("/v1/episodes", {"task": task["id"]}, stranger)).json()
    for _ in range(3):
        await worked(service)
    await service.tell(opened["episode"], opened["token"], *SAID)
    streams = service.app.state.parts.streams
    streams._heartbeat_s = 0.0
    own = await taken(streams.of_all(WatchQuery("stranger", ALL, {}), START, 0), 12)
    assert own[-1].name == "place"
    last = (await service.app.state.parts.arrivals.last()).position
    for told in own:
        assert len(told.id) == 64
        assert str(last) not in told.id.split("."), told
        place, after = streams.ids.read("stranger", told.id)
        answer = await service.get("/v1/stream", headers={"last-event-id": told.id})
        assert answer.status_code == 422, "the operator's tenant was not given it"
        again = streams.of_all(WatchQuery("stranger", ALL, {}), place, after)
        assert (await taken(again, 1))[0].name in (*KINDS, "place")


class Pieces(NamedTuple):
    """What an answer's connection carried: the body, and what cut it off."""

    status: int
    body: bytes
    cut: BaseException | None


async def sent(
    service: Service, path: str, headers: dict[str, str], between: Callable[[], Awaitable[Any]]
) -> Pieces:
    """GET ``path`` in pieces; ``between`` happens after the first of them."""
    status, body, pieces = 0, b"", 0
    address, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": address,
        "raw_path": address.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "server": ("service.test", 80),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, body, pieces
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message.get("body"):
            body, pieces = body + message["body"], pieces + 1
            if pieces == 1:
                await between()

    app = asyncio.create_task(service.app(scope, receive, send))
    await asyncio.wait({app}, timeout=PATIENCE_S)
    return Pieces(status, body, app.exception())


def problem(cut: BaseException | None) -> BaseException | None:
    """What the handler raised, whatever the framework made of it."""
    while cut is not None and not isinstance(cut, ProblemError):
        cut = cut.exceptions[0] if isinstance(cut, BaseExceptionGroup) else cut.__cause__
    return cut


FILES = (
    "/v1/episodes/{id}/recording",
    "/episodes/export?format=csv",
    "/episodes/export?format=recordings",
)


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("revoked", [True, False])
async def test_a_file_is_cut_off_with_its_token(
    service: Service, path: str, revoked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning never passes for the whole, whatever pieces it is sent in."""
    monkeypatch.setattr("api.pages.zipping.PIECE", 64)
    id, key = await service.open()
    await service.tell(id, key, *SAID, sizes=[2, 2])
    tokens = service.app.state.parts.tokens
    of, token = await tokens.create("read", "")
    headers = {"authorization": f"Bearer {token}", "cookie": f"milestoned={token}"}

    async def between() -> None:
        if revoked:
            assert await tokens.revoke(of)

    got = await sent(service, path.format(id=id), headers, between)
    assert got.status == 200
    if revoked:
        assert isinstance(problem(got.cut), UnauthorizedError)
    else:
        assert got.cut is None
    assert bool(got.body)


async def test_a_recording_whose_episode_is_deleted_meanwhile_is_cut_off(service: Service) -> None:
    """Its beginning with a checksum would verify as a sound recording of less."""
    id, key = await service.open()
    await service.tell(id, key, *SAID, sizes=[1] * len(SAID))

    async def between() -> None:
        gone = await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "x"})
        assert gone.status_code == 200

    headers = {"authorization": f"Bearer {ADMIN}"}
    got = await sent(service, f"/v1/episodes/{id}/recording", headers, between)
    assert isinstance(problem(got.cut), GoneError)


async def test_an_episode_that_is_deleted_while_it_is_exported_is_left_out(
    service: Service,
) -> None:
    kept, deleted = [(await service.open()) for _ in range(2)]
    for id, key in (kept, deleted):
        await service.tell(id, key, *SAID)
    corpus = Corpus(service.app.state.parts.database)
    rows = [row async for row in corpus.rows(CorpusSelection())]
    assert len(rows) == 2
    gone = await service.call("DELETE", f"/v1/episodes/{deleted[0]}", params={"reason": "x"})
    assert gone.status_code == 200
    assert [one.row.id async for one in whole(corpus, rows)] == [kept[0]]
    answer = await service.get(
        "/episodes/export?format=recordings", None, headers={"cookie": f"milestoned={ADMIN}"}
    )
    with zipfile.ZipFile(io.BytesIO(answer.content)) as pack:
        assert pack.namelist() == [f"{kept[0]}.mrec"]


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
async def test_the_stream_of_a_call_ends_with_its_token(
    store: Store, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the word that the call ended; the call goes on, for whoever may ask for it."""
    monkeypatch.setattr(streaming, "PING_S", 0.01)
    async with running(store) as service:
        parts = service.app.state.parts
        parts.open_reward.lifecycle.start_ms = 0
        id, key = await service.open()
        await Daemon(service, id, key, {}).obey()  # it began, and does nothing more
        of, token = await parts.tokens.create("trainer", "")
        spec = {"task_spec": {"episode": id, "wait_ms": 50_000}}
        session = {"x-session-id": "s-1"}
        assert (await service.post("/ors/create", spec, token, headers=session)).status_code == 200
        value = token if header == "x-api-key" else f"Bearer {token}"
        body = {"name": "step", "input": {"action": {"click": 1}}}
        calling = asyncio.create_task(
            service.call(
                "POST", "/ors/shop/call", None, json=body, headers={**session, header: value}
            )
        )
        try:
            await until(lambda: bool(parts.open_reward.calls._running))
            assert await parts.tokens.revoke(of)
            async with asyncio.timeout(PATIENCE_S):
                answer = await calling
        finally:
            calling.cancel()
            with suppress(asyncio.CancelledError):
                await calling
        assert answer.status_code == 200
        assert "event: task_id" in answer.text
        assert "event: end" not in answer.text
        assert len(parts.open_reward.calls._running) == 1


async def test_the_fleets_page_counts_over_all_tenants_for_the_operator_alone(
    service: Service,
) -> None:
    await worked(service)
    stranger = await tenant(service, "stranger")
    for token, is_shown in ((ADMIN, True), (stranger, False)):
        page = await service.get("/fleet", None, headers={"cookie": f"milestoned={token}"})
        assert ("Segment made durable in" in page.text) == is_shown
