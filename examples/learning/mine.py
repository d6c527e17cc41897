"""The task `mined`: what `milestoned task propose` finds in three right and three wrong runs.

    .venv/bin/python -m examples.learning.mine

Plays the runs in Chromium under a daemon, into ``recordings``, and writes ``mined.yaml``, both
beside this file. No milestone of it is written by hand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from playwright.sync_api import BrowserContext, sync_playwright

from agentd import attach
from examples.learning.tasks import INSTRUCTION, MINED
from examples.page_server import serve_pages
from lab.demo.needs import find_chromium

PAGE = (Path(__file__).parent / "page.html").read_bytes()
PATH = ("Lamps", "Desk lamp", "Add to cart", "Checkout", "Pay")
GOOD: Mapping[str, Sequence[str]] = {
    "good-1": PATH,
    "good-2": ("Lamps", "Reviews", "Desk lamp", "Add to cart", "Checkout", "Pay"),
    "good-3": ("Help", "Lamps", "Desk lamp", "Add to cart", "Wish list", "Checkout", "Pay"),
}
BAD: Mapping[str, Sequence[str]] = {
    "bad-1": PATH[:-1],
    "bad-2": PATH[::-1],
    "bad-3": ("Desk lamp", "Lamps", "Checkout", "Pay", "Wish list", "Help"),
}
"""What is pressed in each run: two of the wrong ones press the right buttons at wrong times."""

ORIGIN_NOTE = (
    "# Where the page was served while it was recorded, at a free port; examples/learning/tasks.py"
    " puts the address of each training in its place."
)


def record(folder: Path, runs: Mapping[str, Sequence[str]]) -> None:
    """Play runs in one Chromium and write their recordings into ``folder``."""
    with serve_pages(lambda _: PAGE) as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        for out, buttons in zip(_files(folder, runs), runs.values(), strict=True):
            _record(browser.new_context(), f"{origin}/shop", out, buttons)
        browser.close()


def _files(folder: Path, runs: Mapping[str, Sequence[str]]) -> list[Path]:
    return [folder / f"{name}.mrec" for name in runs]


def _record(context: BrowserContext, address: str, out: Path, buttons: Sequence[str]) -> None:
    page = context.new_page()
    page.goto(address)
    with attach(context, out=out, force="yes") as watch:
        for button in buttons:
            watch.begin_step({"verb": "click"})
            page.get_by_role("button", name=button, exact=True).click()
            watch.end_step()
    context.close()


def propose(good: Sequence[Path], bad: Sequence[Path], out: Path) -> None:
    """Write the proposal of recordings. Raises `CalledProcessError` where there is none."""
    command = [str(Path(sys.executable).parent / "milestoned"), "task", "propose"]
    command += [part for path in good for part in ("--from", str(path))]
    command += [part for path in bad for part in ("--against", str(path))]
    command += ["--instruction", INSTRUCTION, "--id", "learning/mined", "--out", str(out)]
    subprocess.run(command, check=True)


def explain_origin(file: Path) -> None:
    """Say in a proposal what its address is."""
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("\norigin: ", f"\n{ORIGIN_NOTE}\norigin: ", 1), encoding="utf-8")


def main() -> None:
    """Record the runs, or take those of before, and write the proposal."""
    parser = argparse.ArgumentParser(prog="python -m examples.learning.mine", description=__doc__)
    parser.add_argument("--again", action="store_true", help="propose from what was recorded")
    given = parser.parse_args()
    folder = MINED.parent / "recordings"
    if not given.again:
        folder.mkdir(exist_ok=True)
        record(folder, {**GOOD, **BAD})
    MINED.unlink(missing_ok=True)
    propose(_files(folder, GOOD), _files(folder, BAD), MINED)
    explain_origin(MINED)


if __name__ == "__main__":
    main()
