"""One virtual machine in QEMU, by the commands of ``deploy/vm`` that an operator has."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import pytest

from tests.api.processes import ROOT
from tests.support.ports import free_port

VM = ROOT / "deploy" / "vm"
ENDED_S = 30.0
ANSWER_S = 300.0
"""How long QEMU may take for a command, and the machine for one over SSH: without KVM it is slow."""


PATIENCE = "20"
"""The daemon's, without KVM: its sources have a second or two to answer before a step is sealed, and
take longer there."""


def is_emulated() -> bool:
    """Whether machines run without KVM."""
    said = subprocess.run([str(VM / "run"), "--accel"], capture_output=True, text=True, check=True)
    return said.stdout.strip() != "kvm"


needs_machines = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0, reason="making a machine's image needs root"),
    *(
        pytest.mark.skipif(
            shutil.which(command) is None,
            reason=f"{command} is missing; `make vm-image` installs what is needed",
        )
        for command in ("qemu-system-x86_64", "debootstrap", "genisoimage", "ssh")
    ),
]


def say(line: str) -> None:
    """For the summary; pytest shows it with ``-s``."""
    print(f"machine: {line}", flush=True)


def make_image(folder: Path) -> Path:
    """The disk of this tree: the one that ``VM_IMAGE`` names, or one that is made here."""
    given = os.environ.get("VM_IMAGE")
    if given:
        return Path(given)
    image, began = folder / "sandbox.qcow2", time.monotonic()
    environment = os.environ | {"PACKAGES": "mousepad"}
    subprocess.run([str(VM / "build"), str(image)], check=True, env=environment, timeout=3_000)
    say(f"an image of {image.stat().st_size >> 20} MB made in {time.monotonic() - began:.0f} s")
    return image


class Machine:
    """A machine of ``image`` that joins the service at ``port`` of loopback as the sandbox ``name``;
    within ``with`` it runs. Started again it is the image's again."""

    def __init__(self, folder: Path, image: Path, name: str, port: int, token: Path) -> None:
        folder.mkdir()
        self._image, self._seed, self._monitor = image, folder / "seed.iso", folder / "monitor"
        self._key, self._log = folder / "harness", folder / "qemu.log"
        self._devtools, self._ssh = free_port(), free_port()
        self._process: subprocess.Popen[bytes] | None = None
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
        subprocess.run([*keygen, str(self._key)], check=True)
        words = (VM / "seed", self._seed, name, f"http://10.0.2.2:{port}", token)
        address = f"http://127.0.0.1:{self._devtools}"
        options = {"AGENTD_PATIENCE": PATIENCE} if is_emulated() else {}
        command = [*map(str, words), address, f"{self._key}.pub"]
        subprocess.run(command, check=True, env=os.environ | options)

    def __enter__(self) -> Self:
        self._monitor.unlink(missing_ok=True)
        ports = (f"{self._devtools}:9223", f"{self._ssh}:22")
        command = [str(VM / "run"), *map(str, (self._image, self._seed, self._monitor)), *ports]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it as a host that fails would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=ENDED_S)

    def check(self) -> None:
        """Raise what QEMU said where it has ended."""
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()[-2_000:]

    def run(self, command: str) -> str:
        """What ``command`` of the agent's user says. Raises where it fails."""
        options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
        words = ["ssh", "-i", str(self._key), "-p", str(self._ssh)]
        for option in options:
            words += ["-o", option]
        done = subprocess.run(
            [*words, "agent@127.0.0.1", command], capture_output=True, text=True, timeout=ANSWER_S
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def command(self, line: str) -> float:
        """Give QEMU's monitor a command; the seconds that it took. Raises what QEMU says of a
        failure."""
        began = time.monotonic()
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(ANSWER_S)
            monitor.connect(str(self._monitor))
            _read_prompt(monitor)
            monitor.sendall(f"{line}\n".encode())
            said = _read_prompt(monitor)
        assert "Error" not in said, said
        return time.monotonic() - began


def _read_prompt(monitor: socket.socket) -> str:
    """What QEMU's monitor says until it waits for the next command."""
    said = b""
    while not said.endswith(b"(qemu) "):
        part = monitor.recv(4_096)
        assert part, said
        said += part
    return said.decode("utf-8", "replace")
