"""A real daemon process for tests, with its loopback port as methods."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import orjson

from tests.support.preloaded import launch

ROOT = Path(__file__).resolve().parents[3]


class DaemonProcess:
    """``async with DaemonProcess(peer.url, tmp_path) as daemon``: started, listening, and ended at
    the end."""

    def __init__(
        self, service: str, folder: Path, *args: str, token: str = "secret", episode: str = "E"
    ) -> None:
        self.state = folder / "state"
        self._token_file = folder / "token"
        self._token_file.write_text(token)
        self._args = (
            "run", "--service", service, "--episode", episode, "--token-file", str(self._token_file),
            "--state", str(self.state), *args,
        )  # fmt: skip
        self.process: Any = None
        self._said = ""
        self.http: httpx.AsyncClient | None = None

    async def launch(self) -> Any:
        """Start the process without waiting for anything."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - until the daemon has ended
        self.process = launch(
            [sys.executable, "-m", "agentd", *self._args],
            cwd=ROOT, env=os.environ | {"PYTHONWARNINGS": "error"}, stderr=self._errors,
        )  # fmt: skip
        return self.process

    async def has_said(self, words: str) -> None:
        """Wait until the daemon said ``words``; fail after half a minute."""
        until = time.monotonic() + 30
        while words not in os.pread(self._errors.fileno(), 1 << 20, 0).decode():
            assert time.monotonic() < until, f"it did not say {words!r}"
            await asyncio.sleep(0.01)

    async def start(self) -> None:
        """Start and wait until the control port answers."""
        (self.state / "agentd.json").unlink(missing_ok=True)
        process = await self.launch()
        async with asyncio.timeout(30):
            while not (self.state / "agentd.json").exists():
                if process.poll() is not None:
                    raise RuntimeError((await self.ended())[1])
                await asyncio.sleep(0.01)
        where = orjson.loads((self.state / "agentd.json").read_bytes())
        token = (self.state / "control.token").read_text().strip()
        self.http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{where['port']}",
            headers={"authorization": f"Bearer {token}"},
            trust_env=False,
        )

    async def post(self, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
        assert self.http is not None
        response = await self.http.post(path, json=body or {})
        assert response.status_code == status, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def health(self) -> dict[str, Any]:
        assert self.http is not None
        answer: dict[str, Any] = (await self.http.get("/healthz")).json()
        return answer

    async def all_ready(self) -> None:
        async with asyncio.timeout(30):
            while "gap" in (await self.health())["sources"].values():  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """SIGKILL, as a crash."""
        assert self.process is not None
        self.process.kill()
        await self.ended()

    async def terminate(self) -> tuple[int, str]:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> tuple[int, str]:
        """Wait for the end: (exit code, what it said)."""
        assert self.process is not None
        code = await asyncio.to_thread(self.process.wait, 30)
        if not self._errors.closed:
            self._errors.seek(0)
            self._said = self._errors.read().decode()
            self._errors.close()
        if self.http is not None:
            await self.http.aclose()
            self.http = None
        return code, self._said

    async def __aenter__(self) -> DaemonProcess:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            code, said = await self.ended()
            if kind is not None:
                print(f"the daemon ended with {code} and said:\n{said}")
        if self.http is not None:
            await self.http.aclose()
