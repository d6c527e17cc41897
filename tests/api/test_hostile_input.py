"""Whatever stands in a path, a query, a header, a form or a body of any route: no 500, and no
nonsense is kept.

The application's own routes are walked. What a route reads of a query or a form is taken from its
OpenAPI description, and from what it asks of the query or the form while it is walked: so a page's
new parameter is walked without being listed anywhere.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

import pytest
from fastapi import Request, Response
from sqlalchemy import String, select
from starlette.datastructures import ImmutableMultiDict

from api.db.base import metadata
from api.pages.viewer import sent_form
from tests.api.service import ADMIN, TASK, Service
from tests.api.walk import Named, Sampler
from tests.support.hostile_values import IN_ADDRESSES, IN_JSON, IN_YAML
from tests.support.logs import episode as logged_episode
from tests.support.logs import went

Name = tuple[str, str]
"""Method and path."""
STREAMS = frozenset(
    ("/v1/stream", "/v1/episodes/{episode}/stream", "/episodes/{episode}/live", "/fleet/live")
)
TWICE = ("/nemo/strict/", "/nemo/ng-rollout/")
"""Where the handlers of /nemo are found again: their bodies are read by the same code."""
SOCKETS = {("GET", "/openenv/ws")}
"""tests/api/test_hostile_socket.py walks these."""
FORM = {"choice": "yes", "step": "0", "text": json.dumps(TASK), "do": "save"}
"""What a form holds beside the field that is walked, and beside an episode and a task."""
HEADERS = (
    (
        *(b"idempotency-key", b"last-event-id", b"milestoned-behind", b"content-type"),
        *(b"accept-encoding", b"accept", b"forwarded", b"if-none-match", b"range", b"referer"),
        *(b"traceparent", b"x-forwarded-for"),
    ),
    (b"origin",),
    (b"authorization", b"cookie", b"host", b"content-length"),
)
"""Those that are sent together: what one of a group refuses hides none of another group."""
HEADER_VALUES = (
    b"9" * 5_000,
    b"\xff\xfe",
    b"1e999",
    b"a\x00b",
    b"http://[",
    b"milestoned=http://[",
)


class Sent(NamedTuple):
    """One request; ``path`` and ``query`` as they stand in the address."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    what: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path[:80]}?{self.query[:80]} {self.what} {self.body[:80]!r}"


