"""The process that reads one file: its standard input, already open; it knows no path and writes
nothing but facts.

``python -m agentd.readers.child REQUEST``, REQUEST as JSON {format, query?, wal?}. One JSON object
comes out: {status, facts?, cut?, reason?, ms?}.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
import time
from typing import Any

import orjson

from agentd.readers.bounds import DamagedError, HeavyError, LargeError, fitted
from agentd.readers.formats import FORMATS

MEMORY = 1 << 30
CPU_S = 2
"""Seconds of processor time; the deadline of wall time is longer, for a machine that is busy."""
WRITTEN = 64 << 20
"""Bytes of a file that it may write: the copy of a database with its log."""


def limit() -> None:
    """Take from this process what no reader needs: memory, time, the disk, a core."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, CPU_S), (resource.RLIMIT_FSIZE, WRITTEN),
        (resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        _, hard = resource.getrlimit(what)
        # The hard limit of processor time kills; the soft one ends by a signal of its own, which
        # says why.
        most = most if hard < 0 else min(most, hard)
        resource.setrlimit(what, (most, most + 1 if hard < 0 else min(most + 1, hard)))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What is told of the file on descriptor 0."""
    name = str(request["format"])
    try:
        read = getattr(
            importlib.import_module(f"agentd.readers.{FORMATS[name].module}"), f"read_{name}"
        )
        with os.fdopen(0, "rb", closefd=False) as file:
            found = read(file, request)
            more = bool(found.pop("cut", False))  # the reader itself left something out
            facts, cut = fitted(found)
    except DamagedError as error:
        return {"status": "damaged", "reason": str(error)[:300]}
    except LargeError as error:
        return {"status": "large", "reason": str(error)[:300]}
    except (HeavyError, MemoryError, RecursionError) as error:
        return {
            "status": "heavy",
            "reason": str(error)[:300] or f"{name} needs more than {MEMORY >> 20} MiB",
        }
    except ImportError as error:
        return {
            "status": "unavailable",
            "reason": f"{error}; wanted: pip install 'milestoned[readers]'",
        }
    return {"status": "read", "facts": facts} | ({"cut": True} if cut or more else {})


def _failed(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """What no reader foresaw is a fault of ours, not of the file."""
    _say({"status": "failed", "reason": f"{kind.__name__}: {error}"[:300]})


def _say(said: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(said))


def main() -> None:
    """Read, say, end."""
    sys.excepthook = _failed
    limit()
    began = time.monotonic()
    said = answer(orjson.loads(sys.argv[1]))
    said["ms"] = round((time.monotonic() - began) * 1000)
    _say(said)


if __name__ == "__main__":
    main()
