"""Messages over WebSockets and event streams: told where they are wanted, whole, masked,
bounded."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page
from websockets.asyncio.server import ServerConnection, serve

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.network.messages import MAX_MESSAGE_LENGTH, MAX_PER_SECOND
from agentd.sources.cdp.state.capture_plan import CapturePlan
from tests.cdp.site import Answer, Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

ALSO = {"also": ["message.sent", "message.received", "request.response_started"]}
EVENTS = (("content-type", "text/event-stream"),)


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


@pytest_asyncio.fixture(loop_scope="session")
async def socket() -> AsyncIterator[str]:
    """The address of a server that says what it hears."""
    async with serve(echo, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/chat?token=geheim"


TALK = """([to, texts]) => new Promise((done) => { window.line = new WebSocket(to); let left = texts.length;
    line.binaryType = 'arraybuffer';
    line.onopen = () => texts.forEach((text) => line.send(Array.isArray(text) ? new Uint8Array(text) : text));
    line.onmessage = () => { if (--left === 0) { line.close(); done() } } })"""


@pytest.mark.browser
@needs_chromium
async def test_frames_go_both_ways(browser: Chromium, page: Page, site: Site, socket: str) -> None:
    texts = [
        "hi",
        [1, 2, 255],
        '{"password": "geheim", "n": 1}',
        "pay 4111 1111 1111 1111",
        "x" * 20_000,
    ]
    async with watching(browser, ALSO) as watch:
        await page.goto(site.url)
        await page.evaluate(TALK, [socket, texts])
        await watch.until(lambda: len(watch.all("message.received")) == 5)
        sent, received = watch.all("message.sent"), watch.all("message.received")
        opened = await watch.one("request.finished", type="WebSocket")
    assert (opened["status"], opened["url"]) == (101, socket.replace("geheim", "***"))
    told: list[dict[str, Any]] = [
        {"text": "hi"},
        {"base64": base64.b64encode(bytes([1, 2, 255])).decode()},
        {"text": '{"password":"***","n":1}'},
        {"text": "pay ***"},
        {"text": "x" * MAX_MESSAGE_LENGTH, "cut": True},
    ]
    where = {name: opened[name] for name in ("tab", "frame", "request", "url")}
    assert sent == [where | one for one in told]
    assert received == sent


STREAM = """async (to) => { const stream = new WebSocketStream(to);
    const {readable, writable} = await stream.opened; const writer = writable.getWriter();
    await writer.write('hi'); await readable.getReader().read(); stream.close() }"""


@pytest.mark.browser
@needs_chromium
async def test_a_stream_of_messages_is_told_like_a_socket(
    browser: Chromium, page: Page, site: Site, socket: str
) -> None:
    """`WebSocketStream`, the younger way to write over a WebSocket."""
    async with watching(browser, ALSO) as watch:
        await page.goto(site.url)
        await page.evaluate(STREAM, socket)
        received = await watch.one("message.received")
        sent = await watch.one("message.sent")
        opened = await watch.one("request.finished", type="WebSocket")
    assert (opened["status"], sent["text"], received["text"]) == (101, "hi", "hi")


@pytest.mark.browser
@needs_chromium
async def test_the_headers_of_a_handshake_where_they_are_asked_for(
    browser: Chromium, page: Page, site: Site, socket: str
) -> None:
    plan = {"request_headers": ["origin"], "response_headers": ["upgrade"]}
    async with watching(browser, plan) as watch:
        await page.goto(site.url)
        await page.evaluate(TALK, [socket, ["hi"]])
        opened = await watch.one("request.finished", type="WebSocket")
    assert opened["headers"] == {"origin": site.url}
    assert opened["response"]["headers"] == {"upgrade": "websocket"}


@pytest.mark.browser
@needs_chromium
async def test_server_sent_events(browser: Chromium, page: Page, site: Site) -> None:
    site.page(
        "/ev", Answer("event: tick\nid: 7\ndata: a\ndata: b\n\ndata: second\n\n", headers=EVENTS)
    )
    async with watching(browser, ALSO) as watch:
        await page.goto(site.url)
        await page.evaluate(
            "new Promise((done) => { const e = new EventSource('/ev'); e.onmessage = () => {"
            " e.close(); done() } })"
        )
        await watch.until(lambda: len(watch.all("message.received")) == 2)
        first, second = watch.all("message.received")
        answered = await watch.one("request.response_started", url=site.url + "/ev")
    assert (first["event"], first["id"], first["text"], first["url"]) == (
        "tick",
        "7",
        "a\nb",
        site.url + "/ev",
    )
    assert (second["event"], second["id"], second["text"]) == ("message", "7", "second")
    assert (answered["status"], answered["mime"], answered["type"]) == (
        200,
        "text/event-stream",
        "EventSource",
    )


@pytest.mark.browser
@needs_chromium
async def test_nobody_is_told_who_did_not_ask(
    browser: Chromium, page: Page, site: Site, socket: str
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.url)
        await page.evaluate(TALK, [socket, ["hi"]])
        await watch.one("request.finished", type="WebSocket")
        await watch.fence()
        assert not [kind for kind, _ in watch.seen if kind.startswith("message.")]
        assert watch.source._live is not None
        assert not watch.source._live.normaliser.network.messages._connections


@pytest.mark.browser
@needs_chromium
async def test_a_handshake_that_fails_is_a_failed_request(
    browser: Chromium, page: Page, site: Site
) -> None:
    to = site.url.replace("http", "ws") + "/none"
    async with watching(browser) as watch:
        await page.goto(site.url)
        await page.evaluate(
            f"new Promise((done) => {{ new WebSocket('{to}').onerror = done }}).then(() => 0)"
        )
        failed = await watch.one("request.failed", type="WebSocket")
        await watch.fence()
    assert failed["url"] == to
    assert "404" in failed["error"]
    assert len(watch.all("request.failed", type="WebSocket")) == 1


def fold(*, guards: bool = False) -> Normaliser:
    kinds = frozenset(("message.sent", "message.received"))
    normaliser = Normaliser("", "", CapturePlan(kinds=kinds, guards_messages=guards), live=True)
    info = {"targetId": "T", "type": "page", "url": "https://a.example/", "title": ""}
    told(normaliser, "Target.attachedToTarget", sessionId="", targetInfo=info)
    normaliser.browser.settled = True
    told(normaliser, "Network.webSocketCreated", requestId="1", url="wss://a.example/")
    told(
        normaliser,
        "Network.webSocketHandshakeResponseReceived",
        requestId="1",
        response={"status": 101},
    )
    return normaliser


def told(fold: Normaliser, method: str, **params: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(seen.kind, seen.data) for seen in fold.feed("", method, params)]


def frame(second: float, text: str = "x", opcode: int = 1) -> dict[str, Any]:
    return {
        "requestId": "1",
        "timestamp": second,
        "response": {"opcode": opcode, "payloadData": text},
    }


def test_a_flood_is_a_gap_of_messages_and_ends() -> None:
    normaliser = fold()
    flood = [
        told(normaliser, "Network.webSocketFrameReceived", **frame(7.5))
        for _ in range(MAX_PER_SECOND * 3)
    ]
    kinds = [kind for seen in flood for kind, _ in seen]
    assert kinds == ["message.received"] * MAX_PER_SECOND + ["gap.began"]
    [(_, gap)] = flood[MAX_PER_SECOND]
    assert (gap["source"], gap["part"]) == ("cdp", "message")
    later = told(normaliser, "Network.webSocketFrameReceived", **frame(8.1))
    assert [kind for kind, _ in later] == ["gap.ended", "message.received"]


def test_a_flood_that_just_stops_ends_at_the_fence() -> None:
    normaliser = fold()
    for _ in range(MAX_PER_SECOND + 1):
        told(normaliser, "Network.webSocketFrameSent", **frame(7.5))
    assert [seen.kind for seen in normaliser.fenced()] == ["gap.ended"]
    assert [seen.kind for seen in normaliser.fenced()] == []
    again = told(normaliser, "Network.webSocketFrameSent", **frame(7.9))
    assert [kind for kind, _ in again] == ["gap.began"], "the same second has no more room"


def test_a_socket_that_was_open_before_is_told_without_its_address_and_is_a_gap_until_it_closes() -> (
    None
):
    normaliser = fold()
    (began, gap), (kind, data) = told(
        normaliser, "Network.webSocketFrameSent", **frame(1) | {"requestId": "0"}
    )
    assert (began, gap["part"], "address is not known" in gap["reason"]) == (
        "gap.began",
        "message",
        True,
    )
    assert (kind, data["url"], data["text"]) == ("message.sent", "", "x")
    again = told(normaliser, "Network.webSocketFrameSent", **frame(1) | {"requestId": "0"})
    assert [kind for kind, _ in again] == ["message.sent"]
    ended = ("gap.ended", {"source": "cdp", "part": "message"})
    assert told(normaliser, "Network.webSocketClosed", requestId="0", timestamp=2) == [ended]


@pytest.mark.browser
@needs_chromium
@pytest.mark.parametrize("ends", ["line.close()", "location.href = '/next'"])
async def test_a_socket_that_stands_open_when_the_daemon_comes(
    browser: Chromium, page: Page, site: Site, socket: str, ends: str
) -> None:
    site.page("/next", "<title>next</title>")
    await page.goto(site.url)
    await page.evaluate(
        "(to) => new Promise((done) => { line = new WebSocket(to); line.onopen = done })", socket
    )
    async with watching(browser, ALSO) as watch:
        await page.evaluate("line.send('late')")
        sent = await watch.one("message.sent")
        await page.evaluate(ends)
        await watch.one("gap.ended", part="message")
    assert (sent["text"], sent["url"]) == ("late", "")
    assert len(watch.all("gap.began", part="message")) == 1


@pytest.mark.parametrize("opcode", [0, 8, 9, 10])
def test_frames_that_carry_no_message_are_none(opcode: int) -> None:
    assert told(fold(), "Network.webSocketFrameSent", **frame(1, "", opcode)) == []


def test_a_secret_in_a_binary_message_masks_it_whole() -> None:
    payload = base64.b64encode(b'{"password": "geheim"}').decode()
    [(_, data)] = told(fold(), "Network.webSocketFrameSent", **frame(1, payload, 2))
    assert data["text"] == "***"
    assert "base64" not in data


def test_the_table_of_connections_is_bounded() -> None:
    normaliser = fold()
    for number in range(3000):
        told(normaliser, "Network.webSocketCreated", requestId=f"n{number}", url="wss://a.example/")
        told(
            normaliser,
            "Network.webSocketHandshakeResponseReceived",
            requestId=f"n{number}",
            response={"status": 101},
        )
    assert len(normaliser.network.messages._connections) <= 1024


LEAVES: dict[str, Any] = {"frame": {"id": "T", "loaderId": "2", "url": "https://a.example/next"}}


@pytest.mark.parametrize(
    ("guards", "before", "gaps"),
    [
        (True, [], 1),
        (False, [], 0),
        (True, [("Network.webSocketClosed", {"requestId": "1", "timestamp": 1})], 0),
        (
            True,
            [("Page.frameNavigated", LEAVES | {"frame": LEAVES["frame"] | {"loaderId": "1"}})],
            0,
        ),
    ],
    ids=["a connection is open", "no guard hears messages", "it was closed", "it was left before"],
)
def test_what_may_have_been_said_as_a_document_was_left_is_a_gap_for_guards(
    guards: bool, before: list[tuple[str, dict[str, Any]]], gaps: int
) -> None:
    normaliser = fold(guards=guards)
    for method, params in before:
        told(normaliser, method, **params)
    seen = told(normaliser, "Page.frameNavigated", **LEAVES)
    assert [kind for kind, data in seen if data.get("part") == "message"].count("gap.began") == gaps


@pytest.mark.browser
@needs_chromium
async def test_a_message_that_a_page_sends_as_it_is_left_is_a_gap_for_guards(
    browser: Chromium, page: Page, site: Site
) -> None:
    heard: list[str | bytes] = []

    async def hear(connection: ServerConnection) -> None:
        async for message in connection:
            heard.append(message)

    site.page("/next", "<title>next</title>")
    plan = {"hears": ["message.sent"], "guarded": ["message.sent"]}
    async with serve(hear, "127.0.0.1", 0) as server, watching(browser, plan) as watch:
        to = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/"
        await page.goto(site.url)
        await page.evaluate(
            "(to) => new Promise((done) => { line = new WebSocket(to); line.onopen = done })", to
        )
        await page.evaluate(
            "addEventListener('pagehide', () => line.send('late')); location = '/next'"
        )
        await watch.one("gap.began", part="message")
        await watch.fence()
        assert not watch.all("message.sent")
        await watch.until(lambda: heard == ["late"])
