"""``python -m examples.shop``: serve the shop until it is told to stop; the office is served alike."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from .app import create_shop


def serve(name: str, create: Callable[[argparse.Namespace], ASGIApp], argv: Sequence[str]) -> None:
    """Read the arguments and serve. Writes the port to ``--port-file`` once it listens."""
    parser = argparse.ArgumentParser(prog=name, description=serve.__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    parser.add_argument("--other-host", default="", help="another name under which it is reached")
    parser.add_argument("--port-file", type=Path, help="where to write the port, once it listens")
    parser.add_argument("--access-log", type=Path, help="where to write one JSON line a request")
    parser.add_argument(
        "--invoice-after",
        type=int,
        default=0,
        help="the shop's CSV invoice is finished this many page views later",
    )
    given = parser.parse_args(argv)
    listener = socket.create_server((given.host, given.port))
    port = listener.getsockname()[1]
    if given.port_file is not None:
        part = given.port_file.with_name(given.port_file.name + ".part")
        part.write_text(str(port))
        os.replace(part, given.port_file)
    print(f"The {name} is open at http://{given.host}:{port}/", flush=True)
    uvicorn.Server(uvicorn.Config(create(given), log_level="warning")).run(sockets=[listener])


def _shop(given: argparse.Namespace) -> ASGIApp:
    return create_shop(given.access_log, given.invoice_after, given.other_host)


if __name__ == "__main__":
    serve("shop", _shop, sys.argv[1:])
