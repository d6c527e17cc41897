"""What the set-up installs its pinned lists with: uv, told what pip is told, and pip where uv
cannot."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.install_pinned import UV_LIST, read_pip_settings, to_uv_variables

INSTALLER = Path("tools/install_pinned.py")
METADATA = "Metadata-Version: 2.1\nName: parcel\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        pytest.param("", {}, id="nothing set"),
        pytest.param(
            "global.index-url='https://index.test/simple'",
            {"UV_DEFAULT_INDEX": "https://index.test/simple"},
            id="an index",
        ),
        pytest.param(
            "global.extra-index-url='file:///a/simple file:///b/simple'",
            {"UV_INDEX": "file:///a/simple file:///b/simple"},
            id="two more indexes",
        ),
        pytest.param(
            r"global.find-links='\n/opt/wheels\n/opt/more'",
            {"UV_FIND_LINKS": "/opt/wheels,/opt/more"},
            id="folders, a line each",
        ),
        pytest.param(
            "global.index-url='https://file.test/simple'\n"
            "global.cert='/file.pem'\n"
            ":env:.index-url='https://env.test/simple'\n"
            ":env:.cert='/env.pem'\n"
            "install.cert='/install.pem'\n"
            "install.no-index='true'",
            {
                "UV_DEFAULT_INDEX": "https://env.test/simple",
                "SSL_CERT_FILE": "/env.pem",
                "UV_NO_INDEX": "true",
            },
            id="the environment goes before files",
        ),
        pytest.param(
            "download.index-url='https://index.test/simple'\nglobal.require-virtualenv='true'",
            {},
            id="of another command, or none of uv's",
        ),
    ],
)
def test_uv_is_told_what_pip_is_told(listing: str, expected: dict[str, str]) -> None:
    assert to_uv_variables(read_pip_settings(listing)) == expected


def wheel_in(folder: Path) -> str:
    """A wheel of one module in ``folder``; its SHA-256."""
    files = {
        "parcel.py": "CONTENT = 7\n",
        "parcel-1.0.dist-info/METADATA": METADATA,
        "parcel-1.0.dist-info/WHEEL": WHEEL,
    }
    record = "parcel-1.0.dist-info/RECORD"
    lines = [f"{record},,"]
    path = folder / "parcel-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            lines.append(f"{name},sha256={digest.decode().rstrip('=')},{len(text)}")
        archive.writestr(record, "\n".join(lines) + "\n")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    return directory


def install(environment: Path, folder: Path, digest: str, **variables: str) -> tuple[int, str, str]:
    """The exit status of the installer, what it printed, and who the package says installed it."""
    listed = folder / "list.txt"
    listed.write_text(f"parcel==1.0 --hash=sha256:{digest}\n")
    told = {"PIP_FIND_LINKS": str(folder), "UV_CACHE_DIR": str(folder / "cache"), **variables}
    done = subprocess.run(
        [sys.executable, str(INSTALLER), str(environment), str(listed)],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
    )
    found = list(environment.glob("lib/python*/site-packages/parcel-1.0.dist-info/INSTALLER"))
    by = found[0].read_text().strip() if found else ""
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "uninstall", "-qy", "parcel"], capture_output=True)
    return done.returncode, done.stdout + done.stderr, by


def test_a_list_is_installed_by_uv(environment: Path, tmp_path: Path) -> None:
    status, said, by = install(environment, tmp_path, wheel_in(tmp_path))
    assert (status, by) == (0, "uv"), said


def test_where_uv_fails_pip_installs_it_and_says_so(environment: Path, tmp_path: Path) -> None:
    broken = {"UV_CONFIG_FILE": str(tmp_path / "there-is-none.toml")}
    status, said, by = install(environment, tmp_path, wheel_in(tmp_path), **broken)
    assert (status, by) == (0, "pip"), said
    assert "pip does it" in said


def test_another_hash_is_refused_by_both(environment: Path, tmp_path: Path) -> None:
    wheel_in(tmp_path)
    status, said, by = install(environment, tmp_path, "0" * 64)
    assert status != 0
    assert by == ""
    assert "hash" in said.lower()


def test_uv_itself_is_pinned_with_its_hashes() -> None:
    assert "--hash=sha256:" in UV_LIST.read_text()
