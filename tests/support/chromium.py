"""Debian's Chromium for tests: started with a free debugging port and a profile of its own, ended
by its pid.

Used as ``with Chromium() as browser`` or ``async with Chromium() as browser``. Pass ``profile`` to
start a second browser in the profile of one that was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

EXECUTABLE = "/usr/bin/chromium"
LEAN = str(Path(__file__).with_name("chromium-lean"))
"""The same with less of its own windows: for Playwright, whose options `FLAGS` would undo."""
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    # The popup of the address bar is two pages a window, a second of processor time.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--password-store=basic",
    "--remote-debugging-port=0",
)
START_S = 60.0
"""How long a browser may take to come up on a busy machine, in seconds."""

needs_chromium = pytest.mark.skipif(
    not Path(EXECUTABLE).exists(), reason=f"{EXECUTABLE} is missing"
)


class Chromium:
    """One running browser: ``endpoint`` (http://127.0.0.1:PORT), ``profile`` (Path), ``pid``."""

    def __init__(
        self,
        *args: str,
        headless: bool = True,
        profile: Path | None = None,
        display: str | None = None,
        environ: Mapping[str, str] | None = None,
        url: str = "about:blank",
        user: int | None = None,
    ) -> None:
        self._args = args
        self._headless = headless
        self._display = display
        self._environ = environ
        self._url = url
        self._own_profile = profile is None
        self.profile = profile or Path(tempfile.mkdtemp(prefix="milestoned-chromium-"))
        self._as: dict[str, Any] = {}
        if user is not None:  # another user's browser, as root may start it
            self._as = {"user": user, "group": user, "extra_groups": []}
            os.chown(self.profile, user, user)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def endpoint(self) -> str:
        """The address that ``connect_over_cdp`` and ``--cdp`` take."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the browser was not started"
        return self._process.pid

    def start(self) -> Chromium:
        """Start the browser and wait until it listens; raises RuntimeError with its words if it
        ends."""
        port_file = self.profile / "DevToolsActivePort"
        port_file.unlink(missing_ok=True)
        for lock in self.profile.glob("Singleton*"):
            # a killed browser leaves its lock, and the next one would refuse the profile
            lock.unlink()
        env = dict(os.environ if self._environ is None else self._environ)
        if self._display is not None:
            env["DISPLAY"] = self._display
        mode = ("--headless=new",) if self._headless else ()
        with (self.profile / "chromium.log").open("wb") as log:
            self._process = subprocess.Popen(
                [EXECUTABLE, *FLAGS, *mode, f"--user-data-dir={self.profile}", *self._args, self._url],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True,
                **self._as,
            )  # fmt: skip
        self.port = self._await_port(port_file)
        return self

    def _await_port(self, port_file: Path) -> int:
        assert self._process is not None
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                said = (self.profile / "chromium.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"chromium ended with {self._process.returncode}: {said}")
            lines = port_file.read_text().splitlines() if port_file.exists() else []
            if len(lines) == 2:
                return int(lines[0])
            time.sleep(0.02)
        self.stop()
        raise RuntimeError(f"chromium wrote no {port_file} within {START_S} s")

    def gone(self) -> bool:
        """Whether it was started and does not run any more."""
        return self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        """End the browser as a crash would: SIGKILL to it and its children, at once."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """End the browser politely, by force after five seconds, and remove a profile of its
        own."""
        self._signal(signal.SIGTERM)
        if self._own_profile:
            shutil.rmtree(self.profile, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def __enter__(self) -> Chromium:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Chromium:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)
