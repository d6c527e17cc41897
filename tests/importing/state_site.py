"""A server that answers as WebArena-Infinity's applications do: it keeps the state that the page
sends it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

PAGE = b"""<!doctype html><title>Settings</title><button id=dark>Dark mode</button><script>
const state = SEED, send = () => fetch('/api/state', {method: 'PUT', headers: {'Content-Type': 'application/json'},
  body: JSON.stringify(state)});
document.getElementById('dark').onclick = () => { state.preferences.theme = 'Dark'; send(); };
send();
</script>"""


class StateSite(ThreadingHTTPServer):
    """``state`` is what was sent last; ``seed`` what the page begins with."""

    daemon_threads = True

    def __init__(self, seed: Any = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seed, self.state = seed, None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: StateSite
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            self.server.state = orjson.loads(body)
        except orjson.JSONDecodeError:
            self._say(400, b"no JSON", "text/plain")
        else:
            self._say(200, b'{"status":"ok"}', "application/json")

    def do_GET(self) -> None:
        if self.path == "/api/state":
            self._say(200, orjson.dumps(self.server.state), "application/json")
        else:
            self._say(200, PAGE.replace(b"SEED", orjson.dumps(self.server.seed)), "text/html")

    def _say(self, status: int, body: bytes, mime: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", mime)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def state_site(seed: Any = None) -> Iterator[StateSite]:
    """The server, while it runs."""
    server = StateSite(seed)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
