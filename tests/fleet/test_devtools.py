"""DevTools of a fleet's sandbox: whoever has the token has the browser, whoever has not has
nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Playwright
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agentd.core.errors import UsageError
from agentd.fleet import devtools
from agentd.fleet.devtools import MAX_HEAD_BYTES, DevtoolsProxy, read_devtools_token
from tests.support.chromium import Chromium, needs_chromium

TOKEN = "a-token-of-the-sandbox"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as chromium:
        yield chromium


@contextlib.asynccontextmanager
async def proxy_of(cdp: str):  # type: ignore[no-untyped-def]
    proxy = DevtoolsProxy(cdp, TOKEN)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        server.close()
        proxy.close()


def fetch(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=30
        ) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


async def raw_answer(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer


@needs_chromium
@pytest.mark.browser
async def test_a_harness_with_the_token_drives_the_browser(
    browser: Chromium, one_playwright: Playwright
) -> None:
    async with proxy_of(browser.endpoint) as port:
        agent = await one_playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}/{TOKEN}")
        page = await agent.contexts[0].new_page()
        await page.set_content(f"<p>{'x' * 3_000_000}</p><h1>hello</h1>")
        assert await page.text_content("h1") == "hello"
        assert len(await page.text_content("p") or "") == 3_000_000
        await agent.close()


@needs_chromium
@pytest.mark.browser
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (f"/{TOKEN}/json/version", {}),
        (f"/{TOKEN}/json/version/", {}),
        ("/json/version", {"Authorization": f"Bearer {TOKEN}"}),
    ],
    ids=["path", "path as Playwright asks", "header"],
)
async def test_the_browser_names_websockets_that_the_token_opens(
    browser: Chromium, path: str, headers: dict[str, str]
) -> None:
    async with proxy_of(browser.endpoint) as port:
        status, text = await asyncio.to_thread(
            lambda: fetch(f"http://127.0.0.1:{port}{path}", **headers)
        )
        address = json.loads(text)["webSocketDebuggerUrl"]
        assert (status, address.startswith(f"ws://127.0.0.1:{port}/{TOKEN}/devtools/browser/")) == (
            200,
            True,
        )
        async with connect(address) as socket:
            await socket.send('{"id": 1, "method": "Browser.getVersion"}')
            assert "Chrome" in json.loads(await socket.recv())["result"]["product"]


@needs_chromium
@pytest.mark.browser
@pytest.mark.parametrize(
    "path",
    [
        "/json/version",
        "/",
        "",
        f"/{TOKEN[:-1]}/json",
        f"/{TOKEN}x/json",
        f"//{TOKEN}/json",
        "/%61-token/json/list",
    ],
)
async def test_without_the_token_nothing_is_told(browser: Chromium, path: str) -> None:
    async with proxy_of(browser.endpoint) as port:
        status, text = await asyncio.to_thread(lambda: fetch(f"http://127.0.0.1:{port}{path}"))
    assert status == 401
    assert "token" in text
    assert "devtools" not in text


@needs_chromium
@pytest.mark.browser
async def test_a_websocket_that_is_known_wants_the_token_as_well(browser: Chromium) -> None:
    _, text = await asyncio.to_thread(lambda: fetch(f"{browser.endpoint}/json/version"))
    known = json.loads(text)["webSocketDebuggerUrl"].partition("/devtools/")[2]
    async with proxy_of(browser.endpoint) as port:
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://127.0.0.1:{port}/devtools/{known}")
    assert refused.value.response.status_code == 401


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"a" * (MAX_HEAD_BYTES + 10), b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * (MAX_HEAD_BYTES + 10), b"400"),
        (f"GET /{TOKEN}/json HTTP/1.1\r\nHost: x\r\n\r\n".encode(), b"502"),
    ],
    ids=["TLS", "no host", "an endless path", "an endless header", "no browser"],
)
async def test_what_can_not_be_served_is_said(request_bytes: bytes, status: bytes) -> None:
    async with proxy_of("http://127.0.0.1:9") as port:
        answer = await raw_answer(port, request_bytes)
    assert answer.startswith(b"HTTP/1.1 " + status), answer


async def test_a_caller_that_says_nothing_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devtools, "HEAD_S", 0.05)
    async with proxy_of("http://127.0.0.1:9") as port:
        assert (await raw_answer(port, b"GET / HT")).startswith(b"HTTP/1.1 408")


async def test_more_callers_than_are_served_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devtools, "MAX_CONNECTIONS", 2)
    async with proxy_of("http://127.0.0.1:9") as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        assert (await raw_answer(port, b"")).startswith(b"HTTP/1.1 503")
        for _, writer in held:
            writer.close()


@pytest.mark.parametrize(
    "text", ["", "short", "a token with spaces in it", "a/token/with/slashes/in/it", "ä" * 20]
)
def test_a_token_that_is_no_secret_or_no_path_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(UsageError, match="expected"):
        read_devtools_token(path)


def test_the_command_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    command = [sys.executable, "-m", "agentd", "devtools", "--token-file", tmp_path / "token"]
    for more, missing in (
        ([], "--listen"),
        (["--listen", "9223", "--cdp", "http://127.0.0.1:9"], "HOST:PORT"),
        (["--listen", "127.0.0.1:0"], "--cdp"),
    ):
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert missing in done.stderr
