"""What is done to a fleet while trainers work with it: every fault that the page on deployment names."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from tests.fleet.containers import images
from tests.fleet.containers.cluster import PROJECT, SANDBOXES, SMALL_DISK, UP_S, Cluster

KILLED = ("postgres", "api", "api", "proxy", *SANDBOXES[:3])
DISK = "/var/lib/agentd/filler"
Fault = tuple[str, Callable[[], None]]


class Faults:
    """The faults, in an order and with lengths that ``seed`` decides."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._docker = cluster.engine.docker
        self._random = random.Random(seed)

    def all(self) -> list[Fault]:
        """Each with words for the summary; every one puts right again what it broke."""
        found: list[Fault] = []
        for service in KILLED:
            found += [(f"kill {service}", self._with(self._kill, service))]
            found += [(f"pause {service}", self._with(self._pause, service))]
        sandbox = self._random.choice(SANDBOXES[:3])
        found += [
            (f"{sandbox}'s display ends", lambda: self._end_display(sandbox)),
            (f"cut {sandbox} from the proxy", lambda: self._cut("proxy", sandbox)),
            ("cut a replica from Postgres", lambda: self._cut("api", "database")),
            ("restart Postgres", lambda: self._restart("postgres")),
            ("roll the replicas to a new image", self._roll),
            (f"fill the disk of {SMALL_DISK}", self._fill),
        ]
        self._random.shuffle(found)
        return found

    def breathe(self) -> None:
        """The time between two faults."""
        time.sleep(self._random.uniform(1.0, 5.0))

    @staticmethod
    def _with(fault: Callable[[str], None], service: str) -> Callable[[], None]:
        return lambda: fault(service)

    def _one_of(self, service: str) -> str:
        """A container of the service, once it runs: the fault before may have ended it."""
        container = self._random.choice(self._cluster.containers(service))
        self._until({container}, "{{.State.Status}}", "running")
        return container

    def _for_a_while(self, most_s: float) -> None:
        time.sleep(self._random.uniform(most_s / 8, most_s))

    def _kill(self, service: str) -> None:
        container = self._one_of(service)
        self._docker("kill", container)
        self._for_a_while(4.0)
        self._docker("start", container)

    def _pause(self, service: str) -> None:
        container = self._one_of(service)
        # On a busy machine runc can't always freeze all of a container's processes at once.
        until = time.monotonic() + UP_S
        while (said := self._cluster.engine.attempt("pause", container)).returncode != 0:
            if time.monotonic() > until:
                raise TimeoutError(f"{service} can't be paused: {said.stdout}")
            time.sleep(0.5)
        self._for_a_while(8.0)
        self._docker("unpause", container)

    def _end_display(self, sandbox: str) -> None:
        """The engine itself has to start this one again: nobody asked it to end."""
        self._docker("exec", self._one_of(sandbox), "pkill", "-KILL", "Xvfb")

    def _cut(self, service: str, network: str) -> None:
        name, container = f"{PROJECT}_{network}", self._one_of(service)
        self._docker("network", "disconnect", "--force", name, container)
        self._for_a_while(10.0)
        self._docker("network", "connect", "--alias", service, name, container)

    def _restart(self, service: str) -> None:
        self._docker("restart", "--time", "20", self._one_of(service))

    def _roll(self) -> None:
        """As docs/runbook.md says: new replicas beside the old ones, then the old ones go."""
        images.new_version(self._cluster.engine)
        old = self._cluster.containers("api")
        scale = ("--no-deps", "--no-recreate", "--no-build", "--scale", f"api={2 * len(old)}")
        self._cluster.compose("up", "--detach", *scale, "api")
        new = set(self._cluster.containers("api")) - set(old)
        self._until(new, "{{.State.Health.Status}}", "healthy")
        for container in old:
            self._docker("stop", "--time", "40", container)
            self._docker("rm", container)

    def _until(self, containers: set[str], form: str, wanted: str) -> None:
        until = time.monotonic() + UP_S
        while set(self._docker("inspect", "-f", form, *containers).split()) != {wanted}:
            if time.monotonic() > until:
                raise TimeoutError(f"{containers}: not {wanted} after {UP_S:.0f} s")
            time.sleep(0.5)

    def _fill(self) -> None:
        container = self._one_of(SMALL_DISK)
        words = ("dd", "if=/dev/zero", f"of={DISK}", "bs=1M")
        self._cluster.engine.attempt("exec", container, *words)  # it ends as the disk is full
        self._for_a_while(10.0)
        self._docker("exec", container, "rm", DISK)
