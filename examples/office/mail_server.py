"""``python -m examples.office.mail_server``: a mail server on loopback that keeps each message as a file.

It speaks as much SMTP as a mail program needs to hand over a message, and delivers nothing.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socketserver
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 1024 * 1024
"""Of a message; a longer one is refused."""


class MailServer(socketserver.ThreadingTCPServer):
    """Takes messages and keeps them as ``folder/1.eml``, ``2.eml`` and so on."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, folder: Path) -> None:
        super().__init__(("127.0.0.1", port), _Session)
        self._folder = folder
        self._numbers = itertools.count(1)

    def keep(self, message: bytes) -> None:
        """Write a message whole, under a name of its own."""
        path = self._folder / f"{next(self._numbers)}.eml"
        part = self._folder / f".{path.name}.part"
        part.write_bytes(message)
        os.replace(part, path)


class _Session(socketserver.StreamRequestHandler):
    """One connection: commands, each with its answer."""

    server: MailServer

    def handle(self) -> None:
        self._answer("220 harbour.example")
        for line in self._lines():
            verb = line[:4].upper()
            if verb == "QUIT":
                self._answer("221 goodbye")
                return
            if verb == "DATA":
                self._answer("354 go on, and end with a dot")
                self._take_message()
            elif verb in ("EHLO", "HELO", "MAIL", "RCPT", "RSET", "NOOP"):
                self._answer("250 ok")
            else:
                self._answer("502 this command is not known")

    def _lines(self) -> Iterator[str]:
        while line := self.rfile.readline(1000):
            yield line.decode("ascii", "replace").strip()

    def _answer(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")

    def _take_message(self) -> None:
        """Read up to the line with a dot alone; a line that begins with one has another before it."""
        message = bytearray()
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            message += line.removeprefix(b".")
            if len(message) > MAX_BYTES:
                self._answer("552 too long")
                return
        self.server.keep(bytes(message))
        self._answer("250 taken")


def main() -> int:
    """Serve until it is told to stop."""
    options = argparse.ArgumentParser(prog="mail-server", description=__doc__)
    options.add_argument("--port", type=int, default=0, help="0 takes any free one")
    options.add_argument("--port-file", type=Path, required=True, help="where its port is written")
    options.add_argument("--folder", type=Path, required=True, help="where messages are kept")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with MailServer(given.port, given.folder) as server:
        given.port_file.write_text(str(server.server_address[1]))
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
