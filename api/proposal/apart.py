"""Proposals of what strangers recorded, made in processes of their own: mining takes seconds of a
core, and a process that crashes ends one request and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakValueDictionary

import orjson
import structlog

from api.core.errors import ProposerCrashError
from api.proposal.answering import OUT_OF_MEMORY
from api.proposal.requested import (
    ConfirmationRequest,
    ProposalRequest,
    RequestedConfirmation,
    RequestedProposal,
)
from api.replay.task_tests import BadTestError

NICE = 10
MAX_LOGGED = 4_000
"""Characters of what a crashed process wrote on standard error that are logged: its end."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProposalBudget:
    """What one proposal may take: seconds of a core, bytes of memory, seconds that pass."""

    cpu_s: int = 60
    memory: int = 2 << 30
    deadline_s: float = 180.0


class ApartProposer:
    """Proposes in processes of low priority, at most ``at_once`` of them, each within the
    ``budget``. Of one tenant's requests one at a time waits for its turn: many of one tenant hold
    up another's by one."""

    def __init__(self, at_once: int = 1, budget: ProposalBudget | None = None) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._budget = budget or ProposalBudget()

    async def propose(self, tenant: str, request: ProposalRequest) -> RequestedProposal:
        """Return what `propose_task` does. Raises `BadTestError`, also for what exceeds the budget,
        and `ProposerCrashError` where the process ended for another reason."""
        answer = await self._ask(tenant, request)
        return cast(RequestedProposal, answer["proposal"])

    async def confirm(self, tenant: str, request: ConfirmationRequest) -> RequestedConfirmation:
        """Return what `confirm_draft` does. Raises as `propose`."""
        answer = await self._ask(tenant, request)
        return cast(RequestedConfirmation, answer["confirmation"])

    async def _ask(
        self, tenant: str, request: ProposalRequest | ConfirmationRequest
    ) -> dict[str, object]:
        lock = self._locks.setdefault(tenant, asyncio.Lock())
        async with lock, self._turns:
            return await _answer_apart(orjson.dumps(request), self._budget)


async def _answer_apart(request: bytes, budget: ProposalBudget) -> dict[str, object]:
    """Let a child process answer within its budget of time and memory. Raises where it goes
    beyond."""
    places = os.pathsep.join(filter(None, sys.path))
    call = f"main({budget.cpu_s}, {budget.memory})"
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        f"import os; os.nice({NICE}); from api.proposal.answering import main; {call}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": places, "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(budget.deadline_s):
            output, errors = await child.communicate(request)
    except TimeoutError:
        raise _over_budget(f"{budget.deadline_s:g} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0 or not output:
        raise _explain_end(child.returncode, errors, budget)
    answer: dict[str, Any] = orjson.loads(output)
    if "problem" in answer:
        raise BadTestError(*answer["problem"])
    return answer


def _explain_end(status: int | None, errors: bytes, budget: ProposalBudget) -> Exception:
    """Return the error for a process that ended without an answer: which budget it exceeded, else
    that it crashed, which is logged with what it wrote on standard error."""
    if status == -signal.SIGXCPU:
        return _over_budget(f"{budget.cpu_s} s of a core")
    if status == OUT_OF_MEMORY:
        return _over_budget(f"{budget.memory >> 20} MiB of memory")
    ended = _name_status(status)
    log.error(
        "proposer-crashed", ended=ended, errors=errors.decode("utf-8", "replace")[-MAX_LOGGED:]
    )
    return ProposerCrashError(
        f"the process that proposes a task ended with {ended}, expected a proposal;"
        " the service's log has what it wrote"
    )


def _name_status(status: int | None) -> str:
    """Return an exit status in words; one below 0 is the signal that ended the process."""
    if status is None or status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _over_budget(limit: str) -> BadTestError:
    return BadTestError("recordings", "…", f"recordings of which a task is made within {limit}")
