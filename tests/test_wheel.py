"""The bare wheel is the daemon's: it installs into an empty environment without the service's
libraries."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: str | Path) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree with the tools of this environment."""
    out = tmp_path_factory.mktemp("dist")
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        out,
        ".",
    )
    return next(out.glob("milestoned-*.whl"))


def test_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    """Packages, the page script, the migrations and the demo's shop; no tests, no tools."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {
        "agentd",
        "api",
        "common",
        "detectors",
        "lab",
        "migrations",
    }
    assert "agentd/sources/cdp/page/observer.bundle.js" in names
    assert any(name.startswith("migrations/versions/") for name in names)
    for example in ("shop/app.py", "office/app.py", "office/web.yaml"):
        assert f"lab/examples/{example}" in names


def test_the_daemon_runs_from_the_bare_wheel(wheel: Path, tmp_path: Path) -> None:
    """An empty environment, the wheel and its base dependencies: `agentd --help` works, the service
    stayed out."""
    home = tmp_path / "bare"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-warn-script-location",
        wheel,
    )
    assert "run" in run(home / "bin" / "agentd", "--help")
    listed = run(python, "-m", "pip", "list", "--format=freeze").lower()
    for absent in ("fastapi", "sqlalchemy", "pydantic", "alembic", "pyyaml"):
        assert f"{absent}==" not in listed, listed
    run(python, "-c", "import agentd.sources.cdp, agentd.sources.files, detectors.engine.engine")
