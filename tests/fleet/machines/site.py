"""A site of two pages for an agent in a virtual machine."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler


class Pages(BaseHTTPRequestHandler):
    """``/`` and ``/done``."""

    def do_GET(self) -> None:
        """Answer with a page that has the path as its title."""
        is_known = self.path in ("/", "/done")
        body = f"<!doctype html><title>{self.path if is_known else 'nothing'}</title>".encode()
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""
