"""The images that compose names: built from this tree; what they stand on is pulled by an engine that
was given, and made here for one of the test's own, which asks no registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fleet.containers.engine import Engine

ROOT = Path(__file__).parents[3]
STAND_INS = Path(__file__).parent / "stand_ins"
BASE = "debian:bookworm-slim"
BUILT = {"milestoned-service": "service", "milestoned-sandbox": "sandbox"}
PULLED = {"postgres:17-bookworm": "postgres", "nginx:1.28-bookworm": "nginx"}
BUILD_S = 1_200.0
# How this machine installs packages, where it does so by a mirror or with a certificate of its own.
_APT = ("apt.conf.d", "sources.list.d/debian.sources", "sources.list")
_FILES = ("pip.conf", "npmrc", "ssl/certs/ca-certificates.crt")
_VARIABLES = ("PIP_CERT", "NODE_EXTRA_CA_CERTS")


class Built(NamedTuple):
    """An image: its size in bytes, how much of it is not the base, how long its build took."""

    size: int
    over_base: int
    seconds: float


def build(engine: Engine, *, pulls: bool) -> dict[str, Built]:
    """Every image that compose names; gives those of this tree, by name."""
    if pulls:
        for image in (BASE, *PULLED):
            engine.docker("pull", "--quiet", image, timeout_s=BUILD_S)
    else:
        _make_base(engine)
        for image, name in PULLED.items():
            _build(engine, image, STAND_INS, STAND_INS / f"Dockerfile.{name}")
    return {
        image: _build(engine, image, ROOT, ROOT / "deploy" / f"Dockerfile.{name}")
        for image, name in BUILT.items()
    }


def new_version(engine: Engine) -> str:
    """The service's image with another label: what a roll-out brings. Gives its id."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Dockerfile").write_text("FROM milestoned-service\nLABEL rolled=yes\n")
        return engine.docker("build", "--quiet", "--tag", "milestoned-service", folder)


def _build(engine: Engine, image: str, context: Path, file: Path) -> Built:
    began = time.monotonic()
    words = ("--network", "host", "--file", str(file), "--tag", image, str(context))
    engine.docker("build", *words, timeout_s=BUILD_S)
    seconds = time.monotonic() - began
    size, base = (
        int(engine.docker("image", "inspect", "-f", "{{.Size}}", one)) for one in (image, BASE)
    )
    return Built(size, size - base, seconds)


def _make_base(engine: Engine) -> None:
    """Debian by debootstrap, under the name of the image that can't be had."""
    if shutil.which("debootstrap") is None:
        pytest.skip(f"debootstrap is not there to make {BASE}")
    with tempfile.TemporaryDirectory(prefix="milestoned-base-") as name:
        tree = Path(name)
        tree.chmod(0o755)
        subprocess.run(
            ["debootstrap", "--variant=minbase", "bookworm", tree],
            check=True,
            capture_output=True,
            timeout=BUILD_S,
        )
        shutil.rmtree(tree / "var" / "cache" / "apt" / "archives")
        shutil.rmtree(tree / "var" / "lib" / "apt" / "lists")
        # As Debian's own image for containers: a build that is cut off is thrown away whole.
        (tree / "etc/dpkg/dpkg.cfg.d/speedup").write_text("force-unsafe-io\n")
        changes = _as_this_machine_installs(tree)
        pack = ["tar", "-C", str(tree), "-c", "."]
        with subprocess.Popen(pack, stdout=subprocess.PIPE) as packed:
            subprocess.run(
                ["docker", "import", *changes, "-", BASE],
                env=engine.environment,
                stdin=packed.stdout,
                check=True,
                capture_output=True,
            )
        assert packed.returncode == 0


def _as_this_machine_installs(tree: Path) -> list[str]:
    """Copies the machine's settings of apt, pip and npm; gives the variables for the import."""
    # Else each of the machine's packages is configured twice, here and in what debootstrap wrote.
    (tree / "etc/apt/sources.list").unlink(missing_ok=True)
    for name in _APT:
        _copy(Path("/etc/apt") / name, tree / "etc/apt" / name)
    for name in _FILES:
        _copy(Path("/etc") / name, tree / "etc" / name)
    changes = ["--change", 'CMD ["bash"]']
    for name in _VARIABLES:
        if name in os.environ:
            _copy(Path(os.environ[name]), tree / f"etc/{name}.pem")
            changes += ["--change", f"ENV {name}=/etc/{name}.pem"]
    return changes


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
