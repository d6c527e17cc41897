"""Proposals of what strangers recorded, made in processes of their own: mining takes seconds of a
core, and what crashes there is a refusal and nothing else."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import cast

import orjson

from api.proposal.requested import CPU_S, MEMORY, ProposalRequest, RequestedProposal
from api.replay.task_tests import BadTestError

DEADLINE_S = 180.0
NICE = 10


class ApartProposer:
    """Proposes in processes of low priority, at most ``at_once`` of them."""

    def __init__(self, at_once: int = 1) -> None:
        self._turns = asyncio.Semaphore(at_once)

    async def propose(self, request: ProposalRequest) -> RequestedProposal:
        """Return what `propose_task` does. Raises `BadTestError`, also for what takes too much
        memory or time."""
        async with self._turns:
            return await _propose_apart(orjson.dumps(request))


async def _propose_apart(request: bytes) -> RequestedProposal:
    places = os.pathsep.join(filter(None, sys.path))
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        f"import os; os.nice({NICE}); from api.proposal.requested import main; main()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PYTHONPATH": places, "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            told, _ = await child.communicate(request)
    except TimeoutError:
        raise _too_costly() from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0 or not told:
        raise _too_costly()
    answer = orjson.loads(told)
    if "problem" in answer:
        raise BadTestError(*answer["problem"])
    return cast(RequestedProposal, answer["proposal"])


def _too_costly() -> BadTestError:
    wanted = f"recordings of which a task is made within {CPU_S} s and {MEMORY >> 20} MiB"
    return BadTestError("recordings", "…", wanted)
