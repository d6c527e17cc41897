"""What is another tenant's reaches no page, no export and no stream that is open while it is
written, over the wire."""

from __future__ import annotations

import asyncio
import inspect
import io
import re
import socket
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import uvicorn
from fastapi.routing import APIRoute

import api
from api.auth.store import OPERATOR, Terms
from api.pages import fleet
from tests.api.service import ADMIN, TASK, Service, Store, running, until
from tests.api.test_tenants import CANARY, nobodys, tenant, worked
from tests.api.walk import NOT_ALIKE, Named, calls
from tests.support.logs import clicked, episode, went

ROOT = Path(api.__file__).parent
PATIENCE_S = 60.0
SAID = episode([went("/cart")], [clicked("Buy")])
TENANTS_OWN = {**TASK, "id": "own/cart"}


class Held:
    """A stream that somebody holds open: what it told so far, and whether it ended."""

    def __init__(
        self, http: httpx.AsyncClient, path: str, token: str, headers: dict[str, str]
    ) -> None:
        page = not path.startswith("/v1/")
        said = {"cookie": f"milestoned={token}"} if page else {"authorization": f"Bearer {token}"}
        self.text = ""
        self.opened = asyncio.Event()
        self._task = asyncio.create_task(self._run(http, path, said | headers))

    async def _run(self, http: httpx.AsyncClient, path: str, headers: dict[str, str]) -> None:
        async with http.stream("GET", path, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            assert answer.headers["content-type"].startswith("text/event-stream")
            self.opened.set()
            async for text in answer.aiter_text():
                self.text += text

    def words(self) -> int:
        """How many events it told, those aside that say how far it is."""
        return self.text.count("event: ") - self.text.count("event: place\n")

    async def has(self, count: int) -> None:
        """Return once it told so many."""
        await until(lambda: self.words() >= count)

    async def ended(self) -> None:
        """Return once it is at its end."""
        async with asyncio.timeout(PATIENCE_S):
            await self._task

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class Wire:
    """The application on a socket, and the streams that are held open at it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._held: list[Held] = []

    async def hold(self, path: str, token: str, **headers: str) -> Held:
        """Open a stream; it is open when this returns."""
        held = Held(self._http, path, token, headers)
        self._held.append(held)
        async with asyncio.timeout(PATIENCE_S):
            await held.opened.wait()
        return held

    async def leave(self) -> None:
        for held in self._held:
            await held.leave()


@asynccontextmanager
async def on_a_socket(service: Service) -> AsyncIterator[Wire]:
    """An ASGI client in this process gives an answer only when it is whole: streams need a
    socket."""
    config = uvicorn.Config(
        service.app, lifespan="off", log_level="warning", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running_server = asyncio.create_task(server.serve(sockets=[listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as http:
            wire = Wire(http)
            try:
                yield wire
            finally:
                await wire.leave()
                server.should_exit = True
                await running_server


STREAMS = {
    "/v1/stream": "/v1/stream",
    "/v1/episodes/{episode}/stream": "/v1/episodes/{episode}/stream",
    "/fleet/live": "/fleet/live",
    "/episodes/{episode}/live": "/episodes/{episode}/live?after=99",
}
"""Every route that streams, and how it is asked for."""


CALLS = {"/ors/create_session", "/ors/{environment}/call", "/ors/{environment}/score_group"}
"""Streams of the answer to one call, which end with it."""
FILES = {"/v1/episodes/{episode}/recording", "/episodes/export", "/label/preferences.zip"}
"""What is sent in pieces and is no stream of events."""


async def test_the_tables_have_every_route_that_streams(service: Service) -> None:
    """And each is sent by what knows whether its token is still in force."""
    streams, files = set(), set()
    for route in service.app.routes:
        if isinstance(route, APIRoute):
            source = inspect.getsource(route.endpoint)
            if re.search(r"(stream|authorized)\.response\(", source):
                streams.add(route.path)
            if re.search(r"(stream|authorized)\.file\(|stream_archive\(", source):
                files.add(route.path)
    assert streams == set(STREAMS) | CALLS
    assert files == FILES
    senders = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if re.search(r"\bStreamingResponse\(", path.read_text())
    }
    assert senders == {"http/streams.py"}


async def test_streams_that_are_open_tell_nothing_of_another_tenant(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even that something happened: what comes by the clock alone is put off for an hour."""
    monkeypatch.setattr(fleet, "EVERY_S", 3_600.0)
    async with running(store) as service, on_a_socket(service) as wire:
        stranger = await tenant(service, "stranger")
        assert (await service.post("/v1/tasks", TENANTS_OWN, stranger)).status_code == 201
        opened = (await service.post("/v1/episodes", {"task": TENANTS_OWN["id"]}, stranger)).json()
        own, key = opened["episode"], opened["token"]
        theirs = {
            name: await wire.hold(path, stranger, **headers)
            for name, path, headers in (
                ("all", "/v1/stream", {}),
                ("all, from the beginning", "/v1/stream", {"last-event-id": "0"}),
                ("rewards", "/v1/stream?kinds=reward", {}),
                ("the fleet", "/fleet/live", {}),
                ("its episode", f"/v1/episodes/{own}/stream", {}),
                ("its episode's page", f"/episodes/{own}/live?after=0", {}),
            )
        }
        mine = await wire.hold("/v1/stream", ADMIN)
        my_fleet = await wire.hold("/fleet/live", ADMIN)
        await until(lambda: service.app.state.parts.notifier.waiting == len(theirs) + 2)
        ids = []
        for count in (1, 2):
            told = my_fleet.words()
            ids.append((await worked(service))["episode"])
            await until(lambda count=count: mine.text.count('"episode.closed"') == count)  # type: ignore[misc]
            await my_fleet.has(told + 1)
        assert CANARY in mine.text
        assert {name: held.text for name, held in theirs.items() if held.words()} == {}
        await service.tell(own, key, *SAID)
        for held in theirs.values():
            await held.has(1)
        for name, held in theirs.items():
            for secret in (CANARY, *ids):
                assert secret not in held.text, name
        assert own not in mine.text


@pytest.mark.parametrize("route", STREAMS)
async def test_a_token_that_is_revoked_ends_the_streams_that_it_opened(
    store: Store, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the next word or heartbeat, and nothing that is written after it is told."""
    monkeypatch.setattr(fleet, "EVERY_S", 0.2)
    async with running(store, heartbeat_s=0.2) as service, on_a_socket(service) as wire:
        tokens = service.app.state.parts.tokens
        of, token = await tokens.create("read", "")
        id, key = await service.open()
        held = await wire.hold(STREAMS[route].format(episode=id), token)
        assert await tokens.revoke(of)
        before = held.words()
        await service.tell(id, key, *SAID)
        await held.ended()
        assert held.words() == before


@pytest.mark.slow_where("postgres")
async def test_a_token_that_expires_ends_the_streams_that_it_opened(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "EVERY_S", 0.2)
    async with running(store, heartbeat_s=0.2) as service, on_a_socket(service) as wire:
        id, _ = await service.open()
        terms = Terms(OPERATOR, days=3 / 86_400)
        _, token = await service.app.state.parts.tokens.create("read", "", terms)
        streams = [await wire.hold(path.format(episode=id), token) for path in STREAMS.values()]
        for held in streams:
            await held.ended()


# A refusal shows the beginning of a body that is no JSON, which may be cut within an id.
CUT_ID = re.compile("(?<==)[^=;]*(?=: Invalid JSON)")


def shown(answer: httpx.Response, ids: dict[str, str]) -> str:
    """What a page or an export says, with names for ``ids`` and without what differs between any
    two answers."""
    text = answer.text
    if "zip" in answer.headers.get("content-type", ""):
        with zipfile.ZipFile(io.BytesIO(answer.content)) as pack:
            text = "\n".join(
                f"{name}: {pack.read(name).decode('latin-1')}" for name in sorted(pack.namelist())
            )
    for name, id in ids.items():
        for written in (id, quote(id, safe="")):
            text = text.replace(written, name)
    return NOT_ALIKE.sub("·", CUT_ID.sub("·", text))


PATHS = {
    "episode": "episode",
    "id": "task",
    "step": None,
    "sha256": None,
    "digest": None,
    "name": None,
    "operation": None,
}
"""What the parameters of the pages' paths name; None: nothing that anybody owns."""
QUERIES = (
    "a", "b", "episode", "verify", "first", "task", "label", "policy", "version", "over", "q", "event", "milestone",
    "step", "after_id", "format",
)  # fmt: skip
"""What pages are asked by; each is given ids of the other tenant."""


def addresses(service: Service, theirs: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Every GET of the pages, with the other tenant's ids wherever one may stand."""
    found: list[tuple[str, dict[str, str]]] = []
    for route in service.app.routes:
        if (
            not isinstance(route, APIRoute)
            or route.include_in_schema
            or "GET" not in (route.methods or ())
        ):
            continue
        names = set(route.param_convertors)
        assert names <= set(PATHS), f"{route.path}: say in PATHS what its parameters name"
        values = {name: theirs.get(PATHS[name] or "", "0") for name in names}
        path = route.path_format.format(**values)
        if route.path.endswith("/live"):
            continue  # of those that never end, the tests above
        found.append((path, {}))
        found += [(path, {name: id}) for name in QUERIES for id in theirs.values()]
    return found


@pytest.mark.slow_where("sqlite")
async def test_no_page_and_no_export_answers_for_another_tenants_id_but_as_for_nobodys(
    service: Service,
) -> None:
    theirs = await worked(service)
    checkpointer = service.app.state.parts.checkpointer
    await checkpointer.stop()
    await checkpointer.turn(
        head=True
    )  # the head over all episodes is everybody's: it is not to change meanwhile
    stranger = await tenant(service, "stranger")
    fake = {name: nobodys(id) for name, id in theirs.items()}

    async def asked(
        path: str, query: dict[str, str], token: str, ids: dict[str, str]
    ) -> tuple[int, str]:
        headers = {"accept": "text/html", "cookie": f"milestoned={token}"}
        answer = await service.get(path, None, params=query, headers=headers)
        return answer.status_code, shown(answer, ids)

    told_to_owner = 0
    for (path, query), (other, fake_query) in zip(
        addresses(service, theirs), addresses(service, fake), strict=True
    ):
        found = await asked(path, query, stranger, theirs)
        assert found == await asked(other, fake_query, stranger, fake), (path, query)
        assert found[0] < 500, (path, query)
        assert CANARY not in found[1], (path, query)
        if theirs["episode"] in path:
            assert found[0] == 404, path
            told_to_owner += (await asked(path, query, ADMIN, theirs))[0] == 200
    assert told_to_owner > 20, "the same addresses answer their owner"


@pytest.mark.slow_where("postgres")
async def test_nothing_that_a_tenant_reads_changes_by_what_others_do(service: Service) -> None:
    """No count, total or cursor of it, on any page and on any route that reads; but for the signed
    head over all episodes, which is everybody's and is not made meanwhile."""
    checkpointer = service.app.state.parts.checkpointer
    await checkpointer.stop()
    stranger = await tenant(service, "stranger")
    assert (await service.post("/v1/tasks", TENANTS_OWN, stranger)).status_code == 201
    opened = (await service.post("/v1/episodes", {"task": TENANTS_OWN["id"]}, stranger)).json()
    await service.tell(opened["episode"], opened["token"], *SAID)
    await checkpointer.turn(head=True)
    own = {"episode": opened["episode"], "task": TENANTS_OWN["id"]}
    document = (await service.get("/openapi.json", None)).json()

    async def look() -> dict[str, object]:
        found: dict[str, object] = {}
        for name, id in own.items():
            for call in calls(document, Named(name, id)):
                if call.method == "GET" and not call.path.endswith("/stream"):
                    found[f"{name} {call.path}"] = await call.by(service, stranger)
        for path, query in addresses(service, own):
            if not query:
                headers = {"accept": "text/html", "cookie": f"milestoned={stranger}"}
                answer = await service.get(path, None, headers=headers)
                found[path] = (answer.status_code, NOT_ALIKE.sub("·", answer.text))
        return found

    before = await look()
    for _ in range(2):
        await worked(service)
    await checkpointer.turn()
    after = await look()
    assert {name for name in before if before[name] != after[name]} == set()
    assert len(before) > 80


async def test_forms_of_the_pages_change_nothing_of_another_tenants(service: Service) -> None:
    theirs = await worked(service)
    stranger = await tenant(service, "stranger")
    views = [
        f"/v1/episodes/{theirs['episode']}/trajectory",
        f"/v1/episodes/{theirs['episode']}/verdicts",
        "/v1/tasks",
    ]
    before = [(await service.get(path)).json() for path in views]
    posts = [
        route.path
        for route in service.app.routes
        if isinstance(route, APIRoute)
        and not route.include_in_schema
        and "POST" in (route.methods or ())
    ]
    for path in posts:
        for id in theirs.values():
            answers = []
            for one in (id, nobodys(id)):
                fields: dict[str, Any] = dict.fromkeys(
                    ("first", "second", "task", "episode", "id", "text"), one
                )
                headers = {"accept": "text/html", "cookie": f"milestoned={stranger}"}
                answer = await service.call(
                    "POST", path, None, data=fields | {"choice": "yes"}, headers=headers
                )
                answers.append((answer.status_code, shown(answer, {"ID": one})))
            assert answers[0] == answers[1], path
            assert CANARY not in answers[0][1]
    assert [(await service.get(path)).json() for path in views] == before
