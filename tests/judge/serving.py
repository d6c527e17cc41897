"""Endpoints as processes: the scripted judge, and the small model behind a real server of its own
environment."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from api.stages.judge.judge import Judge
from api.stages.judge.settings import JudgeSettings
from api.stages.peer import PeerSettings

ROOT = Path(__file__).parents[2]
MODEL_PYTHON = ROOT / ".venv-judge" / "bin" / "python"
_PEER = {field.name for field in fields(PeerSettings)}


@dataclass(frozen=True)
class Served:
    """One endpoint, up; ``folder`` has what its process writes."""

    url: str
    folder: Path

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What it was asked so far: body and key."""
        path = self.folder / "requests"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextmanager
def serving(
    folder: Path, command: Sequence[str] = (sys.executable, "-m", "tests.judge.standin")
) -> Iterator[Served]:
    """A process that writes its port into ``folder``/port once it serves."""
    process = subprocess.Popen(
        [*command, str(folder)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not (folder / "port").exists():
            assert process.poll() is None, f"the endpoint ended with {process.returncode}"
            time.sleep(0.02)
        yield Served(f"http://127.0.0.1:{(folder / 'port').read_text()}/v1", folder)
    finally:
        process.kill()  # it may be in an answer that is meant to take long
        process.wait()


def judge_at(url: str, model: str, **more: Any) -> Judge:
    """A judge of that model; ``more`` are settings of it or of its peer."""
    peer: dict[str, Any] = {"pause_s": 0.01} | {name: more.pop(name) for name in set(more) & _PEER}
    return Judge(JudgeSettings(peer=PeerSettings(url=url, **peer), model=model, **more))
