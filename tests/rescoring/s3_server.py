"""An S3 server with an empty bucket `runs`, by moto, in an environment of its own; it prints its
address."""

from __future__ import annotations

import threading
import urllib.request

from moto.server import ThreadedMotoServer


def main() -> None:
    """Serve until it is ended."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    request = urllib.request.Request(f"{address}/runs", method="PUT")
    with urllib.request.urlopen(request):
        print(address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
