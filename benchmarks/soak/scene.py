"""What the daemon has to stand: a page that never rests, and LibreOffice with somebody at the
keyboard."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

from benchmarks.browser import FLAGS
from lab.demo.needs import find_chromium
from tests.support.desktop import Desktop

EVERY_S = 2.0
"""How often a cell is typed, in seconds."""
_PAGE = Path(__file__).with_name("busy.html")


class Typist:
    """Types a number into a cell of ``calc`` (LibreOffice's window) every `EVERY_S` seconds, down
    the column."""

    def __init__(self, desk: Desktop) -> None:
        self.calc = ""
        self._desk = desk
        self._number = 0
        self._next_at = 0.0

    def go_on(self) -> None:
        """Type, if it is time. Between the agent's steps: its clicks give the browser the
        keyboard."""
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + EVERY_S
        self._number += 1
        self._desk.do(
            "windowactivate", "--sync", self.calc, "type", "--delay", "10", f"{self._number}\n"
        )
        if self._number % 200 == 0:
            self._desk.keys("ctrl+Home")


class Scene(NamedTuple):
    """All that runs. ``page`` is the agent's, driven over Playwright's own connection."""

    desk: Desktop
    page: Page
    profile: Path
    address: str
    typist: Typist

    def step(self, n: int) -> float:
        """One step of the agent: fill a field, click, read the page. Its seconds."""
        self.typist.go_on()
        start = time.perf_counter()
        self.page.fill("#name" if n % 2 else "#town", f"Ada {n}")
        self.page.click("#go")
        self.page.inner_text("#go")
        return time.perf_counter() - start

    def reload(self) -> None:
        """A fresh document, so that nothing of an observer before is left in it."""
        self.page.goto(self.address)


@contextmanager
def playing(folder: Path) -> Iterator[Scene]:
    """The whole scene, until it is left."""
    with Desktop() as desk, _site() as address, _browser(folder / "profile", desk) as page:
        scene = Scene(desk, page, folder / "profile", address, Typist(desk))
        scene.reload()
        scene.typist.calc = _open_calc(desk)
        yield scene


@contextmanager
def _browser(profile: Path, desk: Desktop) -> Iterator[Page]:
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=find_chromium(),
            args=list(FLAGS),
            headless=False,
            env=dict(desk.environ),
        )
        yield context.pages[0]
        context.close()


@contextmanager
def _site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = _PAGE.read_bytes() if self.path == "/" else b"ok"
        self.send_response(200)
        self.send_header(
            "content-type", "text/html; charset=utf-8" if self.path == "/" else "text/plain"
        )
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: requests are no news here."""


def _open_calc(desk: Desktop) -> str:
    """LibreOffice's window, by its X id."""
    own = f"-env:UserInstallation=file://{desk.folder}/lo"
    desk.start("libreoffice", "--calc", "--norestore", "--nologo", own)
    return desk.window("LibreOffice Calc")
