"""A stage that asks the endpoint beside it, and the processes that tests start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from api.cascade.stages import Stages
from api.stages.base import Opinion, Question
from detectors.model.codec import canonical, sha256
from detectors.model.types import Verdict

ROOT = Path(__file__).parents[2]
MODEL = "scripted@1"


class HttpStage:
    """Puts a question to ``url``; what it depends on is the criteria and the step's events."""

    def __init__(self, name: Literal["model", "judge"], url: str) -> None:
        self.name = name
        self._client = httpx.AsyncClient(
            base_url=url, verify=False, timeout=60, limits=httpx.Limits(max_connections=200)
        )

    async def close(self) -> None:
        """Let go of its connections."""
        await self._client.aclose()

    def digest(self, question: Question) -> str:
        """Of the question without the episode's name."""
        told = [
            [event.seq, event.kind, event.data]
            for event in question.events
            if event.kind != "episode.opened"
        ]
        criteria = [[one.id, one.text] for one in question.criteria]
        return sha256(canonical([self.name, MODEL, question.about, question.step, criteria, told]))

    async def ask(self, question: Question) -> Opinion:
        """One opinion."""
        digest = self.digest(question)
        try:
            answer = await self._client.post(
                "/ask", json={}, headers={"idempotency-key": f"{self.name}:{digest}"}
            )
        except httpx.TransportError as error:
            return Opinion(
                Verdict(self.name, None, 0.0, f"{type(error).__name__}", MODEL), again=True
            )
        if answer.is_error:
            why = f"it answered {answer.status_code}"
            return Opinion(
                Verdict(self.name, None, 0.0, why, MODEL), again=answer.status_code >= 500
            )
        said: Any = answer.json()
        verdict = Verdict(
            self.name, said["score"], said["confidence"], "so it says", MODEL, said.get("cost", 0.0)
        )
        votes = [{"criteria": {"c1": {"met": "yes", "evidence": ["e3"]}}}]
        return Opinion(verdict, {"model": MODEL, "prompt": "p" * 64, "votes": votes, "calls": 1})


def stages(url: str, *tiers: Literal["model", "judge"]) -> Stages:
    """The stages of a service that asks ``url``."""
    off = {
        name: f"the {name} is off: a test left it out"
        for name in ("model", "judge")
        if name not in tiers
    }
    return Stages({tier: [HttpStage(tier, url)] for tier in tiers}, off)


class Child:
    """A process of a test's that writes its port into a file once it listens."""

    def __init__(self, module: str, file: Path, *arguments: str) -> None:
        self._command = [sys.executable, "-m", module, str(file), *arguments]
        self._file = file
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it, and wait until it listens."""
        self._file.unlink(missing_ok=True)
        self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=subprocess.DEVNULL)
        while not self._file.exists():
            assert self._process.poll() is None, (
                f"{self._command} ended with {self._process.returncode}"
            )
            time.sleep(0.02)
        self.url = f"http://127.0.0.1:{self._file.read_text()}"
        return self

    def kill(self) -> None:
        """End it as a crash would."""
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, how)
            self._process.wait(timeout=30)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.end()


class Endpoint(Child):
    """The scripted endpoint."""

    def __init__(self, folder: Path) -> None:
        super().__init__("tests.cascade.endpoint", folder / "endpoint.port")

    def say(self, **script: Any) -> None:
        """Answer so from now on."""
        httpx.post(f"{self.url}/script", json=script).raise_for_status()

    def bills(self) -> dict[str, int]:
        """What it billed, by question."""
        return dict(httpx.get(f"{self.url}/bills").json())

    def calls(self) -> dict[str, int]:
        """How many calls came, and how many of them at once."""
        return dict(httpx.get(f"{self.url}/calls").json())
