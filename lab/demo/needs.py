"""What a demo needs of the machine, asked before anything is started; whatever lacks is said with
its remedy."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lab.demo.desktop import PROGRAMS

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_NO_BROWSER = """\
Chromium is missing: none of {names} is on PATH, and MILESTONED_CHROMIUM does not name one.
  Debian, Ubuntu:  sudo apt-get install chromium      (Ubuntu: chromium-browser)
  Fedora:          sudo dnf install chromium
  macOS:           brew install --cask chromium
  or name one:     MILESTONED_CHROMIUM=/path/to/chromium milestoned demo"""

_NO_MODULE = """The Python package {package} is missing.
  from a checkout:  {command}"""

# Its Node is linked to libatomic, which a bare Debian lacks; what a loader says of it names the
# library.
_NO_DRIVER = """Playwright's driver does not run: {said}
  if a shared library is missing:  sudo apt-get install libatomic1    \
(Fedora: sudo dnf install libatomic)
  or name a Node.js of your own:   PLAYWRIGHT_NODEJS_PATH=/path/to/node milestoned demo"""


class LackingError(Exception):
    """Something that a demo needs is not there; the message says how to get it."""


def find_chromium() -> str:
    """Find the browser's executable, and give its path. Raises `LackingError`."""
    named = os.environ.get("MILESTONED_CHROMIUM")
    if named is not None:
        if not os.access(named, os.X_OK):
            raise LackingError(
                f"MILESTONED_CHROMIUM is {named!r}, which is no program that can be run"
            )
        return named
    for name in _BROWSERS:
        found = shutil.which(name)
        if found is not None:
            return found
    raise LackingError(_NO_BROWSER.format(names=", ".join(_BROWSERS)))


def find_client() -> None:
    """Make sure that the client is installed. Raises `LackingError`."""
    _find("milestoned_client", "milestoned-client", "pip install ./client")


def find_playwright() -> None:
    """Make sure that the agent's hands are installed, and can move. Raises `LackingError`."""
    _find(
        "playwright",
        "playwright",
        "pip install '.[playwright]'    (its own browsers are not needed)",
    )
    asked = [sys.executable, "-m", "playwright", "--version"]
    done = subprocess.run(
        asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise LackingError(
            _NO_DRIVER.format(said=done.stdout.strip() or f"it ended with {done.returncode}")
        )


def find_display(headed: bool) -> None:
    """Make sure that a browser can be shown, if it is to be. Raises `LackingError`."""
    shown = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if headed and sys.platform.startswith("linux") and not shown:
        raise LackingError(
            "--headed: there is no display (DISPLAY is not set). Leave --headed out, or: xvfb-run"
        )


def find_desktop(program: str) -> None:
    """Make sure that a desktop can be started, and ``program`` on it, whose package is called as it
    is. Raises `LackingError`."""
    needed = {program: program, **PROGRAMS}
    lacking = [name for name in needed if shutil.which(name) is None and not Path(name).is_file()]
    if lacking:
        packages = " ".join(needed[name] for name in lacking)
        raise LackingError(
            f"missing: {', '.join(lacking)}\n  Debian, Ubuntu:  sudo apt-get install {packages}"
        )


def _find(module: str, package: str, command: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise LackingError(_NO_MODULE.format(package=package, command=command))
