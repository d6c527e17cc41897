"""The pages of a folder on loopback, and what they sent: how things stand in the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson


class PageSite(ThreadingHTTPServer):
    """``folder`` has the pages; ``data``: what a page begins with; ``state``: what was sent last, None
    for nothing."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.data: Any = None
        self.state: Any = None

    @property
    def origin(self) -> str:
        """The address of the site."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def begin(self, data: Any) -> None:
        """Forget what was sent, and give pages other data to begin with."""
        self.data, self.state = data, None


class _Handler(BaseHTTPRequestHandler):
    server: PageSite
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.state = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._say(200, b'{"ok":true}', "application/json")

    def do_GET(self) -> None:
        folder = self.server.folder
        file = folder / f"{self.path.split('?')[0].strip('/')}.html"
        if file.parent != folder or not file.is_file():
            self._say(404, b"", "text/html")
            return
        page = file.read_bytes().replace(b"DATA", orjson.dumps(self.server.data))
        self._say(200, page, "text/html; charset=utf-8")

    def _say(self, status: int, body: bytes, mime: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", mime)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a page is asked for once an episode."""


@contextmanager
def serve_pages(folder: Path) -> Iterator[PageSite]:
    """The site of the pages in a folder, while it runs."""
    with PageSite(folder) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
