"""The fleet of docker-compose.yml, with the demo's shop in the sandboxes' networks."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fleet.containers.engine import Engine
from tests.fleet.containers.images import ROOT
from tests.support.merged_output import run_merged

PROJECT = "milestoned-fleet"
SERVICE = "http://127.0.0.1:8420"
SHOP = "http://shop:8000"
SANDBOXES = ("sandbox-1", "sandbox-2", "sandbox-3", "sandbox-4")
# The daemon's disk of this one can be filled without filling the machine's.
SMALL_DISK = "sandbox-4"
UP_S = 180.0
MEASURED = ("api", "postgres", "proxy", *SANDBOXES)
UNITS = {"B": 1 / 2**20, "KiB": 1 / 2**10, "MiB": 1.0, "GiB": 2.0**10}
# Four browsers on two cores that others use too: a daemon waits longer for what it observes.
PATIENCE = {"environment": {"AGENTD_PATIENCE": "5"}}
# What the test adds to the file: the shop, a small disk, daemons with patience, and less patience with a
# sandbox that is gone.
BESIDE = {
    "version": "3.8",
    "services": {
        "shop": {
            "image": "milestoned-service",
            "command": "python3 -m lab.examples.shop --host 0.0.0.0 --other-host pick-up",
            "environment": {"PATH": "/opt/milestoned/bin:/usr/bin:/bin"},
            "networks": {name: {"aliases": ["pick-up"]} for name in SANDBOXES},
            "healthcheck": {"disable": True},
        },
        **dict.fromkeys(SANDBOXES, PATIENCE),
        SMALL_DISK: PATIENCE
        | {"tmpfs": ["/var/lib/agentd:size=48m,uid=10003,gid=10003,mode=0700"]},
        "api": {
            "command": "milestoned serve --host 0.0.0.0 --port 8420 --i-have-tls-in-front"
            " --sandbox-lost-s 20"
        },
    },
}


def composes() -> list[list[str]]:
    """Every compose that may be on this machine, as commands: Debian's 1.29, a version 2, and the one
    that the variable ``COMPOSE`` names."""
    given = [[os.environ["COMPOSE"]]] if "COMPOSE" in os.environ else []
    return [["docker-compose"], ["docker", "compose"], *given]


def is_there(compose: Sequence[str]) -> bool:
    """Whether it is on this machine."""
    return (
        shutil.which(compose[0]) is not None
        and subprocess.run([*compose, "version"], capture_output=True, check=False).returncode == 0
    )


def any_compose() -> list[str]:
    """A compose of this machine; skips the test where there is none."""
    for compose in composes():
        if is_there(compose):
            return compose
    pytest.skip("no compose is installed")


class Cluster:
    """A fleet that is up. ``folder``: for the token of its administrator and compose's second file."""

    def __init__(self, engine: Engine, compose: Sequence[str], folder: Path) -> None:
        self.engine = engine
        self._started: list[subprocess.Popen[str]] = []
        self.token_file = folder / "admin.token"
        self.token_file.write_text(f"mt_{secrets.token_hex(24)}")
        beside = folder / "beside.json"
        beside.write_text(json.dumps(BESIDE))
        files = ("-f", str(ROOT / "docker-compose.yml"), "-f", str(beside))
        self._command = [*compose, "--project-name", PROJECT, *files]
        self._environment = engine.environment | {
            "POSTGRES_PASSWORD": secrets.token_hex(24),
            "MILESTONED_SECRET": secrets.token_hex(32),
            "MILESTONED_SIGNING_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
            "MILESTONED_ADMIN_TOKEN": self.token_file.read_text(),
        }

    def compose(self, *words: str, timeout_s: float = UP_S) -> None:
        """Run compose; raises with what it said where it failed."""
        done = run_merged([*self._command, *words], self._environment, timeout_s, ROOT)
        if done.returncode != 0:
            raise RuntimeError(f"compose {' '.join(words)}: {done.stdout[-4_000:]}")

    def containers(self, service: str) -> list[str]:
        """The ids of a service's containers, oldest first."""
        labels = ("project", PROJECT), ("service", service)
        filters = [f"--filter=label=com.docker.compose.{name}={value}" for name, value in labels]
        return self.engine.docker("ps", "--all", "--quiet", *filters).split()[::-1]

    def container(self, service: str) -> str:
        """The id of a service's one container."""
        (only,) = self.containers(service)
        return only

    def addresses(self, service: str) -> list[str]:
        """Of a service's first container, one in each of its networks."""
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
        return self.engine.docker("inspect", "-f", form, self.containers(service)[0]).split()

    def wait_until_well(self, timeout_s: float = UP_S) -> None:
        """Until every container that has a health is healthy."""
        until = time.monotonic() + timeout_s
        while ill := self._ill():
            if time.monotonic() > until:
                raise TimeoutError(f"not healthy after {timeout_s:.0f} s: {', '.join(ill)}")
            time.sleep(0.5)

    def _ill(self) -> list[str]:
        names = ("api", "postgres", *SANDBOXES)
        ids = [one for name in names for one in self.containers(name)]
        form = "{{.Name}} {{.State.Status}} {{.State.Health.Status}}"
        said = self.engine.docker("inspect", "--format", form, *ids).splitlines()
        return [line for line in said if not line.endswith(" running healthy")]

    def trainers(self, *words: str) -> subprocess.Popen[str]:
        """A process of :mod:`trainers`, which reaches the proxy and the sandboxes."""
        command = [*self.engine.inside, sys.executable, "-m", "tests.fleet.containers.trainers"]
        given = ("--service", SERVICE, "--token-file", str(self.token_file), "--shop", SHOP)
        process = subprocess.Popen(
            [*command, *words, *given],
            cwd=ROOT,
            env=self.engine.environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def end_trainers(self) -> None:
        """Those that still run, as after a failure."""
        for process in self._started:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def verify(self) -> str:
        """``milestoned audit verify`` in a replica; gives its last line, raises where it differs."""
        replica = self.containers("api")[0]
        said = self.engine.docker("exec", replica, "milestoned", "audit", "verify", timeout_s=UP_S)
        return said.splitlines()[-1]

    def measured(self) -> dict[str, str]:
        """The first container of each service that is measured, by the service's name."""
        return {name: self.containers(name)[0] for name in MEASURED}

    def memory(self, measured: Mapping[str, str]) -> dict[str, float]:
        """MiB that each of these containers uses now."""
        form = "{{.MemUsage}}"
        said = self.engine.docker("stats", "--no-stream", "--format", form, *measured.values())
        found = [re.match(r"([\d.]+)(\w+) / ", line) for line in said.splitlines()]
        return {
            name: float(one[1]) * UNITS[one[2]]
            for name, one in zip(measured, found, strict=True)
            if one is not None
        }

    def processor_s(self, measured: Mapping[str, str]) -> dict[str, float]:
        """Seconds of a processor that each of these containers has used since it started, by its
        control group of either version."""
        read = (
            "cat /sys/fs/cgroup/cpuacct/cpuacct.usage 2>/dev/null"
            " || sed -n 's/usage_usec \\(.*\\)/\\1000/p' /sys/fs/cgroup/cpu.stat"
        )
        return {
            name: int(self.engine.docker("exec", container, "sh", "-c", read)) / 1e9
            for name, container in measured.items()
        }

    def logs(self) -> str:
        """The last lines of every container, for who reads a failure."""
        filters = f"--filter=label=com.docker.compose.project={PROJECT}"
        ids = self.engine.docker("ps", "--all", "--quiet", filters).split()
        said = []
        for one in ids:
            name = self.engine.docker("inspect", "--format", "{{.Name}} {{.State.Status}}", one)
            said.append(f"--- {name}\n{self.engine.attempt('logs', '--tail', '15', one).stdout}")
        return "\n".join(said)


@contextmanager
def running(
    engine: Engine, compose: Sequence[str], folder: Path, services: Sequence[str] = ()
) -> Iterator[Cluster]:
    """The fleet, up and healthy; taken down at the end with its networks and volumes. ``services``:
    these alone, and what they depend on."""
    cluster = Cluster(engine, compose, folder)
    try:
        cluster.compose("up", "--detach", "--no-build", *services)
        cluster.wait_until_well()
        yield cluster
    except BaseException:
        print(cluster.logs())
        raise
    finally:
        cluster.end_trainers()
        cluster.compose("down", "--volumes", "--timeout", "5")
