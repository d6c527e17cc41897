"""YAML of strangers, read in processes of its own.

Beside api/core/yaml_child.py, which such a process runs: asyncio would be half of what that
imports.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import orjson

from api.core.yaml_child import CPU_S, MEMORY
from common.yaml_text import BadYamlError, Lines

DEADLINE_S = 20.0


class ApartReader:
    """Reads in processes of its own, at most ``at_once`` of them: one that crashes is a refusal and
    nothing else."""

    def __init__(self, at_once: int = 2) -> None:
        self._turns = asyncio.Semaphore(at_once)

    async def read(self, text: bytes) -> tuple[Any, Lines]:
        """As `read_yaml`, of UTF-8 text. Raises `BadYamlError`, also for what takes too much memory
        or time."""
        async with self._turns:
            return await _read_apart(text)


async def _read_apart(text: bytes) -> tuple[Any, Lines]:
    """Let a child process read YAML within a deadline. Raises `BadYamlError`."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "api.core.yaml_child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            said, _ = await child.communicate(text)
    except TimeoutError:
        raise BadYamlError(None, "text", f"YAML that is read within {DEADLINE_S:g} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0 or not said:
        raise BadYamlError(
            None, "text", f"YAML that is read within {CPU_S} s and {MEMORY >> 20} MiB"
        )
    answer: dict[str, Any] = orjson.loads(said)
    if "problem" in answer:
        raise BadYamlError(*answer["problem"])
    return answer["spec"], {tuple(path): line for path, line in answer["lines"]}
