"""The process that reads one file: its standard input, already open; it knows no path and writes
nothing but facts.

``python -m agentd.readers.child REQUEST``: a `ReadRequest` as JSON; prints a `ReadAnswer` as JSON.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
import time

import orjson

from agentd.readers.bounds import DamagedError, HeavyError, LargeError, fit_facts
from agentd.readers.formats import FORMATS
from agentd.readers.request import Facts, ReadAnswer, ReadRequest

MEMORY = 1 << 30
CPU_S = 2
"""Seconds of processor time; the deadline of wall time is longer, as the machine may be busy."""
WRITTEN = 64 << 20
"""Bytes of a file that it may write: the copy of a database with its log."""
_LIMITS = {
    resource.RLIMIT_AS: MEMORY,
    resource.RLIMIT_CPU: CPU_S,
    resource.RLIMIT_FSIZE: WRITTEN,
    resource.RLIMIT_NOFILE: 64,
    resource.RLIMIT_CORE: 0,
}


def limit() -> None:
    """Take from this process what no reader needs: memory, time, the disk, a core."""
    for kind, maximum in _LIMITS.items():
        _, hard = resource.getrlimit(kind)
        ceiling = sys.maxsize if hard == resource.RLIM_INFINITY else hard
        # The hard limit of processor time kills; the soft one ends by a signal of its own, which
        # says why.
        soft = min(maximum, ceiling)
        resource.setrlimit(kind, (soft, min(soft + 1, ceiling)))


def answer(request: ReadRequest) -> ReadAnswer:
    """Read the file on descriptor 0 as ``request`` says."""
    name = request["format"]
    try:
        module = importlib.import_module(f"agentd.readers.{FORMATS[name].module}")
        with os.fdopen(0, "rb", closefd=False) as file:
            facts: Facts = getattr(module, f"read_{name}")(file, request)
        left_out = bool(facts.pop("cut", False))  # the reader itself left something out
        facts, clipped = fit_facts(facts)
    except DamagedError as error:
        return _refuse("damaged", error)
    except LargeError as error:
        return _refuse("large", error)
    except (HeavyError, MemoryError, RecursionError) as error:
        return _refuse("heavy", str(error) or f"{name} needs more than {MEMORY >> 20} MiB")
    except ImportError as error:
        reason = f"{error}; wanted: pip install 'milestoned[readers]'"
        return {"status": "unavailable", "reason": reason}
    if left_out or clipped:
        return {"status": "read", "facts": facts, "cut": True}
    return {"status": "read", "facts": facts}


def _refuse(status: str, reason: object) -> ReadAnswer:
    return {"status": status, "reason": str(reason)[:300]}


def _report_failure(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Answer what no reader foresaw: a fault of ours, not of the file."""
    _write(_refuse("failed", f"{kind.__name__}: {error}"))


def _write(answer: ReadAnswer) -> None:
    sys.stdout.buffer.write(orjson.dumps(answer))


def main() -> None:
    """Answer the request in this process's arguments, once."""
    sys.excepthook = _report_failure
    limit()
    began = time.monotonic()
    result = answer(orjson.loads(sys.argv[1]))
    result["ms"] = round((time.monotonic() - began) * 1000)
    _write(result)


if __name__ == "__main__":
    main()
