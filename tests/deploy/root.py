"""A Debian of its own for a test: made by debootstrap, entered with mounts and processes of its
own.

It shares the machine's network, by which it installs packages; what it starts ends with the command
that started it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.merged_output import run_merged

ROOT = Path(__file__).parents[2]
_ENTER = """
set -e
mount -t proc proc "$R/proc"; mount --rbind /dev "$R/dev"; mount -t tmpfs tmpfs "$R/run"; mount -t tmpfs tmpfs "$R/tmp"
exec chroot "$R" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  $CERTIFICATES bash -c "$1"
"""

needs_root = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("debootstrap") is None,
    reason="debootstrap and root are needed",
)


class Debian:
    """Debian 12 in ``folder``, with this tree at /src."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.chmod(0o755)  # it becomes the root of other users too
        subprocess.run(
            ["debootstrap", "--variant=minbase", "bookworm", folder],
            check=True,
            capture_output=True,
            timeout=1_200,
        )
        _copy_tree(folder / "src")
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", folder / "etc" / name)
        self._certificates = self._trust()

    def _trust(self) -> str:
        # Where packages come through a mirror with a certificate of its own.
        said = []
        for name in ("PIP_CERT", "NODE_EXTRA_CA_CERTS"):
            if name in os.environ:
                shutil.copy(os.environ[name], self._folder / "etc" / f"{name}.pem")
                said.append(f"{name}=/etc/{name}.pem")
        return " ".join(said)

    def run(self, script: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
        """Run a bash script inside as root; everything that it leaves running is ended."""
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        environment = {
            "PATH": os.environ["PATH"],
            "R": str(self._folder),
            "CERTIFICATES": self._certificates,
        }
        return run_merged([*alone, "bash", "-c", _ENTER, "bash", script], environment, timeout_s)


def _copy_tree(to: Path) -> None:
    """What a clone of this tree would hold, with its changes; nothing that a set-up made."""
    list_them = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(list_them, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():  # one that was taken away since is still in the index
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name, follow_symlinks=False)
