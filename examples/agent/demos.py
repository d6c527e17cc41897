"""Demonstrations: scripted episodes that the daemon records, and the service's export of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.agent.browser import SLOTS, Browser
from examples.agent.families import families
from lab.demo.parts import DemoService
from lab.demo.processes import console

FIRST = 500_000
"""The seed of the first demonstration; training and evaluation have others."""


def record(service: DemoService, folder: Path, number: int, parts: int) -> None:
    """Have ``number`` demonstrations recorded, of the families of so many parts in turn; goes on where a recording
    was cut off. What was open then is no success, and is not exported."""
    noted = folder / f"recorded-{parts}"
    folder.mkdir(parents=True, exist_ok=True)
    done = int(noted.read_text()) if noted.exists() else 0
    browser = Browser(sys.executable, service.url, service.token, folder / "state")
    try:
        for start in range(done, number, SLOTS):
            end = min(start + SLOTS, number)
            _record_batch(browser, families(parts), range(start, end))
            noted.write_text(str(end))
            print(f"demonstrations: {end} of {number}", flush=True)
    finally:
        browser.close()


def _record_batch(browser: Browser, names: Sequence[str], numbers: range) -> None:
    asked = [
        {
            "slot": slot,
            "family": names[number % len(names)],
            "seed": FIRST + number,
            "kind": "milestones",
            "labels": {"policy": "script"},
        }
        for slot, number in enumerate(numbers)
    ]
    browser.ask("open", asked)
    active = list(range(len(asked)))
    while active:
        seen = browser.ask("act", [{"slot": slot, "do": None} for slot in active])
        active = [slot for slot, one in zip(active, seen, strict=True) if not one["over"]]
    browser.ask("close", [{"slot": slot} for slot in range(len(asked))])


def export(data: Path, out: Path) -> None:
    """Write the closed, successful episodes of a service's folder as chat data."""
    command = [*console("milestoned", "api.cli.main"), "export", "--stored", "--data", str(data)]
    subprocess.run([*command, "--form", "sft", "--out", str(out)], check=True)