async def answered(service: Service, sent: Sent, streams: bool) -> tuple[int, bytes]:
    """Status and body, as the server gives the request to the application; what it raises is a
    599."""
    given = {
        b"authorization": f"Bearer {ADMIN}".encode(), b"cookie": f"milestoned={ADMIN}".encode(),
        b"host": b"service.test",
        b"content-type": b"application/json", **dict(sent.headers),
    }  # fmt: skip
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "http",
        "method": sent.method, "path": unquote(sent.path), "raw_path": sent.path.encode(), "root_path": "",
        "query_string": sent.query.encode(), "headers": list(given.items()), "client": ("127.0.0.1", 1),
        "server": ("service.test", 80), "state": {},
    }  # fmt: skip
    gone, begun = asyncio.Event(), asyncio.Event()
    messages = [{"type": "http.request", "body": sent.body, "more_body": False}]
    status, said = 0, bytearray()

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            begun.set()
        said.extend(message.get("body", b""))

    work = asyncio.create_task(service.app(scope, receive, send))
    if streams:
        first = asyncio.create_task(begun.wait())
        await asyncio.wait({work, first}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
        gone.set()
        first.cancel()
    done, _ = await asyncio.wait({work}, timeout=60)
    if not done:
        work.cancel()
        return 598, b"no answer within 60 s"
    error = work.exception()
    return (599, repr(error).encode()) if error is not None else (status, bytes(said))


def routes_of(app: Any) -> set[Name]:
    """Every route, with each of its methods; a socket is a GET."""
    found: set[Name] = set()
    for route in app.routes:
        for one in [route] if hasattr(route, "path") else route.effective_candidates():
            found |= {(method, one.path) for method in getattr(one, "methods", None) or {"GET"}}
    return {(method, path) for method, path in found if method != "HEAD"}


class NamesRead:
    """The names that the application asked of a query or a form since the last `clear`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._names: set[str] = set()
        for method in ("__getitem__", "__contains__", "getlist"):
            asked = getattr(ImmutableMultiDict, method)
            patch.setattr(ImmutableMultiDict, method, self._noting(asked))

    def _noting(self, asked: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def ask(params: Any, name: Any) -> Any:
            self._names.add(name)
            return asked(params, name)

        return ask

    def clear(self) -> None:
        self._names.clear()

    def each(self, names: Iterable[str] = ()) -> Iterator[str]:
        """Yield ``names``, and each name that is asked meanwhile, once."""
        self._names.update(names)
        done: set[str] = set()
        while left := sorted(self._names - done):
            done.add(left[0])
            yield left[0]


class Walk:
    """Makes every request to a service with an open episode; each is to be sent before the next is
    asked for."""

    def __init__(self, app: Any, ids: dict[str, str], read: NamesRead) -> None:
        self._document, self._ids, self._read = app.openapi(), ids, read
        self._pages = pages_of(app)

    def requests(self) -> Iterator[Sent]:
        told = [
            (m.upper(), path, one)
            for path, item in self._document["paths"].items()
            for m, one in item.items()
        ]
        for method, path, operation in told:
            if method != "DELETE":
                yield from self._documented(method, path, operation)
        for method, path in self._pages:
            yield from self._of_addresses(method, path)
            if method == "POST":
                yield from self._forms(path)
        for method, path, operation in told:
            if method == "DELETE":  # last: of what is gone everything is answered alike
                yield from self._documented(method, path, operation)

    def _address(self, path: str) -> str:
        return re.sub(r"\{(\w+)(:\w+)?\}", lambda found: self._ids.get(found[1], "0"), path)

    def _of_addresses(
        self, method: str, path: str, names: Iterable[str] = (), body: bytes = b""
    ) -> Iterator[Sent]:
        address = self._address(path)
        self._read.clear()
        yield Sent(method, address, "%00=%00&%ff&&=&wait_ms=0", body, what="an odd query")
        for name in re.findall(r"\{(\w+)", path):
            for what, text in IN_ADDRESSES.items():
                odd = re.sub(
                    r"\{(\w+)(:\w+)?\}",
                    lambda f, n=name, t=text: t if f[1] == n else self._ids.get(f[1], "0"),
                    path,
                )
                yield Sent(method, odd, "wait_ms=0", body, what=f"{what} as {name}")
        for name in self._read.each(names):
            for what, text in IN_ADDRESSES.items():
                rest = "" if name == "wait_ms" else "&wait_ms=0"
                yield Sent(method, address, f"{name}={text}{rest}", body, what=f"{what} as {name}")
        for value in HEADER_VALUES:
            for group in HEADERS:
                headers = tuple((header, value) for header in group)
                what = f"{group[0].decode()}: {value[:20]!r}"
                yield Sent(method, address, "wait_ms=0", body, headers, what=what)

    def _documented(self, method: str, path: str, operation: dict[str, Any]) -> Iterator[Sent]:
        names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema is None:
            yield from self._of_addresses(method, path, names)
            if content:
                yield from self._bodies(method, path, (text.encode() for text in IN_JSON.values()))
            return
        sampler = Sampler(self._document, Named("episode", self._ids["episode"]))
        sample = self._sample(path, sampler.value("", schema), sampler, schema)
        members = (
            {*sample, *sampler._resolved(schema).get("properties", {})}
            if isinstance(sample, dict)
            else set()
        )
        plain = json.dumps(sample).encode()
        yield from self._of_addresses(method, path, names, plain)
        if path.startswith(TWICE):
            return
        for member in sorted(members):
            for what, text in IN_JSON.items():
                odd = json.dumps({**sample, member: "@"}).replace('"@"', text)
                yield Sent(
                    method,
                    self._address(path),
                    "wait_ms=0",
                    odd.encode(),
                    what=f"{what} as {member}",
                )
        whole = [f'{{"x": {text}}}'.encode() for text in IN_JSON.values()]
        yield from self._bodies(
            method, path, [*whole, b"", b"\x00", b"\xff\xfe", plain[:-1], b'"', plain + plain]
        )
        if "application/yaml" in content:
            yield from self._yaml(method, path)

    def _sample(self, path: str, sample: Any, sampler: Sampler, schema: dict[str, Any]) -> Any:
        if path == "/v1/tasks":
            return TASK
        if isinstance(sample, dict) and "wait_ms" in sampler._resolved(schema).get(
            "properties", {}
        ):
            sample["wait_ms"] = 0
        if path == "/v1/episodes":
            sample["task"] = TASK["id"]
        return sample

    def _bodies(self, method: str, path: str, bodies: Iterable[bytes]) -> Iterator[Sent]:
        for body in bodies:
            yield Sent(method, self._address(path), "wait_ms=0", body, what="as the body")

    def _yaml(self, method: str, path: str) -> Iterator[Sent]:
        kind = ((b"content-type", b"application/yaml"),)
        for what, text in IN_YAML.items():
            for member in ("id", "version", "instruction", "milestones", "settings"):
                yield Sent(
                    method, path, "", _yaml(member, text), kind, what=f"YAML: {what} as {member}"
                )

    def _forms(self, path: str) -> Iterator[Sent]:
        kind = ((b"content-type", b"application/x-www-form-urlencoded"),)
        usual = {**FORM, "task": TASK["id"], "first": self._ids["episode"]}
        self._read.clear()
        yield Sent("POST", path, "", urlencode(usual).encode(), kind, what="a form as usual")
        for name in self._read.each():
            rest = urlencode({other: usual[other] for other in usual if other != name})
            for what, text in IN_ADDRESSES.items():
                body = f"{name}={text}&{rest}".encode()
                yield Sent("POST", path, "", body, kind, what=f"{what} as {name}")
        for what, text in IN_YAML.items():
            body = (
                b"text="
                + _yaml("instruction", text).replace(b"\n", b"%0a").replace(b"&", b"%26")
                + b"&do=check"
            )
            yield Sent("POST", path, "", body, kind, what=f"YAML: {what}")
        for raw in (b"\x00", b"\xff=\xff", b"&&&===", b"a" * 1_000):
            yield Sent("POST", path, "", raw, kind, what="as the form")


def _yaml(member: str, text: str) -> bytes:
    spec = {**TASK, member: "@"}
    return (
        "\n".join(f"{name}: {json.dumps(value)}" for name, value in spec.items())
        .replace('"@"', text)
        .encode()
    )


def documented(app: Any) -> set[Name]:
    """Every operation that OpenAPI tells of."""
    paths = app.openapi()["paths"].items()
    return {(method.upper(), path) for path, item in paths for method in item}


def pages_of(app: Any) -> list[Name]:
    """Every other route, but for `SOCKETS`."""
    known = {plain(name) for name in documented(app) | SOCKETS}
    return sorted(name for name in routes_of(app) if plain(name) not in known)


def plain(name: Name) -> Name:
    """The name of a route without the convertors of its path."""
    return name[0], re.sub(r"\{(\w+):\w+\}", r"{\1}", name[1])


def test_every_socket_is_walked_elsewhere(service: Service) -> None:
    assert routes_of(service.app) >= SOCKETS


async def test_a_new_parameter_of_a_page_is_walked(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a query and of a form, raw and declared, and one that is read only where another is."""

    async def new_page(request: Request, declared: str = "") -> Response:
        query = request.query_params
        return Response(query.get("inner", "") if "outer" in query else "")

    async def new_form(request: Request) -> Response:
        form = await sent_form(request, 10_000)
        return Response(",".join(form.getlist("field")))

    service.app.add_api_route("/new", new_page, include_in_schema=False)
    service.app.add_api_route("/new", new_form, methods=["POST"], include_in_schema=False)
    walk = Walk(service.app, {"episode": "ep"}, NamesRead(monkeypatch))
    walked: set[str] = set()
    for page in (walk._of_addresses("GET", "/new"), walk._forms("/new")):
        for sent in page:
            assert (await answered(service, sent, False))[0] < 500
            walked.add(sent.what)
    names = ("declared", "outer", "inner", "field")
    assert {f"{what} as {name}" for what in IN_ADDRESSES for name in names} <= walked
    assert {("GET", "/new"), ("POST", "/new")} <= {*walk._pages}


@pytest.mark.slow_where("sqlite")
async def test_nothing_that_is_sent_is_a_fault_of_the_service(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode, token = await service.open()
    await service.tell(episode, token, *logged_episode([went("/cart")], close=False))
    ids = {"episode": episode, "id": TASK["id"], "step": "0"}
    faults: list[str] = []
    number = 0
    for sent in Walk(service.app, ids, NamesRead(monkeypatch)).requests():
        number += 1
        path = re.sub(re.escape(ids["episode"]), "{episode}", sent.path)
        status, said = await answered(service, sent, path in STREAMS)
        if status >= 500 and status not in (503,):
            faults.append(f"{status} {sent} {said[:200]!r}")
        elif (
            said[:1] in (b"{", b"[")
            and (wrong := _nonsense(said.decode("utf-8", "replace"))) is not None
        ):
            faults.append(f"{wrong} in the answer of {sent}")
    faults += [found async for found in _stored(service)]
    assert number > 3_000
    assert not faults, f"{len(faults)} of {number}:\n" + "\n".join(faults[:40])


def _refuse(text: str) -> Any:
    raise ValueError(f"the number {text[:40]}")


def _whole(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**64:
        _refuse(text)
    return int(text)


def _finite(text: str) -> float:
    if float(text) in (float("inf"), float("-inf")):
        _refuse(text)
    return float(text)


def _nonsense(text: str) -> str | None:
    """What in a JSON text can't be read back as the same by everybody; None: nothing."""
    try:
        json.loads(text, parse_constant=_refuse, parse_int=_whole, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


async def _stored(service: Service) -> Any:
    """What the database keeps that nobody could read back."""
    database = service.app.state.parts.database
    for table in metadata.sorted_tables:
        columns = [column for column in table.columns if isinstance(column.type, String)]
        if not columns:
            continue
        for row in await database.all(select(*columns)):
            for column, value in zip(columns, row, strict=True):
                if isinstance(value, str) and (wrong := _of_text(value)) is not None:
                    yield f"{table.name}.{column.name} keeps {wrong}: {value[:80]!r}"


def _of_text(value: str) -> str | None:
    if "\0" in value:
        return "a NUL"
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        return "half a surrogate pair"
    return _nonsense(value) if value[:1] in ("{", "[") and value[-1:] in ("}", "]") else None
