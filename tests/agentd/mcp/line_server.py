"""A server over standard input and output that answers as it is asked: for tests of what passes."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

NOISE = b'not json\n{"half": \n\xff\xfe\n\n[1, 2]\n{"jsonrpc":"2.0","method":"notifications/progress"}\r\n'
"""What comes between two answers: it passes as it is."""


def main() -> None:
    """Answer each call with its tool's name, between noise; die at a call of `die`, make the file of
    a call of `write`."""
    out = sys.stdout.buffer
    for raw in sys.stdin.buffer:
        try:
            message = json.loads(raw)
        except ValueError:
            out.write(b"heard: " + raw)
            out.flush()
            continue
        tool = message["params"]["name"]
        if tool == "die":
            out.write(b'{"jsonrpc":"2.0","id":0,"resu')
            out.flush()
            os._exit(7)
        if tool == "write":
            Path(message["params"]["arguments"]["path"]).write_text("x")
        if tool == "sleep":
            time.sleep(message["params"]["arguments"]["s"])
        result = {"content": [{"type": "text", "text": tool}]}
        out.write(
            NOISE + json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        )
        out.write(b"\n")
        out.flush()
    out.write(b"no more, and no line feed")


if __name__ == "__main__":
    main()
