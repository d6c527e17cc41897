"""The process that answers one request: `main` reads it on standard input and writes {proposal},
{confirmation} or {problem} as JSON. Strangers' recordings are read and compared here, within limits
(api/proposal/apart.py)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import orjson

from api.core.process_limits import limit_process
from api.proposal.requested import (
    ConfirmationRequest,
    ProposalRequest,
    confirm_draft,
    propose_task,
)
from api.replay.task_tests import BadTestError
from api.tasks.plugins import load_plugins

OUT_OF_MEMORY = 71
"""The exit status of a process that had too little memory."""


def answer_request(request: ProposalRequest | ConfirmationRequest) -> Mapping[str, object]:
    """Return what is answered to a request: {confirmation} to one with a draft, else {proposal}; or
    {problem} with path, value, wanted."""
    try:
        if "draft" in request:
            return {"confirmation": confirm_draft(request)}
        return {"proposal": propose_task(request)}
    except BadTestError as error:
        return {"problem": [error.path, str(error.value)[:120], error.wanted[:600]]}


def main(cpu_s: int, memory: int) -> None:
    """Read standard input, answer on standard output, within seconds of a core and bytes of memory.
    Exits with `OUT_OF_MEMORY` where the memory does not suffice."""
    load_plugins()
    # orjson without memory may crash; the service wrote the request, and bounded it.
    request = orjson.loads(sys.stdin.buffer.read())
    try:
        limit_process(cpu_s, memory)
        sys.stdout.buffer.write(orjson.dumps(answer_request(request)))
        sys.stdout.buffer.flush()
    except (MemoryError, ImportError, SystemError):
        # Without memory a library cannot be mapped, and C code may fail without an exception of its
        # own.
        os._exit(OUT_OF_MEMORY)  # nothing is tidied up: that could need memory
