"""The daemon beside the scene, as a process: `agentd record` with everything heard, or `agentd run`
for two fields."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import zstandard
from milestoned_client import RewardClient

from benchmarks.soak.scene import Scene
from detectors.model.codec import decode_segment, split_segments
from detectors.model.types import Event
from lab.demo.parts import DemoService, same_imports, start_daemon
from lab.demo.processes import DemoProcess, DemoProcesses, console

WAIT_S = 60.0


class Recording:
    """`agentd record` with every source, its steps told over its port. ``also``: with every kind
    too, those that are told only where somebody asks for them (appearing texts, hovering, ...)."""

    def __init__(self, parts: DemoProcesses, scene: Scene, out: Path, *, also: bool = True) -> None:
        command = [
            *console("agentd", "agentd.cli.main"),
            "record",
            "--out",
            str(out),
            "--steps",
            "port",
        ]
        command += ["--also", "all"] if also else []
        command += [
            "--profile",
            str(scene.profile),
            "--files",
            f"home={scene.desk.folder / 'files'}",
            "--desktop",
        ]
        command += ["--processes", "all", "--clipboard", "clipboard,primary"]
        (scene.desk.folder / "files").mkdir(exist_ok=True)
        self._out = out
        self._state = out.with_name(out.name + ".state")
        self._http = httpx.Client(trust_env=False, timeout=WAIT_S)
        self._part: DemoProcess = parts.start(
            "record", command, scene.desk.environ | same_imports()
        )
        self._part.wait_until("all its sources were ready", lambda: self._ready() or None)

    def _ready(self) -> bool:
        with contextlib.suppress(OSError, ValueError, KeyError, httpx.TransportError):
            where = json.loads((self._state / "agentd.json").read_text())
            self._http.base_url = httpx.URL(f"http://127.0.0.1:{where['port']}")
            self._http.headers["authorization"] = (
                f"Bearer {(self._state / 'control.token').read_text().strip()}"
            )
            return set(self._http.get("/healthz").json()["sources"].values()) == {"ready"}
        return False

    def begin(self, step: int) -> None:
        """Begin a step through the daemon's control port."""
        self._http.post("/v1/steps", json={"step": step}).raise_for_status()

    def end(self, step: int) -> None:
        """End it, and wait for its seal."""
        self._http.post(f"/v1/steps/{step}:end?wait=seal", json={}).raise_for_status()

    def memory(self) -> int:
        """Bytes in memory of the daemon and all its children, what they share counted once
        (PSS)."""
        return sum(map(_pss, [self._part.pid, *_children(self._part.pid)]))

    def finish(self) -> list[Event]:
        """End it as ctrl-C does; everything that it recorded."""
        self._http.close()
        self._part.process.send_signal(signal.SIGINT)
        self._part.wait_end(WAIT_S * 5)
        reader = zstandard.ZstdDecompressor().stream_reader(
            self._out.read_bytes(), read_across_frames=True
        )
        return [
            event for text in split_segments(reader.read()) for event in decode_segment(text).events
        ]


def _children(pid: int) -> list[int]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def two_fields(address: str) -> dict[str, Any]:
    """A task that hears two fields of the page, and nothing else."""
    return {
        "id": "soak/two-fields",
        "version": "1",
        "instruction": "Fill in the name and the town.",
        "origin": address.rstrip("/"),
        "milestones": [
            {"id": name.lower(), "when": {"field_filled": {"field": name, "value": "Ada Lovelace"}}}
            for name in ("Name", "Town")
        ],
    }


@contextmanager
def recorded(
    parts: DemoProcesses, scene: Scene, folder: Path, n: int, *, also: bool
) -> Iterator[None]:
    """The daemon, recording; ``also``: every kind."""
    recording = Recording(
        parts, scene, folder / f"{'all' if also else 'usual'}-{n}.mrec", also=also
    )
    recording.begin(0)
    yield
    recording.finish()


@contextmanager
def only_two_fields(
    parts: DemoProcesses, scene: Scene, folder: Path, n: int, service: DemoService
) -> Iterator[None]:
    """The daemon, for an episode of the task of `two_fields`."""
    with RewardClient(service.url, service.token) as client:
        opened = client.open(client.register_task(two_fields(scene.address)))
        browser = ("--profile", str(scene.profile))
        daemon = start_daemon(
            parts, folder / f"two-{n}", service.url, opened.id, opened.token, browser
        )
        yield
        client.episode(opened.id).close()
        daemon.part.wait_end(WAIT_S)
