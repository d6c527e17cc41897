"""Answers before the answer: 100 and 103 of a server say nothing of how the request ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload; as=style\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
ORDERED = b"HTTP/1.1 201 Created"
REFUSED = b"HTTP/1.1 403 Forbidden"


@asynccontextmanager
async def serve(interim: bytes, answer: bytes) -> AsyncIterator[str]:
    """A server that sends ``interim`` before the head of ``answer``; its address."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = 0
            for line in head.decode("latin-1").lower().splitlines():
                if line.startswith("content-length:"):
                    length = int(line.partition(":")[2])
            await reader.readexactly(length)
            rest = b"\r\naccess-control-allow-origin: *\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nok"
            writer.write(interim + answer + rest)
            await writer.drain()

    async def answer_until_closed(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer_until_closed, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("interim", [HINTS, CONTINUE, HINTS * 3], ids=["103", "100", "three"])
@pytest.mark.parametrize(("answer", "status"), [(ORDERED, 201), (REFUSED, 403)])
@pytest.mark.parametrize("how", ["fetch", "form"])
async def test_the_last_status_is_the_requests(
    browser: Chromium, page: Page, site: Site, interim: bytes, answer: bytes, status: int, how: str
) -> None:
    async with serve(interim, answer) as address, watching(browser, {"origin": address}) as watch:
        await page.goto(site.url)
        if how == "fetch":
            await page.evaluate(
                "(to) => fetch(to, {method: 'POST'}).then((r) => r.text())", address
            )
        else:
            await page.set_content(f"<form method=post action={address}><button>Go</button></form>")
            await page.click("button")
        finished = await watch.one("request.finished", url=f"{address}/", method="POST")
    assert finished["status"] == status
    assert "served_from" not in finished
    assert "hops" not in finished
