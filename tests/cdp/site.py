"""A small site on loopback: pages given as text, answers given as functions, every request
noted."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Answer(NamedTuple):
    """What the site answers; ``lacks``: bytes that it promises and never sends."""

    body: str | bytes = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/html; charset=utf-8"),)
    lacks: int = 0


class Asked(NamedTuple):
    """A request that came in."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str] = {}


Handler = Callable[[Asked], Answer]


class Site:
    """``site.url`` is on 127.0.0.1, ``site.other`` is the same server as another host, localhost;
    with ``tls`` it speaks https."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, str | Answer | Handler] = {"/": "<title>start</title>"}
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    @property
    def other(self) -> str:
        return f"{self._scheme}://localhost:{self._server.server_port}"

    def page(self, path: str, body: str | Answer | Handler) -> str:
        """Serve ``body`` under ``path`` and return its address."""
        self.pages[path] = body
        return self.url + path

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        found = self.pages.get(asked.path.partition("?")[0])
        if found is None:
            return Answer("<title>none</title>", status=404)
        if callable(found):
            return found(asked)
        return found if isinstance(found, Answer) else Answer(found)

    def __enter__(self) -> Site:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.reply()

        def do_POST(self) -> None:
            self.reply()

        def do_PUT(self) -> None:
            self.reply()

        def do_PATCH(self) -> None:
            self.reply()

        def do_DELETE(self) -> None:
            self.reply()

        def do_OPTIONS(self) -> None:
            self.reply()

        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            answer = site.answer(
                Asked(
                    self.command, self.path, body, {k.lower(): v for k, v in self.headers.items()}
                )
            )
            content = answer.body.encode() if isinstance(answer.body, str) else answer.body
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(content) + answer.lacks))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass  # pytest's own output is enough

    return Handler
