"""Programs of npm packages for tests: installed below .build by their exact version, with the node
of this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALL_S = 300


def npm_program(package: str, version: str, program: str) -> str:
    """Return the path of a package's program; skips the test where it cannot be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip(f"{package}: node or npm is missing")
    folder = ROOT / ".build" / "npm" / f"{package.replace('/', '-')}-{version}"
    path = folder / "node_modules" / ".bin" / program
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ("npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund")
        done = subprocess.run(
            [*command, f"{package}@{version}"],
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"{package}: npm could not install it: {done.stderr[-300:]}")
    return str(path)
