"""docs/tutorial.md word for word: its commands are read from the page, and print what it shows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Playwright

from tests.support.chromium import EXECUTABLE, needs_chromium
from tests.support.ports import free_port

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
READY = {
    "second": "Serving HTTP",
    "third": "DevTools listening",
    "fourth": "Watching",
    "fifth": "listens on",
    "sixth": "Watching",
    "seventh": "Watching",
}
"""What each command that keeps running prints once it can be used, by its terminal."""
SIGNED = {"fourth": "Ada", "sixth": "Ada", "seventh": "Grace"}
"""As whom the reader signs the guest book while a terminal watches."""
TIMEOUT_S = 120.0
_BLOCK = re.compile(r'^```sh(?: title="(\w+) terminal")?\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?', re.S | re.M)  # fmt: skip


@dataclass
class Block:
    """A block of commands, the terminal that it keeps busy if any, and the output that is shown."""

    terminal: str | None
    commands: str
    output: str | None


def read_blocks(ports: dict[str, int]) -> list[Block]:
    """Read the tutorial's blocks, with other ports in place of its own."""
    page = TUTORIAL.read_text()
    for written, port in ports.items():
        page = re.sub(rf"\b{written}\b", str(port), page)
    return [Block(*match.groups()) for match in _BLOCK.finditer(page)]


def mask_numbers(text: str) -> list[str]:
    """The lines of ``text`` without what differs from run to run: digests, times, events'
    numbers, paths."""
    text = re.sub(r"ruleset \w{12}", "ruleset …", text)
    text = re.sub(r"#\d+ +", "#… ", text)
    text = re.sub(r"events [\d, ]+", "events …", text)
    text = re.sub(r"^ +\d+ +\d+\.\d{3} ", "", text, flags=re.M)
    text = re.sub(r"\S+/(?=runs/first/)", "", text)
    return [line.rstrip() for line in text.splitlines()]


@dataclass
class Reader:
    """Someone who types the blocks: a folder, and the terminals that are busy."""

    folder: Path
    environ: dict[str, str]
    busy: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def log(self, terminal: str) -> str:
        return (self.folder / f"{terminal}.txt").read_text(errors="replace")

    def run(self, commands: str) -> str:
        """Run what ends by itself; returns what it printed."""
        done = subprocess.run(
            ["bash", "-e"],
            input=commands,
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, terminal: str, commands: str) -> None:
        """Run what keeps running, and wait until it can be used."""
        with (self.folder / f"{terminal}.txt").open("wb") as log:
            self.busy[terminal] = subprocess.Popen(
                ["bash", "-c", commands],
                cwd=self.folder,
                env=self.environ,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_hear_ctrl_c,
            )
        self.wait_for(terminal, READY[terminal])

    def wait_for(self, terminal: str, text: str) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while text not in self.log(terminal):
            assert self.busy[terminal].poll() is None, self.log(terminal)
            assert time.monotonic() < deadline, f"expected {text!r}, got {self.log(terminal)!r}"
            time.sleep(0.05)

    def press_ctrl_c(self, terminal: str) -> None:
        process = self.busy.pop(terminal)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(TIMEOUT_S)


def _hear_ctrl_c() -> None:
    """A terminal's programs end with Ctrl-C, also where these tests run in the background, whose
    programs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A folder with the environment that `make demo` makes, and a Chromium that needs no screen."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    programs = tmp_path / "programs"
    programs.mkdir()
    chromium = programs / "chromium"
    chromium.write_text(f'#!/bin/sh\nexec {EXECUTABLE} --headless=new --no-sandbox "$@"\n')
    chromium.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    reader = Reader(tmp_path, {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"})
    yield reader
    for terminal in list(reader.busy):
        reader.press_ctrl_c(terminal)


@pytest.mark.browser
@needs_chromium
async def test_the_tutorial_ends_with_the_rewards_that_it_shows(
    reader: Reader, one_playwright: Playwright
) -> None:
    ports = {shown: free_port() for shown in ("8000", "9222", "8420")}
    demo, *blocks = read_blocks(ports)
    assert demo.commands == "make demo\n"
    assert [block.terminal for block in blocks if block.terminal] == list(READY)
    for block in blocks:
        if block.terminal is None:
            printed = reader.run(block.commands)
        elif block.terminal in SIGNED:
            browser = await one_playwright.chromium.connect_over_cdp(
                f"http://127.0.0.1:{ports['9222']}"
            )
            page = browser.contexts[0].pages[0]
            await page.reload()
            reader.start(block.terminal, block.commands)
            await page.get_by_label("Your name").fill(SIGNED[block.terminal])
            await page.get_by_role("button", name="Sign").click()
            reader.wait_for(block.terminal, f"Thank you, {SIGNED[block.terminal]}")
            reader.press_ctrl_c(block.terminal)
            printed = reader.log(block.terminal)
        else:
            reader.start(block.terminal, block.commands)
            printed = ""
        if block.output is not None:
            missing = Counter(mask_numbers(block.output)) - Counter(mask_numbers(printed))
            assert not missing, printed
